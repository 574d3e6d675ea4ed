"""Fetching an engine's metrics page, whatever the server makes of it.

Public: `scrape`, `settled`, `metrics_address`.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from ragevalkit.endpoint.engine.page import Page, read_page

if TYPE_CHECKING:
    # scoring reads figures, too, and must not wait for what asks servers
    import aiohttp

    from ragevalkit.endpoint.client import ChatClient
    from ragevalkit.endpoint.profile import Profile

TIMEOUT_S = 2.0
"""Longest time for one page, from the connection to its last byte."""
MOST_BYTES = 4 * 2**20

BETWEEN_S = 0.2
"""Between two looks at a page that may still change."""
SETTLING_S = 3.0
"""No further look is begun after so long."""


async def scrape(client: ChatClient, model: str | None = None) -> Page | None:
    """The engine's metrics page as it is now; None where there is none that can be read.

    Never raises for what a server does. Takes `TIMEOUT_S` at most, and reads `MOST_BYTES` at most.

    Args:
        model: only its values are taken where the page has several models'.
    """
    import aiohttp

    try:
        async with asyncio.timeout(TIMEOUT_S):
            content = await _fetch(client.profile)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return None
    return None if content is None else read_page(content, model)


async def settled(client: ChatClient, model: str | None = None) -> Page | None:
    """The page once it stands still: engines count a request some moments after its last token.

    It is read until two looks in a row find the same and nothing is under way, or for `SETTLING_S`;
    the last look counts.
    """
    until = time.monotonic() + SETTLING_S
    page, before = await scrape(client, model), None
    while page is not None and (page != before or page.under_way()) and time.monotonic() < until:
        await asyncio.sleep(BETWEEN_S)
        page, before = await scrape(client, model), page
    return page


def metrics_address(base_url: str) -> str:
    """`/metrics` lies beside the API's `/v1`, not under it."""
    return f"{base_url.rstrip('/').removesuffix('/v1')}/metrics"


async def _fetch(profile: Profile) -> bytes | None:
    """The page's bytes; None where it isn't there, is too long or compressed.

    Redirects are followed on the same origin alone, so that nobody else gets the key.
    """
    import aiohttp

    address = metrics_address(profile.base_url)
    headers = {"Accept-Encoding": "identity"}
    if key := profile.api_key():
        headers["Authorization"] = f"Bearer {key}"
    async with aiohttp.ClientSession(trust_env=True, auto_decompress=False) as session:
        for _ in range(3):
            async with session.get(address, headers=headers, allow_redirects=False) as answer:
                if answer.status in (301, 302, 307, 308):
                    target = urljoin(address, answer.headers.get("Location", ""))
                    if urlsplit(target)[:2] != urlsplit(address)[:2]:
                        return None
                    address = target
                    continue
                return await _body(answer) if answer.status == 200 else None
    return None


async def _body(answer: aiohttp.ClientResponse) -> bytes | None:
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        return None
    content = bytearray()
    async for read in answer.content.iter_any():
        content += read
        if len(content) > MOST_BYTES:
            return None
    return bytes(content)
