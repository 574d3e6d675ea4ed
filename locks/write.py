"""Write locks/run.txt and locks/dev.txt: what pip resolves from pyproject.toml today.

    python locks/write.py

`run.txt` holds what ragevalkit needs, `dev.txt` what its tests and checks add.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    run = resolved(project["project"]["dependencies"])
    dev = resolved([*run, *project["dependency-groups"]["dev"]])
    write("run.txt", run)
    write("dev.txt", [pin for pin in dev if pin not in run])


def resolved(requirements: list[str]) -> list[str]:
    """`name==version` of everything that pip would install for `requirements`."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--dry-run", "--ignore-installed", "--report", "-", *requirements]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = [item["metadata"] for item in report["install"]]
    return sorted(f"{p['name'].lower().replace('_', '-')}=={p['version']}" for p in packages)


def write(name: str, pins: list[str]) -> None:
    lines = ["# written by locks/write.py", *pins]
    (ROOT / "locks" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"locks/{name}: {len(pins)} packages")


if __name__ == "__main__":
    main()
