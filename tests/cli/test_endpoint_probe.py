"""`ragevalkit endpoint probe` and `endpoint list`."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest
from command import Command

from ragevalkit.endpoint.probe import CHECKS, Probe


def test_tables(ragevalkit: Command) -> None:
    done = ragevalkit("endpoint", "probe", "baseline")
    assert done.code == 0, done.stderr
    assert "What baseline is" in done.stdout
    for check in CHECKS:
        assert check.title in done.stdout
    assert "yes: ragevalkit" in done.stdout
    assert "tokens are counted by usage at the end" in done.stdout
    assert "tool_choice required is ignored" in done.stdout


def test_json_is_alone_on_standard_output(ragevalkit: Command) -> None:
    done = ragevalkit("endpoint", "probe", "mock", "--json")
    assert done.code == 0, done.stderr
    result = Probe.model_validate(json.loads(done.stdout))
    assert (result.endpoint, result.model) == ("mock", "mock")
    assert result.requests < 20


def test_a_profile_s_strict_and_model_are_used(
    ragevalkit: Command, mock_url: Callable[[str], str]
) -> None:
    url = mock_url("")
    (ragevalkit.folder / "ragevalkit.toml").write_text(
        f'[endpoints.spark]\nbase_url = "{url}"\nmodel = "other"\nstrict = true\n'
    )
    done = ragevalkit("endpoint", "probe", "spark")
    assert done.code == 0, done.stderr
    assert "What spark is" in done.stdout
    assert "/models lists mock, not 'other'" in done.stderr


@pytest.mark.parametrize("rule", ["status = 500", "status = 400", "status = 401"])
def test_unusable(ragevalkit: Command, mock_url: Callable[[str], str], rule: str) -> None:
    url = mock_url(f'[[rules]]\n[rules.fault]\nkind = "status"\n{rule}')
    ragevalkit("endpoint", "probe", url).complains(2, url, "can't be used")


def test_nobody_there(ragevalkit: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = ragevalkit("endpoint", "probe", f"http://127.0.0.1:{port}/v1")
    done.complains(2, "is the server running")


def test_no_such_endpoint(ragevalkit: Command) -> None:
    ragevalkit("endpoint", "probe", "spark").complains(2, "there is no endpoint 'spark'")


def test_list(ragevalkit: Command) -> None:
    done = ragevalkit("endpoint", "list")
    assert "baseline" in done.stdout
    assert done.code == 0
