"""Electrical power while turns were asked: from a log, or from the card itself.

`log` reads logs, `nvml` writes one beside a run, `energy` says what a stretch of time took.
"""
