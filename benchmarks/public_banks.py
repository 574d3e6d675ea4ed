"""The public question sets of ../shared/data as banks, run against `baseline`.

    python benchmarks/public_banks.py [--data ../shared/data] [--into FOLDER] [--convert-only]

Imports CLAPnq and UDA's Wikipedia PDFs into FOLDER (reports/public by default) as `ragevalkit bank
import` does, runs them from there, and prints their tables. A question that can't be labelled is
left out and counted.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import ragevalkit
from ragevalkit.bank.importing import Request, import_bank
from ragevalkit.cli.progress import Announcer
from ragevalkit.report.terminal import print_run

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--into", type=Path, default=ROOT / "reports" / "public")
    parser.add_argument("--convert-only", action="store_true")
    options = parser.parse_args()
    data = options.data.resolve()
    if not data.is_dir():
        sys.exit(f"there is no folder {options.data}; --data names the one with clapnq/, uda_wiki/")
    options.into.mkdir(parents=True, exist_ok=True)
    os.chdir(options.into)
    banks = [convert(data / "clapnq", "clapnq"), convert(data / "uda_wiki", "uda")]
    for bank in banks if not options.convert_only else ():
        with Announcer() as announcer:
            result = ragevalkit.run(bank, "baseline", observer=announcer)
        print_run(result.summary, Path("reports") / result.summary.run)


def convert(source: Path, layout: str) -> Path:
    made = import_bank(Request([str(source)], Path(), layout, name=source.name, overwrite=True))
    tally = made.tally
    print(
        f"{made.bank}: {tally.written} questions; "
        f"{tally.left_out['answerable_without_evidence']} answerable ones without a page left out"
    )
    return made.bank


if __name__ == "__main__":
    main()
