"""`python -m ragevalkit.standin baseline|mock|local`: one built-in endpoint in this process.

Prints `{"port": ..., "model": ...}` on one line once it listens, and ends when standard input
does (`--stay`: when interrupted). Exit status 2: a bad scenario, a port that is taken, or
something that isn't installed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

from ragevalkit.errors import InputError
from ragevalkit.standin.events import Brain
from ragevalkit.standin.launch import NAMES


def main(arguments: list[str] | None = None) -> int:
    """Serve until the end; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m ragevalkit.standin")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--scenario", type=Path, help="what mock does, as a TOML file")
    parser.add_argument("--weights", type=Path, help="what local serves, as a GGUF file")
    parser.add_argument("--adapter", type=Path, help="another adapter for local, as a GGUF file")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--stay", action="store_true", help="don't end with standard input")
    options = parser.parse_args(arguments)
    if options.scenario is not None and options.name != "mock":
        parser.error("--scenario is for mock")
    if options.name != "local" and (options.weights, options.adapter) != (None, None):
        parser.error("--weights and --adapter are for local")
    if options.weights is not None and options.adapter is not None:
        parser.error("an adapter goes with the packaged weights, not with --weights")
    if not options.stay:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        if options.name == "local":
            _serve_local(options.weights, options.adapter, options.port)
        else:
            _serve(options.name, options.scenario, options.port)
    except KeyboardInterrupt:
        return 130
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _brain(name: str, scenario: Path | None) -> Brain:
    if name == "baseline":
        from ragevalkit.standin.baseline import Baseline

        return Baseline()
    from ragevalkit.standin.mock import Mock
    from ragevalkit.standin.scenario import load_scenario

    return Mock(load_scenario(scenario))


def _serve_local(weights: Path | None, adapter: Path | None, port: int) -> None:
    from ragevalkit.standin import local

    greet = partial(_greet, model=local.model_name(weights or adapter))
    local.serve(port, greet, weights=weights, adapter=adapter)


def _serve(name: str, scenario: Path | None, port: int) -> None:
    from ragevalkit.standin.server import serve

    brain = _brain(name, scenario)
    asyncio.run(serve(brain, port, lambda taken: _greet(taken, brain.wire.model)))


def _greet(port: int, model: str) -> None:
    print(json.dumps({"port": port, "model": model}), flush=True)


def _end_with_stdin() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
