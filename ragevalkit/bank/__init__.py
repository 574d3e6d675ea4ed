"""Labelled questions.

Public: `Question`, `Evidence`, `Message`, `Bank`, `load_bank`, `check_evidence`.
"""

from ragevalkit.bank.loading import Bank, check_evidence, load_bank
from ragevalkit.bank.question import Evidence, Message, Question

__all__ = ["Bank", "Evidence", "Message", "Question", "check_evidence", "load_bank"]
