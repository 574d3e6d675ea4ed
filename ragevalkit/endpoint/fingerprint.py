"""What a server says of itself, for the run's manifest.

Public: `choose_model`, `fingerprint`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.faults import Fault
from ragevalkit.errors import EndpointUnusable
from ragevalkit.turn.record import RoundState

_VERSION_TIMEOUT_S = 3.0


async def choose_model(client: ChatClient) -> tuple[str, list[dict[str, Any]], str | None]:
    """The model to ask for, all models listed, and a warning for the user, if any.

    Raises:
        EndpointUnusable: the server can't be reached or isn't an API, or no model can be found.
    """
    profile = client.profile
    try:
        listed = await client.models()
    except Fault as fault:
        missing = fault.state is RoundState.REJECTED or fault.status == 404
        if client.unusable(fault) and not missing:
            raise EndpointUnusable(client.explain(fault)) from fault
        if profile.model is None:
            raise EndpointUnusable(
                f"endpoint {profile.base_url} doesn't list its models ({fault.message}); does the "
                f"address end with /v1? Else name the model in a profile in ragevalkit.toml"
            ) from fault
        return profile.model, [], f"/models can't be read: {fault.message}"
    names = [model["id"] for model in listed]
    if profile.model is None:
        if not names:
            raise EndpointUnusable(f"endpoint {profile.base_url} lists no model")
        others = f"; it lists {len(names)} models" if len(names) > 1 else ""
        return names[0], listed, f"asking for the model '{names[0]}'{others}" if others else None
    if profile.model not in names:
        known = ", ".join(names[:5]) or "none"
        return profile.model, listed, f"/models lists {known}, not '{profile.model}'"
    return profile.model, listed, None


async def fingerprint(
    client: ChatClient, model: str, listed: list[dict[str, Any]]
) -> dict[str, Any]:
    """The model's entry of `/models` and the server's version, where it gives them."""
    entry = next((m for m in listed if m["id"] == model), None)
    parts = urlsplit(client.profile.base_url)
    root = f"{parts.scheme}://{parts.netloc}"
    try:
        version = await client.get(f"{root}/version", timeout_s=_VERSION_TIMEOUT_S)
    except Fault as fault:
        # most servers have no such page; one that doesn't answer at all is no longer there
        version = None
        if fault.state is RoundState.UNREACHABLE:
            raise EndpointUnusable(client.explain(fault)) from fault
    return {"model": entry, "version": version if isinstance(version, dict) else None}
