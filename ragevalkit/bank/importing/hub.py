"""Rows of data sets through `datasets`: from the hub, or from a folder that it saved.

Public: `read_hub`, `read_saved`.

`datasets` retries a name for half a minute where there is no network, so the hub is asked for a
sign of life first. With HF_HUB_OFFLINE only what lies in its cache is read.
"""

from __future__ import annotations

import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragevalkit.bank.importing.draft import Row
from ragevalkit.errors import InputError

PROBE_S = 6.0
"""Longest wait for the hub's sign of life."""

_HUB = "https://huggingface.co"
_READ_RETRIES = 3
_YES = {"1", "true", "yes", "on"}
_PICTURES = {"Image", "Audio", "Video", "Pdf"}
_SHOWN = 200


def read_hub(name: str, split: str | None) -> Iterator[Row]:
    """Rows of a data set on the hub; `owner/name`, or `owner/name:config`.

    They are streamed, so that a limit doesn't download the rest; offline they come from the cache.
    """
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES
    if not offline and not _answers(os.environ.get("HF_ENDPOINT") or _HUB):
        raise InputError(
            f"hf:{name}: the hub can't be reached; with HF_HUB_OFFLINE=1 a data set that "
            "`datasets` has in its cache is read from there"
        )
    where = f"hf:{name}"
    owner_name, _, config = name.partition(":")
    try:
        import datasets

        _quiet(datasets)
        loaded = datasets.load_dataset(owner_name, config or None, streaming=not offline)
    except Exception as error:  # whatever `datasets`, its Arrow or its HTTP client raise
        reason = " (offline: it isn't in the cache)" if offline else ""
        raise InputError(f"{where} can't be read{reason}: {_reason(error)}") from error
    return _rows(_one_split(loaded, split, where), where)


def read_saved(folder: Path, split: str | None) -> Iterator[Row]:
    """Rows of a folder that `datasets` wrote with `save_to_disk`."""
    try:
        import datasets

        _quiet(datasets)
        loaded = datasets.load_from_disk(str(folder))
    except Exception as error:  # whatever `datasets` and its Arrow raise
        raise InputError(f"{folder} can't be read as a data set: {_reason(error)}") from error
    return _rows(_one_split(loaded, split, str(folder)), str(folder))


def _one_split(loaded: Any, split: str | None, where: str) -> Any:
    if not isinstance(loaded, dict):
        return loaded
    known = ", ".join(loaded)
    if split is not None and split not in loaded:
        raise InputError(f"{where} has no split '{split}'; it has {known}")
    if split is None and len(loaded) > 1:
        raise InputError(f"{where} has several splits ({known}); --split takes one")
    return loaded[split or next(iter(loaded))]


def _rows(table: Any, where: str) -> Iterator[Row]:
    features: dict[str, Any] = dict(table.features or {})
    pictures = [name for name, kind in features.items() if type(kind).__name__ in _PICTURES]
    rows = iter(table.remove_columns(pictures) if pictures else table)
    number = 0
    while True:
        number += 1
        try:
            fields = next(rows)
        except StopIteration:
            return
        except Exception as error:  # as above
            raise InputError(f"{where}, row {number} can't be read: {_reason(error)}") from error
        yield Row(f"{where}, row {number}", dict(fields))


def _answers(address: str) -> bool:
    """Whether anything answers there, in time; an error of HTTP is an answer too."""
    answered = threading.Event()

    def ask() -> None:
        try:
            request = urllib.request.Request(address, method="HEAD")
            urllib.request.urlopen(request, timeout=PROBE_S).close()
        except urllib.error.HTTPError:
            pass
        except (OSError, ValueError):
            return
        answered.set()

    asking = threading.Thread(
        target=ask, daemon=True
    )  # a name look-up has no time limit of its own
    asking.start()
    asking.join(PROBE_S)
    return answered.is_set()


def _quiet(datasets: Any) -> None:
    datasets.disable_progress_bars()
    datasets.utils.logging.set_verbosity_error()
    datasets.config.STREAMING_READ_MAX_RETRIES = _READ_RETRIES


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_SHOWN]}"
