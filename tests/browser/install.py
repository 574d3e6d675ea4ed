"""Install what the browser tests need: a Chromium where there is none, and axe-core.

    python tests/browser/install.py

As root on Debian Chromium comes from its packages, elsewhere from Playwright. axe-core is an npm
package; without npm the tests that use it are skipped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from installed import AXE, AXE_SHA256, AXE_VERSION, chromium


def main() -> None:
    if chromium() is None and not (install_from_debian() or install_from_playwright()):
        sys.exit(
            "No Chromium is here, and none can be installed. Install one so that `chromium` is on "
            "the PATH (on Debian, as root: apt-get install chromium), and call this again."
        )
    print(f"browser: {chromium()}")
    print(f"axe-core: {axe()}")


def install_from_debian() -> bool:
    """Whether a Chromium is there afterwards."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    print("installing Debian's chromium; this takes about a minute", flush=True)
    quiet = {
        "stdout": subprocess.DEVNULL,
        "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    }
    subprocess.run(["apt-get", "update", "-qq"], **quiet)
    packages = ["chromium", "fonts-liberation"]
    subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], **quiet
    )
    return chromium() is not None


def install_from_playwright() -> bool:
    """Whether a Chromium is there afterwards."""
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"])
    return chromium() is not None


def axe() -> str:
    """Fetch axe-core unless it is there, and say what is."""
    if is_axe(AXE):
        return str(AXE)
    npm = shutil.which("npm")
    if npm is None:
        return "npm is missing, so the accessibility tests are skipped"
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            [npm, "pack", "--silent", f"axe-core@{AXE_VERSION}"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        if packed.returncode:
            return "npm can't fetch it, so the accessibility tests are skipped"
        with tarfile.open(Path(folder) / packed.stdout.split()[-1]) as archive:
            archive.extract("package/axe.min.js", folder)
        script = Path(folder) / "package" / "axe.min.js"
        if not is_axe(script):
            sys.exit(f"axe-core {AXE_VERSION} from npm isn't the file that was expected")
        AXE.parent.mkdir(exist_ok=True)
        shutil.copyfile(script, AXE)
    return str(AXE)


def is_axe(script: Path) -> bool:
    return script.exists() and hashlib.sha256(script.read_bytes()).hexdigest() == AXE_SHA256


if __name__ == "__main__":
    main()
