"""Unpacks what lies in a page, as its script does."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

import orjson

from ragevalkit.report.html.chunks import Island


def unpacked(islands: Iterable[Island]) -> dict[str, Any]:
    """The values by the islands' ids."""
    return {island.id: orjson.loads(zlib.decompress(island.data)) for island in islands}


def of_page(page: str) -> dict[str, Any]:
    """The same from a page's HTML."""
    found = re.findall(
        r'<script type="application/octet-stream" id="([^"]+)">([A-Za-z0-9+/=]*)</script>', page
    )
    return {name: orjson.loads(zlib.decompress(b64decode(data))) for name, data in found}


def at(values: dict[str, Any], place: list[Any] | None) -> Any:
    """What lies at a place; None where the page doesn't hold it."""
    return values[place[0]][place[1]] if place and place[0] in values else None
