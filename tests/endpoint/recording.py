"""A server that keeps connections alive, and remembers what it was asked.

Public: `Recorder`, `Request`, `Reply`, `recording_server`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes


@dataclass
class Reply:
    parts: Iterable[bytes]
    """Written as a chunk each, as they come."""
    status: int = 200
    kind: str = "text/event-stream"
    ends: bool = True
    """Whether the body's end is sent; else the connection is held open for good."""


@dataclass
class Recorder:
    url: str = ""
    connections: int = 0
    requests: list[Request] = field(default_factory=list)


@contextlib.contextmanager
def recording_server(reply: Callable[[Request], Reply]) -> Iterator[Recorder]:
    """A server that answers each request as `reply` says."""
    recorder = Recorder()
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            recorder.connections += 1

        def answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.path, headers, self.rfile.read(length))
            recorder.requests.append(request)
            said = reply(request)
            self.send_response(said.status)
            self.send_header("Content-Type", said.kind)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in said.parts:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if said.ends:
                self.wfile.write(b"0\r\n\r\n")
            else:
                closing.wait()

        def do_POST(self) -> None:
            with contextlib.suppress(OSError):
                self.answer()

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 512

    server = Server(("127.0.0.1", 0), Handler)
    recorder.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield recorder
    finally:
        closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
