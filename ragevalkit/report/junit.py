"""A gate's lines as JUnit XML, which CI servers show as tests.

Public: `comparison_junit`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from ragevalkit.report.comparison import gate_sentence
from ragevalkit.report.turns import visible

if TYPE_CHECKING:
    from ragevalkit.compare.result import Comparison, GateLine

_NO_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def comparison_junit(of: Comparison) -> bytes:
    """A test for each line of the gate; it fails where a blocking one isn't passed.

    Runs that aren't comparable are one test that fails.
    """
    name = _text(f"{of.a.run} and {of.b.run}")
    suite = Xml.Element("testsuite", name=name)
    if of.gate.verdict == "not_comparable":
        case = Xml.SubElement(suite, "testcase", classname=name, name="comparable")
        fields = "; ".join(f"{f}: {v.a} and {v.b}" for f, v in of.not_comparable.items())
        _fail(case, "not_comparable", "the runs aren't comparable", fields)
    for line in of.gate.lines:
        _add(suite, name, line)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("*/failure"))))
    Xml.SubElement(suite, "system-out").text = _text(gate_sentence(of))
    root = Xml.Element("testsuites")
    root.append(suite)
    Xml.indent(root)
    return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _add(suite: Xml.Element, name: str, line: GateLine) -> None:
    case = Xml.SubElement(suite, "testcase", classname=name, name=_text(line.name))
    told = f"{line.tier}, requires {line.require}: {line.status}: {line.why}"
    if line.tier == "blocking" and line.status != "passed":
        _fail(case, line.status, line.why, told)
    else:
        Xml.SubElement(case, "system-out").text = _text(told)


def _fail(case: Xml.Element, kind: str, message: str, text: str) -> None:
    failure = Xml.SubElement(case, "failure", type=kind, message=_text(message))
    failure.text = _text(text)


def _text(text: str) -> str:
    """What XML can hold of a text; the rest as it would be escaped in a terminal."""
    return _NO_XML.sub("�", visible(text))
