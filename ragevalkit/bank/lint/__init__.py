"""What a bank's schema can't see: labels that don't fit the corpus, and questions that tell little.

Public: `lint_bank`, `Linted`, `Finding`, `Kind`, `KINDS`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from ragevalkit.bank.lint.answers import answer_findings
from ragevalkit.bank.lint.balance import balance_findings
from ragevalkit.bank.lint.finding import KINDS, Finding, Kind
from ragevalkit.bank.lint.labels import evidence_findings
from ragevalkit.bank.lint.reading import Reading
from ragevalkit.bank.lint.wording import wording_findings
from ragevalkit.bank.loading import Bank
from ragevalkit.corpus import Corpus

__all__ = ["KINDS", "Finding", "Kind", "Linted", "lint_bank"]


@dataclass(frozen=True)
class Linted:
    """What lint found in a bank."""

    bank: Bank
    findings: list[Finding]
    """Those of the whole bank first, then by line; errors before advice."""
    silenced: int
    """Findings that a tag silenced."""

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """What `bank lint --json` prints.

        `bank` (its file), `questions`, `errors`, `advice`, `silenced` (counts), `findings`: see
        `Finding.as_dict`.
        """
        ids = [question.id for question in self.bank.questions]
        return {
            "bank": str(self.bank.path),
            "questions": len(ids),
            "errors": self.errors,
            "advice": len(self.findings) - self.errors,
            "silenced": self.silenced,
            "findings": [finding.as_dict(self.bank.lines, ids) for finding in self.findings],
        }


def lint_bank(bank: Bank, corpora: Mapping[str, Corpus]) -> Linted:
    """Look for everything that `KINDS` lists.

    Args:
        corpora: by the name that `Question.corpus` gives; "" for questions without one.
    """
    reading = Reading(bank, corpora)
    of_evidence = list(evidence_findings(reading))
    doubtful: Container[int] = {f.positions[0] for f in of_evidence if f.positions}
    if any(not finding.positions for finding in of_evidence):  # all pages are off
        doubtful = range(len(bank.questions))
    found = [
        *of_evidence,
        *answer_findings(reading, doubtful),
        *wording_findings(reading),
        *balance_findings(reading),
    ]
    kept = [finding for finding in found if not reading.silences(finding.positions, finding.name)]
    kept.sort(key=lambda f: (f.positions[:1], f.severity != "error"))
    return Linted(bank, kept, len(found) - len(kept))
