"""Write the assistant of `local` as files for llama.cpp: at sixteen bits, five and four.

    python engines/assistant.py SIXTEEN.gguf FIVE.gguf FOUR.gguf

Five and four bits are Q5_0 and Q4_0 without a calibration, the embedding's, which is the output
layer as well, too: the crudest of llama.cpp's types, so that there is something to find.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ragevalkit.standin.local import ADAPTER, find_weights
from ragevalkit.standin.merging import write_merged


def main(sixteen: Path, five: Path, four: Path) -> None:
    for file, kind in ((sixteen, "F16"), (five, "Q5_0"), (four, "Q4_0")):
        write_merged(find_weights(), ADAPTER, file, matrices=kind, embedding=kind)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
