"""What an SVG that stands in a page must be."""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "a", "title"}
ATTRIBUTES = {
    "viewBox",
    "role",
    "aria-label",
    "href",
    "d",
    "transform",
    "x1",
    "x2",
    "y1",
    "y2",
    "x",
    "y",
    "width",
    "height",
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "fill-opacity",
    "stroke-opacity",
    "text-anchor",
    "font-size",
    "font-weight",
}
COLOR = re.compile(r"none|transparent|var\(--chart-(ink|soft|grid|paper|bad|[1-4])\)")


def parsed(svg: str) -> Element:
    """The tree, once everything in it was seen to be allowed."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg"
    assert not {"width", "height"} & set(root.keys()), "as wide as its place"
    assert root.get("aria-label")
    assert root.get("role") == ("group" if root.find(".//a") is not None else "img")
    for element in root.iter():
        assert element.tag in ELEMENTS
        assert set(element.keys()) <= ATTRIBUTES
        for paint in ("fill", "stroke"):
            assert COLOR.fullmatch(element.get(paint, "none"))
    for link in root.iter("a"):
        assert re.fullmatch(r"#turns?[=?][\w.~!*'()%&=-]*", link.get("href", ""))
        title = link.find("title")
        assert title is not None
        assert title.text
    return root


def words(svg: str) -> list[str]:
    """All texts that can be seen."""
    return [element.text or "" for element in parsed(svg).iter("text")]
