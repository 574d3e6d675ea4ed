"""Start-up of `ragevalkit --help` beside a bare interpreter.

    python benchmarks/startup.py [--repetitions 20] [--json]

Wall time of whole processes, in turns, medians. What help may import is held by a test.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "ragevalkit --help": [sys.executable, "-m", "ragevalkit", "--help"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(options.repetitions + 1):
        for name, command in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(taken[1:]) for name, taken in seconds.items()}
    bare, own = medians.values()
    if options.json:
        print(json.dumps({**medians, "ratio": own / bare}, indent=2))
        return
    for name, value in medians.items():
        print(f"{name:20}{1000 * value:8.0f} ms")
    print(f"ratio: {own / bare:.1f}")


if __name__ == "__main__":
    main()
