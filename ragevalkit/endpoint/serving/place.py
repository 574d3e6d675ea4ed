"""Where an endpoint is: on this machine or not, answering or not.

Public: `is_here`, `listens`.
"""

from __future__ import annotations

import contextlib
import socket
from urllib.parse import urlsplit

_CONNECT_S = 3.0


def is_here(url: str) -> bool | None:
    """Whether a URL's host is this machine, by binding its addresses; None: it has no address."""
    try:
        found = socket.getaddrinfo(urlsplit(url).hostname, 0, type=socket.SOCK_STREAM)
    except OSError:
        return None
    return any(map(_binds, found))


def listens(url: str) -> bool:
    """Whether anything accepts connections at a URL's host and port."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    with contextlib.suppress(OSError):
        socket.create_connection((parts.hostname or "", port), _CONNECT_S).close()
        return True
    return False


def _binds(
    address: tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[object, ...]],
) -> bool:
    family, kind, protocol, _, where = address
    with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as probe:
        probe.bind(where)
        return True
    return False
