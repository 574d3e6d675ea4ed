"""Endpoint profiles: `[endpoints.NAME]` in ragevalkit.toml, or a URL as it is.

Public: `Profile`, `Sampling`, `find_profile`, `load_profiles`, `BUILT_IN`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ragevalkit.errors import InputError

FILE_NAME = "ragevalkit.toml"
_OURS = frozenset({"name", "built_in", "folder"})
"""Fields of a profile that no file sets."""

BUILT_IN = {
    "baseline": "an extractive answerer without a model; every model should beat it",
    "mock": "scripted replies with exact timings and faults",
    "local": "a very small assistant in llama.cpp on this processor: real answers, real faults",
}
"""Names of the endpoints that come with the tool, and what they are."""


class Sampling(BaseModel):
    """Sampling parameters, always sent, so that no server's own defaults creep in."""

    model_config = ConfigDict(extra="forbid")

    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None

    def parameters(self) -> dict[str, Any]:
        """The request's fields."""
        return self.model_dump(exclude_none=True)


class Profile(BaseModel):
    """An endpoint: where it is, how to ask it, and what its user knows about it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    base_url: str
    """Up to and including `/v1`."""
    model: str | None = None
    """Model name to send; None: the first one that `/models` lists."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; None: no key is sent."""
    precision: str | None = None
    hardware: str | None = None
    sampling: Sampling = Sampling()
    extra_body: dict[str, Any] = {}
    """Fields added to every request, for example thinking controls."""
    strict: bool | None = None
    """`strict` of the tool schemas: absent, false or true."""
    serve: str | None = None
    """The command that starts this server."""
    built_in: bool = False
    folder: Path | None = Field(default=None, exclude=True)
    """Folder of the file that holds it, where `serve` runs; no record keeps it."""

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http:// or https:// address such as http://spark:8000/v1")
        if "@" in parts.netloc:
            raise ValueError("must not hold a password; name the key's variable in api_key_env")
        if "?" in url or "#" in url:
            raise ValueError(
                "must not hold '?' or '#', since what follows may be a key; name the key's "
                "variable in api_key_env"
            )
        if not url.isprintable() or " " in url or parts.port == 0:
            raise ValueError("holds a blank, or port 0")
        return url.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _is_variable(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.A):
            # what was put there may be the key itself, so it isn't repeated
            raise ValueError("must be the name of an environment variable that holds the key")
        return name

    def api_key(self) -> str | None:
        """The key from the environment.

        Raises:
            InputError: the variable that `api_key_env` names isn't set, or holds no key.
        """
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env, "").strip()
        if not key.isascii() or not key.isprintable():
            raise InputError(
                f"the environment variable {self.api_key_env} holds characters that no key has"
            )
        if not key:
            raise InputError(
                f"endpoint '{self.name}' wants its key in the environment variable "
                f"{self.api_key_env}, which is not set"
            )
        return key


def find_profile(name: str) -> Profile:
    """The profile of that name, or one made from a URL.

    Raises:
        InputError: there is no such profile, or it can't be used.
    """
    if re.match(r"https?://", name, re.I):
        host = re.split(r"[/?#]", name, maxsplit=3)[2]
        return _validated({"name": host, "base_url": name}, "--endpoint")
    profiles = load_profiles()
    if name not in profiles:
        if re.match(r"[\w.-]+:\d+(/|$)|localhost(/|$)", name):
            raise InputError(f"an endpoint's URL begins with http:// or https://: http://{name}?")
        known = ", ".join([*profiles, *BUILT_IN])
        raise InputError(
            f"there is no endpoint '{name}'; known are: {known}. Add [endpoints.{name}] to "
            f"{FILE_NAME}, or give a URL"
        )
    return profiles[name]


def load_profiles() -> dict[str, Profile]:
    """All profiles by name, the nearest file's first where two share a name.

    Raises:
        InputError: a file isn't TOML or a profile has a wrong or unknown field.
    """
    profiles: dict[str, Profile] = {}
    for path in _files():
        for name, fields in _endpoints(path).items():
            if name not in profiles:
                where = f"{path}: endpoints.{name}"
                if ours := _OURS & fields.keys():
                    raise InputError(f"{where}: unknown field '{min(ours)}'")
                profiles[name] = _validated({"name": name, "folder": path.parent, **fields}, where)
    return profiles


def _files() -> Iterator[Path]:
    """Profile files: the working folder's, its parents', the user's."""
    here = Path.cwd()
    folders = [here, *here.parents, platformdirs.user_config_path("ragevalkit")]
    return (path for folder in folders if (path := folder / FILE_NAME).is_file())


def _endpoints(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    endpoints = content.get("endpoints", {})
    if not isinstance(endpoints, dict) or not all(isinstance(e, dict) for e in endpoints.values()):
        raise InputError(f"{path}: 'endpoints' must hold tables, one [endpoints.NAME] each")
    for name in endpoints:
        if name in BUILT_IN:
            raise InputError(f"{path}: '{name}' is the name of a built-in endpoint; choose another")
    return endpoints


def _validated(fields: dict[str, Any], where: str) -> Profile:
    try:
        return Profile.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        if first["type"] == "missing":
            raise InputError(f"{where}: '{field}' is missing") from None
        if first["type"] == "extra_forbidden":
            hint = "; name the key's variable in api_key_env" if "key" in field.lower() else ""
            raise InputError(f"{where}: unknown field '{field}'{hint}") from None
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{where}: '{field}' {message}") from None  # its text repeats the value
