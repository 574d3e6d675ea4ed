"""What surrounds a bench: the order of its first requests, the options, and the floor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ragevalkit.bench import session as surrounding
from ragevalkit.bench.session import Floor, session
from ragevalkit.endpoint.client import ChatClient
from ragevalkit.endpoint.probe import Verdict
from ragevalkit.endpoint.profile import Profile
from ragevalkit.errors import EndpointUnusable

MockUrl = Callable[[str], str]


def profile(url: str) -> Profile:
    return Profile(name="tested", base_url=url)


def test_the_endpoint_is_known_and_the_client_watched(
    mock_url: MockUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surrounding, "FLOOR_S", 0.2)
    checked: list[str] = []
    warned: list[str] = []
    order: list[str] = []

    async def first(client: ChatClient, model: str) -> None:
        assert not client.proven
        order.append(model)

    async def visit() -> Floor:
        async with session(
            profile(mock_url('[wire]\nengine = "vllm"\n')),
            on_check=lambda title: (checked.append(title), order.append(title))[0],
            on_warning=warned.append,
            before_probe=first,
        ) as at:
            assert at.model == "mock"
            assert at.client.proven
            assert at.client.options == at.probe.options()
            assert at.probe.verdict("streaming") is not Verdict.NOT_SUPPORTED
            await asyncio.sleep(0.02)
            return at.floor(10.0)

    floor = asyncio.run(visit())
    assert order.index("mock") < order.index("a plain request")
    assert floor.lateness_ms is not None
    assert floor.lateness_ms.n == 40
    assert floor.ms is None  # too few tokens for a p99
    assert floor.instrument.samples > 0


def test_without_a_calibration_the_floor_is_not_known(
    mock_url: MockUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surrounding, "FLOOR_S", 0.0)

    async def visit() -> Floor:
        async with session(profile(mock_url(""))) as at:
            return at.floor()

    floor = asyncio.run(visit())
    assert (floor.ms, floor.lateness_ms) == (None, None)


def test_an_endpoint_that_is_not_there_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surrounding, "FLOOR_S", 0.0)

    async def visit() -> None:
        async with session(profile("http://127.0.0.1:9/v1")):
            raise AssertionError("the session was begun")

    with pytest.raises(EndpointUnusable):
        asyncio.run(visit())
