"""Which engine it is, which model it serves, and how much fits into its context.

Public: `CHECKS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ragevalkit.endpoint.probe.finding import Finding, unknown, yes
from ragevalkit.endpoint.probe.look import Look, check
from ragevalkit.endpoint.probe.questions import plain

_OWNERS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "tensorrt_llm": "TensorRT-LLM",
    "library": "Ollama",
    "organization_owner": "LM Studio",
    "ragevalkit": "ragevalkit",
}
"""Engines by `owned_by` in `/models`."""

_FINGERPRINTS = ((re.compile(r"b\d+-"), "llama.cpp"), (re.compile("fp_ollama"), "Ollama"))
"""Engines by `system_fingerprint` in chunks."""

Page = dict[str, Any]


def _text(page: Page, name: str) -> str | None:
    value = page.get(name)
    return value if isinstance(value, str) and value.strip() else None


_PAGES: tuple[tuple[str, str, Callable[[Page], str | None]], ...] = (
    ("/version", "vLLM", lambda page: _text(page, "version")),
    ("/version", "TensorRT-LLM", lambda page: _text(page, "version")),
    ("/props", "llama.cpp", lambda page: _text(page, "build_info")),
    ("/server_info", "SGLang", lambda page: _text(page, "version")),
    ("/get_model_info", "SGLang", lambda page: _text(page, "model_path") and ""),
    ("/api/version", "Ollama", lambda page: _text(page, "version")),
)
"""Pages that an engine's version is on; "" where the page tells the engine alone."""

_TELLING = frozenset({"/props", "/server_info", "/api/version"})
"""Pages that no other engine has."""


@check("engine and version")
async def engine(look: Look) -> Finding:
    named, seen = await _named(look)
    pages: dict[str, Page | None] = {}
    for path, name, read in _PAGES:
        if name != named and (named or path not in _TELLING | {"/version"}):
            continue
        if path not in pages:
            pages[path] = await look.page(path)
        page = pages[path]
        version = read(page) if page is not None else None
        if version is None:
            continue
        if named or path in _TELLING:
            look.engine = name
            said = f", {seen}" if seen else ""
            return yes(f"{path}{said}", f"{name} {version}".strip())
    look.engine = named
    if named:
        return yes(f"{seen}; no page tells its version", named)
    version = _text(pages.get("/version") or {}, "version")
    if version is not None:
        return unknown(f"/version says {version}, nothing names the engine")
    return unknown("neither /models, nor the replies, nor a version page name it")


async def _named(look: Look) -> tuple[str | None, str]:
    """The engine by the marks it leaves, and which mark that was."""
    owner = str(look.entry.get("owned_by") or "")
    if name := _OWNERS.get(owner.lower()):
        return name, f"owned_by {owner} in /models"
    if "top_provider" in look.entry:
        return "OpenRouter", "top_provider in /models"
    fingerprint = (await plain(look)).system_fingerprint or ""
    for pattern, name in _FINGERPRINTS:
        if pattern.match(fingerprint):
            return name, f"system_fingerprint {fingerprint}"
    return None, ""


@check("model")
async def model(look: Look) -> Finding:
    said = (await plain(look)).model
    listed = "listed by /models" if look.entry else "not listed by /models"
    root = look.entry.get("root")
    if isinstance(root, str) and root != look.model:
        listed += f" with the root {root}"
    if said and said != look.model:
        listed += f"; the replies call it {said}"
    return yes(listed, look.model)


_CONTEXT_FIELDS = ("max_model_len", "context_length", "max_context_length", "context_window")
"""In an entry of `/models`: vLLM and SGLang, OpenRouter, LM Studio, others."""


@check("context length")
async def context_length(look: Look) -> Finding:
    for name in _CONTEXT_FIELDS:
        if _is_length(length := look.entry.get(name)):
            return yes(f"{name} in /models", length)
    if look.engine == "llama.cpp":
        props = await look.page("/props") or {}
        settings = props.get("default_generation_settings")
        length = settings.get("n_ctx") if isinstance(settings, dict) else None
        if _is_length(length):
            return yes("n_ctx in /props, of each slot", length)
    return unknown("neither /models nor a page of the engine tells it")


def _is_length(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


CHECKS = (engine, model, context_length)
