"""A server for the tests of serving: `fake_server.py PORT [HABIT[=VALUE] ...]`.

Habits: `words=TEXT` prints it first · `environment=NAME` prints the variable · `exit=STATUS` and
`killed` end at once · `until=FILE` answers 503 until the file is there · `key=KEY` wants it ·
`model=NAME` · `stubborn` ignores SIGTERM · `family=FILE` starts a child in a session of its own and
an orphan, and writes their pids · `last=STATUS` ends after its first good answer.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SLEEPER = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
ORPHANS = (
    "import subprocess, sys\n"
    "child = subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=2)\n"
    "print(child.pid)"
)


def start_family(path: Path) -> None:
    child = subprocess.Popen(SLEEPER, start_new_session=True)
    orphan = subprocess.check_output([sys.executable, "-S", "-c", ORPHANS, *SLEEPER])
    path.write_text(f"{child.pid} {int(orphan)}")


def main(port: str, *arguments: str) -> None:
    habits = {name: value for name, _, value in (a.partition("=") for a in arguments)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = 200
            if "until" in habits and not Path(habits["until"]).exists():
                status = 503
            elif "key" in habits and self.headers["Authorization"] != f"Bearer {habits['key']}":
                status = 401
            body = json.dumps({"data": [{"id": habits.get("model", "fake")}]}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            if status == 200 and "last" in habits:
                self.wfile.flush()
                os._exit(int(habits["last"]))

        def log_message(self, *_: object) -> None:
            pass

    if "words" in habits:
        print(habits["words"])
    if "environment" in habits:
        print(f"{habits['environment']} is {os.environ.get(habits['environment'])}")
    if "family" in habits:
        start_family(Path(habits["family"]))
    if "exit" in habits:
        sys.exit(int(habits["exit"]))
    if "killed" in habits:
        os.kill(os.getpid(), signal.SIGKILL)
    if "stubborn" in habits:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
