"""Servers for tests: the stand-ins inside the test's process, and one that sends given bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from ragevalkit.standin.events import Brain
from ragevalkit.standin.mock import Mock
from ragevalkit.standin.scenario import load_scenario
from ragevalkit.standin.server import serve


@contextlib.contextmanager
def serving(brain: Brain) -> Iterator[str]:
    """Base URL of a stand-in's server around `brain`, on a thread."""
    ports: queue.SimpleQueue[int] = queue.SimpleQueue()
    loop = asyncio.new_event_loop()
    task = loop.create_task(serve(brain, 0, ports.put))

    def work() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ports.get(timeout=30)}/v1"
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


@contextlib.contextmanager
def mocking(folder: Path, scenario: str) -> Iterator[str]:
    """Base URL of the mock with a scenario given as TOML."""
    path = folder / "scenario.toml"
    path.write_text(scenario)
    with serving(Mock(load_scenario(path))) as url:
        yield url


@contextlib.contextmanager
def raw_server(answer: Callable[[str, bytes], list[bytes]]) -> Iterator[str]:
    """Base URL of a server that isn't ours: it writes the bytes that `answer` gives and closes.

    Args:
        answer: from path and body to the writes of a whole HTTP response, status line included.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    done = threading.Event()

    def handle(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536) or b"\r\n\r\n"
            head, _, body = received.partition(b"\r\n\r\n")
            length = 0
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            while len(body) < length:
                body += connection.recv(65536)
            path = head.split(b" ")[1].decode() if b" " in head else "/"
            for write in answer(path, body):
                connection.sendall(write)

    def work() -> None:
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = listener.accept()
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        done.set()
        thread.join()
        listener.close()


def response(
    body: bytes, *, status: str = "200 OK", kind: str = "application/json", headers: str = ""
) -> list[bytes]:
    """A whole HTTP response in one write."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return [f"{head}Connection: close\r\n{headers}\r\n".encode() + body]


def event_stream(*parts: bytes) -> list[bytes]:
    """An HTTP response whose body is these parts, each in a write of its own, ended by closing."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return [head, *parts]


def completion(
    content: str = "", *, calls: list[tuple[str | None, str, str]] | None = None, finish: str = ""
) -> list[bytes]:
    """A streamed completion as an HTTP response.

    Args:
        calls: id, name and arguments of each.
    """
    delta: dict[str, object] = {"role": "assistant", "content": content}
    if calls:
        delta["tool_calls"] = [
            {"index": place, "type": "function", "function": {"name": name, "arguments": arguments}}
            | ({"id": id_} if id_ else {})
            for place, (id_, name, arguments) in enumerate(calls)
        ]
    reason = finish or ("tool_calls" if calls else "stop")
    chunks = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 7}},
    ]
    events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    return event_stream(*events, b"data: [DONE]\n\n")
