"""Profiles: where they are looked for, and what is wrong with one that can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragevalkit.endpoint.profile import Profile, Sampling, find_profile, load_profiles
from ragevalkit.errors import InputError

SPARK = '[endpoints.spark]\nbase_url = "http://spark:8000/v1"\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, two levels down; the user's configuration lies beside it."""
    folder = tmp_path / "work" / "project"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "config" / name)
    return folder


def write(folder: Path, toml: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ragevalkit.toml").write_text(toml, encoding="utf-8")


def profile(hardware: str, name: str = "spark") -> str:
    return f'[endpoints.{name}]\nbase_url = "http://h/v1"\nhardware = "{hardware}"\n'


def test_the_nearest_file_wins(project: Path, tmp_path: Path) -> None:
    places = [tmp_path / "config" / "ragevalkit", tmp_path, project.parent, project]
    for number, place in enumerate(places):
        write(place, profile(str(number)) + profile("own", f"own{number}"))
        assert find_profile("spark").hardware == str(number)
    assert list(load_profiles()) == ["spark", "own3", "own2", "own1", "own0"]


def test_no_file_at_all(project: Path) -> None:
    assert load_profiles() == {}
    with pytest.raises(
        InputError, match=r"no endpoint 'spark'.*known are: baseline, mock, local\. Add"
    ):
        find_profile("spark")


def test_a_file_without_endpoints(project: Path) -> None:
    write(project, "[other]\na = 1\n")
    assert load_profiles() == {}


def test_every_field(project: Path) -> None:
    write(
        project,
        SPARK.replace("/v1", "/v1/")
        + 'model = "nemo"\napi_key_env = "K"\nprecision = "nvfp4"\nhardware = "DGX Spark"\n'
        + 'strict = false\nserve = "vllm serve"\n[endpoints.spark.sampling]\ntemperature = 0.6\n'
        + "top_k = 20\n[endpoints.spark.extra_body.chat_template_kwargs]\nthinking = true\n",
    )
    assert find_profile("spark") == Profile(
        name="spark",
        base_url="http://spark:8000/v1",
        model="nemo",
        api_key_env="K",
        precision="nvfp4",
        hardware="DGX Spark",
        strict=False,
        serve="vllm serve",
        sampling=Sampling(temperature=0.6, top_k=20),
        extra_body={"chat_template_kwargs": {"thinking": True}},
        folder=project,
    )
    parameters = find_profile("spark").sampling.parameters()
    assert parameters == {"temperature": 0.6, "top_p": 1.0, "top_k": 20}


@pytest.mark.parametrize(
    ("url", "name", "base_url"),
    [
        ("http://spark:8000/v1", "spark:8000", "http://spark:8000/v1"),
        ("https://host/api/v1/", "host", "https://host/api/v1"),
        ("HTTP://Host", "Host", "HTTP://Host"),
        ("http://[::1]:80/v1", "[::1]:80", "http://[::1]:80/v1"),
    ],
)
def test_a_url_is_a_profile(project: Path, url: str, name: str, base_url: str) -> None:
    found = find_profile(url)
    assert (found.name, found.base_url) == (name, base_url)
    assert (found.model, found.api_key()) == (None, None)


BAD_URLS = {
    "http://user:s3cret@h/v1": "must not hold a password",
    "http://s3cret@h/v1": "must not hold a password",
    "https://h/v1?api_key=s3cret": "must not hold '?' or '#'",
    "https://h/v1?": "must not hold '?' or '#'",
    "https://h?key=s3cret": "must not hold '?' or '#'",
    "https://h/v1#s3cret": "must not hold '?' or '#'",
    "http://": "must be an http:// or https:// address",
    "http:///v1": "must be an http:// or https:// address",
    "http://h:port/v1": "Port could not be cast",
    "http://h:99999/v1": "Port out of range",
    "http://h:0/v1": "holds a blank, or port 0",
    "http://h /v1": "holds a blank, or port 0",
    "http://[::1/v1": "Invalid IPv6 URL",
}


@pytest.mark.parametrize(("url", "message"), BAD_URLS.items())
def test_urls_that_are_refused(project: Path, url: str, message: str) -> None:
    """As an option and in a file; what may be a secret is not repeated."""
    write(project, f'[endpoints.spark]\nbase_url = "{url}"\n')
    for name, where in ((url, "--endpoint: "), ("spark", "ragevalkit.toml: endpoints.spark: ")):
        with pytest.raises(InputError) as raised:
            find_profile(name)
        assert f"{where}'base_url' {message}" in str(raised.value)
        assert "s3cret" not in str(raised.value)
        assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (SPARK + "modle = 'm'", "endpoints.spark: unknown field 'modle'"),
        (SPARK + "[endpoints.spark.sampling]\ntemp = 1", "unknown field 'sampling.temp'"),
        (SPARK + "name = 'x'", "endpoints.spark: unknown field 'name'"),
        (SPARK + "built_in = true", "endpoints.spark: unknown field 'built_in'"),
        ("[endpoints.spark]\nmodel = 'm'", "endpoints.spark: 'base_url' is missing"),
        ("[endpoints.spark]\nbase_url = 'spark:8000'", "'base_url' must be an http://"),
        ("[endpoints.spark]\nbase_url = 'ftp://h/v1'", "'base_url' must be an http://"),
        ("[endpoints.spark]\nbase_url = 7", "'base_url' Input should be a valid string"),
        (SPARK + "[endpoints.spark.sampling]\ntop_p = 2", "'sampling.top_p' Input should be less"),
        (SPARK.replace("spark]", "baseline]"), "'baseline' is the name of a built-in endpoint"),
        (SPARK.replace("spark]", "mock]"), "'mock' is the name of a built-in endpoint"),
        ("endpoints = 3", "'endpoints' must hold tables"),
        ("[endpoints]\nspark = 'http://h/v1'", "'endpoints' must hold tables"),
        ("[endpoints", "ragevalkit.toml: "),
        (SPARK * 2, "ragevalkit.toml: "),
    ],
)
def test_files_that_are_refused(project: Path, toml: str, message: str) -> None:
    write(project, toml)
    with pytest.raises(InputError) as raised:
        find_profile("spark")
    assert message in str(raised.value)
    assert str(project / "ragevalkit.toml") in str(raised.value)


def test_a_file_that_is_no_text(project: Path) -> None:
    (project / "ragevalkit.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"ragevalkit\.toml"):
        load_profiles()


def test_the_key_is_read_when_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Profile(name="spark", base_url="http://h/v1", api_key_env="SPARK_KEY")
    monkeypatch.delenv("SPARK_KEY", raising=False)
    with pytest.raises(
        InputError, match=r"'spark' wants its key in .* SPARK_KEY, which is not set"
    ):
        wanted.api_key()
    monkeypatch.setenv("SPARK_KEY", "sk-1")
    assert wanted.api_key() == "sk-1"
    assert "sk-1" not in wanted.model_dump_json()
