"""The record of a turn and what all sides agree on about it."""
