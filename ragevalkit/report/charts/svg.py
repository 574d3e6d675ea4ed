"""From the SVG that Vega writes to the one that goes into a page.

Public: `clean`, `UnsafeDrawing`.

Everything is built anew from lists of what may be there: an element or attribute that isn't on
them doesn't come through, whatever the drawing's data held.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "a"}
_NUMERIC = ("d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height")
_NUMERIC_TOO = ("stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity")
_ATTRIBUTES = {
    **dict.fromkeys((*_NUMERIC, *_NUMERIC_TOO), re.compile(r"[\w\s,.()+-]*")),
    **dict.fromkeys(("fill", "stroke"), re.compile(r"none|transparent|var\(--chart-[a-z0-9-]+\)")),
    "text-anchor": re.compile(r"start|middle|end"),
    "font-size": re.compile(r"[\d.]+px"),
    "font-weight": re.compile(r"bold|normal"),
}
"""What an element may have, and what may stand there."""
_IDLE = {
    ("opacity", "1"),
    ("fill-opacity", "1"),
    ("stroke-width", "1"),
    ("transform", "translate(0,0)"),
    ("x2", "0"),
    ("y2", "0"),
    ("text-anchor", "start"),
    ("font-weight", "normal"),
}
"""What says nothing."""
_ADDRESS = re.compile(r"#turns?[?=][\w.~!*'()%&=-]*")
_NUMBER = re.compile(r"-?\d*\.\d+(?:e-?\d+)?")
_NAMESPACES = re.compile(r"\{[^}]*\}")


class UnsafeDrawing(ValueError):
    """A drawing holds what no chart of ours holds."""


def clean(drawing: str, *, label: str) -> str:
    """The same picture without what a page doesn't need, or mustn't have.

    No script, no style, no address but one of a turn or a filter in the
    page itself. Colours are custom properties of the page.

    Args:
        label: what the picture is called; plain text.

    Raises:
        UnsafeDrawing: an address leads out of the page, or a colour is none of the page's.
    """
    root = ElementTree.fromstring(drawing)
    inside = "".join(part for child in root for part in _written(child))
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    # what is inside a picture can't be reached by keyboard
    role = "group" if "<a " in inside else "img"
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="{role}" '
        f'aria-label="{escape(label)}">{inside}</svg>'
    )


def _written(element: Element) -> Iterator[str]:
    name = _NAMESPACES.sub("", element.tag)
    if name not in _ELEMENTS or _is_nothing(name, element):
        return
    inside = "".join(part for child in element for part in _written(child))
    if name == "g" and not inside:
        return
    attributes = "".join(f' {key}="{escape(value)}"' for key, value in _kept(name, element))
    if name == "g" and not attributes:
        yield inside
    elif name == "a":
        yield f"<a{attributes}><title>{escape(_said(element))}</title>{inside}</a>"
    elif name == "text":
        yield f"<text{attributes}>{escape(element.text or '', quote=False)}</text>"
    else:
        yield f"<{name}{attributes}>{inside}</{name}>" if inside else f"<{name}{attributes}/>"


def _is_nothing(name: str, element: Element) -> bool:
    if element.get("display") == "none" or (name == "text" and not element.text):
        return True
    if name != "path":
        return False
    painted = any(element.get(k, "none") not in ("none", "transparent") for k in _PAINT)
    return not element.get("d") or (element.get("class") == "background" and not painted)


_PAINT = ("fill", "stroke")


def _kept(name: str, element: Element) -> Iterator[tuple[str, str]]:
    for full, value in element.attrib.items():
        key = _NAMESPACES.sub("", full)
        if name == "a" and key == "href":
            yield key, _address(value)
        elif (allowed := _ATTRIBUTES.get(key)) is not None:
            if not allowed.fullmatch(value):
                raise UnsafeDrawing(f"{key}={value!r}")
            short = _NUMBER.sub(_shorter, value)
            if (key, short) not in _IDLE:
                yield key, short


def _address(written: str) -> str:
    """Vega puts a place of its own before an address; those of the page begin at #."""
    fragment = f"#{written.partition('#')[2]}"
    if not _ADDRESS.fullmatch(fragment):
        raise UnsafeDrawing(f"href={written!r}")
    return fragment


def _said(link: Element) -> str:
    """The description of the mark inside a link: without words it can't be read aloud."""
    return next((said for e in link.iter() if (said := e.get("aria-label"))), "turns")


def _shorter(found: re.Match[str]) -> str:
    return f"{round(float(found[0]), 2):g}"
