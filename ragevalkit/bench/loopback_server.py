"""A server that streams completions at exact times and says in each event when it sent it.

Public: `Schedule`, `serve`, `DUE_AND_SENT`.

Runs as a script in a process of its own, with the standard library alone, so that its CPU time and
its pauses aren't the client's. One thread sends all events, in the order in which they are due; an
event loop would send those of each millisecond together. Ends when standard input does.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DUE_AND_SENT = "%d %d;"
"""Text of every token: when it was due and when it was sent, in `time.perf_counter_ns`."""

_EVENT = (
    'data: {"id":"chatcmpl-loopback","object":"chat.completion.chunk","created":0,'
    '"model":"loopback","choices":[{"index":0,"delta":{"%s":"' + DUE_AND_SENT + '"},'
    '"logprobs":null,"finish_reason":null}]}\n\n'
)
_END = (
    'data: {"id":"chatcmpl-loopback","object":"chat.completion.chunk","created":0,'
    '"model":"loopback","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    'data: {"id":"chatcmpl-loopback","object":"chat.completion.chunk","created":0,'
    '"model":"loopback","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d,'
    '"total_tokens":%d}}\n\ndata: [DONE]\n\n'
)


@dataclass(frozen=True)
class Schedule:
    """When the tokens of one stream are due; the request's field `schedule`. Times in ns."""

    answer: int
    """Tokens of answer, each its own event."""
    gap_ns: int
    reasoning: int = 0
    """Tokens of reasoning before the answer."""
    first_ns: int = 0
    """From the arrival of the request, or of the last one of `streams`, to the first token."""
    streams: int = 1
    """The stream begins when so many with this number have arrived."""

    @property
    def tokens(self) -> int:
        return self.reasoning + self.answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    arrived_ns = 0

    def parse_request(self) -> bool:
        self.arrived_ns = time.perf_counter_ns()  # the headers take it a while
        return super().parse_request()

    def do_GET(self) -> None:
        """`/clock`: this process's clock."""
        self._send_whole(200, {"perf_counter_ns": time.perf_counter_ns()})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            schedule = Schedule(**json.loads(body)["schedule"])
        except (ValueError, KeyError, TypeError) as error:
            self._send_whole(400, {"error": {"message": f"no schedule: {error}"}})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        stream = _Stream(schedule, self)
        self.server.pacer.take(stream, self.arrived_ns)
        stream.ended.wait()

    def send_chunk(self, text: str, *, last: bool = False) -> None:
        """One HTTP chunk, in one write to the socket."""
        end = "0\r\n\r\n" if last else ""
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n{end}".encode())

    def _send_whole(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a line a request would take time."""


@dataclass
class _Stream:
    schedule: Schedule
    handler: _Handler
    sent: int = 0
    """Tokens sent."""
    ended: threading.Event = field(default_factory=threading.Event)

    def send(self, due_ns: int) -> bool:
        """Send the next token, and the end after the last; whether there are more to come."""
        channel = "content" if self.sent >= self.schedule.reasoning else "reasoning_content"
        try:
            self.handler.send_chunk(_EVENT % (channel, due_ns, time.perf_counter_ns()))
            self.sent += 1
            if self.sent < self.schedule.tokens:
                return True
            self.handler.send_chunk(_END % (self.sent, self.sent + 1), last=True)
        except OSError:
            self.handler.close_connection = True  # the client has gone
        self.ended.set()
        return False


class _Pacer:
    """Sends the tokens of all streams when they are due."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, _Stream]] = []
        self._waiting: dict[int, list[_Stream]] = {}
        self._numbers = itertools.count()
        self._changed = threading.Condition()

    def take(self, stream: _Stream, arrived_ns: int) -> None:
        """Begin a stream, or keep it until all are there that begin together."""
        schedule = stream.schedule
        with self._changed:
            waiting = self._waiting.setdefault(schedule.streams, [])
            waiting.append(stream)
            if len(waiting) < schedule.streams:
                return
            del self._waiting[schedule.streams]
            for begun in waiting:
                due_ns = arrived_ns + begun.schedule.first_ns
                heapq.heappush(self._due, (due_ns, next(self._numbers), begun))
            self._changed.notify()

    def work(self) -> None:
        while True:
            due_ns, number, stream = self._next()
            if stream.send(due_ns):
                with self._changed:
                    heapq.heappush(self._due, (due_ns + stream.schedule.gap_ns, number, stream))

    def _next(self) -> tuple[int, int, _Stream]:
        """The token that is due now, once it is."""
        with self._changed:
            while True:
                wait_ns = self._due[0][0] - time.perf_counter_ns() if self._due else None
                if wait_ns is not None and wait_ns <= 0:
                    return heapq.heappop(self._due)
                self._changed.wait(None if wait_ns is None else wait_ns / 1e9)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 4096

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pacer = _Pacer()
        threading.Thread(target=self.pacer.work, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing of clients that have gone: their number could fill the pipe."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


def serve() -> None:
    """Print the port, and serve until standard input ends."""
    server = _Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    while os.read(0, 4096):
        pass


if __name__ == "__main__":
    serve()
    sys.stdout.flush()
    os._exit(0)
