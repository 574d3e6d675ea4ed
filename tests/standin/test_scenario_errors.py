"""A bad scenario is refused with its file and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragevalkit.errors import InputError
from ragevalkit.standin.scenario import load_scenario


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[[rules", "not TOML"),
        ("modle = 'x'", "modle: is not a field"),
        ("[[rules]]\nruond = 1", r"rules\[0\].ruond: is not a field"),
        ("[[rules]]\nround = -1", r"rules\[0\].round"),
        ("[[rules]]\nquestion = '('", r"rules\[0\].question: is not a regular expression"),
        ("[[rules]]\nprobability = 1.5", r"rules\[0\].probability"),
        ("[[rules]]\nresults = 'few'", r"rules\[0\].results"),
        ("[[rules]]\n[rules.timing]\ngap_ms = -1", r"rules\[0\].timing.gap_ms"),
        ("[[rules]]\n[rules.reply]\nanswer = true", r"rules\[0\].reply.answer:"),
        ("[[rules]]\n[rules.reply]\ntokens_per_event = 0", r"reply.tokens_per_event"),
        ("[[rules]]\n[[rules.reply.calls]]\nid = 'x'", r"reply.calls\[0\].name: is missing"),
        ("[[rules]]\n[rules.fault]\nstatus = 500", r"rules\[0\].fault: needs a kind"),
        ("[[rules]]\n[rules.fault]\nkind = 'fire'", r"rules\[0\].fault: has no such kind"),
        ("[[rules]]\n[rules.fault]\nkind = 'status'\nstatus = 42", r"rules\[0\].fault.status:"),
        ("[[rules]]\n[rules.fault]\nkind = 'html'\nafter = 1", r"fault.after: is not a field"),
        ("[models]\nkind = 'cut'", "models: has no such kind"),
    ],
)
def test_refused(tmp_path: Path, toml: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(toml)
    with pytest.raises(InputError, match=message) as error:
        load_scenario(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't read the scenario"):
        load_scenario(tmp_path / "none.toml")


def test_example_in_the_documentation_is_valid(tmp_path: Path) -> None:
    import ragevalkit.standin.scenario as scenario

    assert scenario.__doc__ is not None
    path = tmp_path / "example.toml"
    path.write_text(scenario.__doc__.split("```toml\n")[1].split("```")[0])
    assert len(load_scenario(path).rules) == 2 + len(load_scenario(None).rules)
