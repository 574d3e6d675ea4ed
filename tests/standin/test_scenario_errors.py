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
        ("[wire]\nengine = 'tgi'", r"wire.engine: should be 'vllm', 'sglang', .* or 'openrouter'$"),
        ("[wire]\nengine = ['vllm']", r"wire.engine: should be 'vllm'"),
        (
            "[wire]\nengine = 'vllm'\nrole_chunk = 1",
            "wire.role_chunk: is not a field of scenarios$",
        ),
        (
            "[wire]\nreasoning_field = 'thoughts'",
            r"wire.reasoning_field: should be 'reasoning', .*",
        ),
        ("[wire]\nreasoning_field = []", r"wire.reasoning_field: .* at least 1 item"),
        ("[wire]\nreasoning_field = ['x']", r"wire.reasoning_field"),
        ("[wire]\nempty_content = 'nil'", r"wire.empty_content: should be 'absent', 'null' or 'em"),
        ("[wire]\nempty_usage = 'empty'", r"wire.empty_usage: should be 'absent' or 'null'"),
        (
            "[wire]\ncalls = 'all'",
            r"wire.calls: should be 'deltas', 'late', 'whole', 'together' or",
        ),
        ("[wire]\ncall_id = 'none'", r"wire.call_id: should be 'once', 'every', 'first_call' or"),
        ("[wire]\nusage_on = 'chunks'", r"wire.usage_on: should be 'asked', 'last', 'finish', "),
        ("[wire]\ntoken_ids = 1", r"wire.token_ids: should be a valid boolean$"),
        ("[wire]\nfields = 'x'", r"wire.fields: should be a valid dictionary$"),
        ("[wire]\nping_ms = -1", r"wire.ping_ms: should be greater than or equal to 0$"),
        ("wire = 'vllm'", r"wire: should be a valid"),
        ("[timing]\nqueue_ms = -1", r"timing.queue_ms: should be greater than or equal to 0$"),
        (
            "[[rules]]\n[rules.reply]\nusage = 'no'",
            r"rules\[0\].reply.usage: should be a valid bool",
        ),
        (
            "[[rules]]\n[rules.reply]\nusage_on = 'x'",
            r"rules\[0\].reply.usage_on: should be 'asked'",
        ),
        (
            "[[rules]]\n[rules.reply]\ntokens_per_event = []",
            r"reply.tokens_per_event: .*at least 1",
        ),
        ("[[rules]]\n[rules.reply]\ncached_tokens = -1", r"rules\[0\].reply.cached_tokens: should"),
        ("[[rules]]\n[[rules.reply.inserts]]\nraw = ''", r"reply.inserts\[0\].after: is missing$"),
        (
            "[[rules]]\n[[rules.reply.inserts]]\nafter = 'end'",
            r"reply.inserts\[0\].after: should be a valid integer, or should be 'done'$",
        ),
        (
            "[[rules]]\n[[rules.reply.inserts]]\nafter = 1\nhex = 'xyz'",
            r"reply.inserts\[0\].hex: is not hexadecimal, such as \"ff 0a\"$",
        ),
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
