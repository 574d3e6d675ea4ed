"""A bank, a corpus and a model whose every text tries to run something.

Public: `PAYLOADS`, `POTENT`, `HOSTILE`, `HALF_READ`, `HOSTILE_RUN`, `write`, `scenario`, `options`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

POTENT = [
    "<script>window.ran='script'</script>",
    "<img src=x onerror=window.ran='image'>",
    "<svg onload=window.ran='svg'></svg>",
    "<input autofocus onfocus=window.ran='focus'>",
    "<details open ontoggle=window.ran='toggle'>x</details>",
]
"""What runs at once where it is taken for HTML."""
PAYLOADS = [
    *POTENT,
    "</script><script>alert('island')</script>",
    "<a href=\"javascript:window.ran='link'\">link</a> [link](javascript:window.ran='markdown')",
    '" autofocus onfocus="window.ran=\'attribute\'" x="',
    "' onmouseover='window.ran=\"quote\"'",
    "<!--<script>",
    "--></style><style>*{display:none}</style>",
    "</title></textarea></noscript></template><plaintext>",
    "{{ 7*7 }} {% for x in y %} ${7*7} {{constructor.constructor('window.ran=1')()}}",
    "&lt;b&gt; &#x3c;b&#x3e; \\u003cb\\u003e",
    "]]> %3Cscript%3E \\x3cscript\\x3e",
    "\u2028window.ran='separator'//\u2029",
    "\u202egpj.exe\u202c \u2066abc\u2069",
]
HOSTILE = " ".join(PAYLOADS)
HALF, HALF_READ = "{u+d83d} alone", "\ufffd alone"
"""Half of a surrogate pair, as scenarios write it, and as it is read; no bank can hold one."""

HOSTILE_RUN = "<img src=x onerror=window.ran='run'>\"' onload=window.ran='run'"
_DOCUMENT = "<img src=x onerror=window.ran='document'>/a</script><script>window.ran='document'"
"""A folder, and files in it: names of files hold no slash."""
_QUESTIONS = ("searches", "breaks calls", "leaves calls in the text", "is rejected")


def write(path: Path) -> None:
    """Corpus and bank."""
    document = path / "corpus" / f"{_DOCUMENT}.txt"
    document.parent.mkdir(parents=True)
    document.write_text(f"The pump delivers water. {HOSTILE}\f{HOSTILE} The second page.")
    lines = map(json.dumps, map(_question, _QUESTIONS))
    (path / f"{POTENT[1]}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def _question(what: str) -> dict[str, Any]:
    return {
        "id": f"{what} {HOSTILE}",
        "question": f"The pump that {what}: {HOSTILE}",
        "answerable": True,
        "evidence": [{"document": _DOCUMENT, "page": 2, "quote": HOSTILE}],
        "answers": [HOSTILE],
        "history": [{"role": "user", "content": HOSTILE}],
        "tags": [HOSTILE, *PAYLOADS],
    }


def options(path: Path) -> list[str]:
    """Of `ragevalkit run`."""
    hostile = path / "hostile"
    bank = next(hostile.glob("*.jsonl"))
    return ["--bank", str(bank), "--corpus", str(hostile / "corpus")]


def scenario(path: Path) -> Path:
    """A model that says it all, in every channel; written as JSON text, which TOML strings are."""
    said = json.dumps(f"{HOSTILE} {HALF}")
    file = path / "hostile" / f"{POTENT[1]}.toml"
    file.write_text(
        f"""
model = {json.dumps(HOSTILE)}

[[rules]]
question = "that is rejected"
round = 1
[rules.fault]
kind = "status"
status = 400
body = {json.dumps(HOSTILE)}

[[rules]]
question = "that leaves calls"
round = 0
[rules.reply]
answer = {said}
finish = {json.dumps(HOSTILE)}

[[rules]]
question = "that breaks calls"
round = 0
[rules.reply]
[[rules.reply.calls]]
name = {json.dumps(POTENT[1])}
arguments = {said}
id = {json.dumps(HOSTILE)}

[[rules]]
round = 0
[rules.reply]
reasoning = {said}
answer = {said}
[[rules.reply.calls]]
name = "search"
arguments = {{ query = {json.dumps("the pump " + HOSTILE)} }}

[[rules]]
round = 1
[rules.reply]
[[rules.reply.calls]]
name = "cite"
arguments = {{ document = "{{document}}", page = 1, quote = {json.dumps(HOSTILE)} }}
[[rules.reply.calls]]
name = "cite"
arguments = {{ document = {json.dumps(HOSTILE)}, page = 7 }}

[[rules]]
[rules.reply]
reasoning = {said}
answer = {said}
""",
        encoding="utf-8",
    )
    return file
