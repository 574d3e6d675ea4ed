"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from ragevalkit.scoring.defects import DEFECTS
from ragevalkit.scoring.metrics import METRICS
from ragevalkit.scoring.score import SCORER_VERSION, Score
from ragevalkit.scoring.summary import Summary
from ragevalkit.turn.record import Ended, Turn

ROOT = Path(__file__).parents[1]
SCORING = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")
FILES = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")


def test_every_metric_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)`(?: (\*))? \| ([^|]+) \|", SCORING, re.M)
    explained = {name: (bool(star), over) for name, star, over in rows if name in METRICS}
    assert explained == {name: (m.descriptive, m.over) for name, m in METRICS.items()}
    assert list(explained) == list(METRICS)


def test_every_defect_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+:\w+)` \| (.+) \|$", SCORING, re.M)
    assert rows == [(defect.name, defect.meaning) for defect in DEFECTS.values()]


def test_the_scorers_version_is_the_one_documented() -> None:
    assert f"this is version {SCORER_VERSION}." in SCORING


def test_fields_of_files_are_documented() -> None:
    for name in [*Summary.model_fields, *Turn.model_fields, *Score.model_fields, *Ended]:
        assert f"`{name}`" in FILES, name


def test_links_lead_somewhere() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / link).exists(), f"{path.name}: {link}"
