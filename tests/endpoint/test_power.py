"""Power: logs of several formats, energy of stretches of time, and a stand-in for NVML."""

from __future__ import annotations

import itertools
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragevalkit.endpoint.power.energy import Sample, Window, idle_watts, merged, taken
from ragevalkit.endpoint.power.log import PowerLog, read_power_log
from ragevalkit.endpoint.power.nvml import recorded_power
from ragevalkit.errors import InputError

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()


def written(folder: Path, text: str) -> Path:
    path = folder / "power.csv"
    path.write_text(text)
    return path


def read(folder: Path, text: str, zone: str | None = "UTC", device: str | None = None) -> PowerLog:
    return read_power_log(written(folder, text), zone, device)


NVIDIA_SMI = """\
timestamp, power.draw [W]
2026/01/31 12:00:00.000, 70.10 W
2026/01/31 12:00:00.500, 310.25 W
"""
TWO = [Sample(NOON, 70.1), Sample(NOON + 0.5, 310.25)]


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        (NVIDIA_SMI, "UTC"),
        (NVIDIA_SMI.replace(" 12:", " 13:"), "Europe/Berlin"),
        ("2026/01/31 12:00:00.000, 70.10\n2026/01/31 12:00:00.500, 310.25\n", "UTC"),
        ("time,watts\n2026-01-31T12:00:00Z,70.1\n2026-01-31T12:00:00.5+00:00,310.25\n", None),
        ("time,watts\n2026-01-31T13:00:00+01:00,70.1\n2026-01-31T12:00:00.5Z,310.25\n", None),
        (f"time,watts\n{NOON},70.1\n{NOON + 0.5},310.25\n", None),
        (f"{NOON * 1000:.0f},70.1\n{NOON * 1000 + 500:.0f},310.25\n", None),
        (f"{NOON * 1e9:.0f}\t70.1\n{NOON * 1e9 + 5e8:.0f}\t310.25\n", None),
        ("Date;Power (mW)\n2026-01-31 12:00:00;70100\n2026-01-31 12:00:00.5;310250\n", "UTC"),
        ("Zeit;time;watts\nx;2026-01-31 12:00;70,1\nx;2026-01-31 12:00:00.5;310,25\n", "UTC"),
        ("# meter 1\n\ntime,watts\n2026-01-31 12:00:00.5,310.25\n2026-01-31 12:00,70.1\n", "UTC"),
        (NVIDIA_SMI + "2026/01/31 12:0", "UTC"),
    ],
)
def test_formats(tmp_path: Path, text: str, zone: str | None) -> None:
    assert read(tmp_path, text, zone).devices == {"": TWO}


def test_times_without_a_zone_are_this_machines(tmp_path: Path) -> None:
    local = datetime.fromtimestamp(NOON).isoformat()
    log = read(tmp_path, f"time,watts\n{local},70.1\n", zone=None)
    assert log.devices[""][0].at == NOON
    assert log.zone == "this machine's"


def test_devices_stay_apart_and_one_can_be_taken(tmp_path: Path) -> None:
    text = "timestamp,index,power.draw [W],power.limit [W]\n" + "".join(
        f"2026-01-31T12:00:0{second}Z,{gpu},{100 * gpu + second},700\n"
        for second in (0, 1)
        for gpu in (0, 1)
    )
    assert {name: [s.watts for s in of] for name, of in read(tmp_path, text).devices.items()} == {
        "0": [0, 1],
        "1": [100, 101],
    }
    assert list(read(tmp_path, text, device="1").devices) == ["1"]
    with pytest.raises(InputError, match="no power of device '7'"):
        read(tmp_path, text, device="7")


@pytest.mark.parametrize(
    ("column", "scope"),
    [
        ("power.draw [W]", "GPU board"),
        ("module.power.draw.average [W]", "module: processor, GPU and memory"),
        ("watts", None),
    ],
)
def test_scope_by_the_columns_name(tmp_path: Path, column: str, scope: str | None) -> None:
    assert read(tmp_path, f"time,{column}\n{NOON},70\n").scope == scope


def test_readings_that_the_card_did_not_give_are_skipped(tmp_path: Path) -> None:
    log = read(tmp_path, NVIDIA_SMI.replace("70.10 W", "[N/A]"))
    assert (log.devices, log.skipped) == ({"": TWO[1:]}, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,b,c\n1,2,3\n", "with 3 columns a header must name them"),
        ("time,volts\n1,2\n", "no column of the header is the power"),
        ("watts,host\n1,2\n", "no column of the header is the time"),
        ("time,watts\nyesterday,70\n", "line 2: 'yesterday' is no time"),
        ("time,watts\n1e999,70\n", "line 2: '1e999' is no time since 1970"),
        ("time,watts\n-5,70\n", "line 2: '-5' is no time since 1970"),
        ("time,watts\n1,hot\n", "line 2: 'hot' is no number"),
        ("time,watts\n1,-7\n", "line 2: '-7' can't be power"),
        ("time,watts\n1\n2,70\n", "line 2 has 1 columns, too few"),
        ("time,watts\n1,[N/A]\n", "holds no power in 1 lines"),
    ],
)
def test_bad_logs_are_named_by_their_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert words in str(raised.value)


def test_other_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        read_power_log(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no time zone 'Mars/Olympus'"):
        read(tmp_path, NVIDIA_SMI, zone="Mars/Olympus")


# energy

stretches = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 20)).map(lambda w: Window(w[0], w[0] + w[1])),
    max_size=8,
)


@given(stretches)
def test_merged_stretches_cover_the_same_and_do_not_overlap(windows: list[Window]) -> None:
    whole = merged(windows)
    assert all(a.end < b.begin for a, b in itertools.pairwise(whole))
    for window in windows:
        assert any(w.begin <= window.begin and window.end <= w.end for w in whole)
    assert sum(w.end - w.begin for w in whole) <= sum(w.end - w.begin for w in windows) + 1e-9


@given(stretches, st.floats(0, 500))
def test_constant_power_takes_watts_times_seconds(windows: list[Window], watts: float) -> None:
    samples = [Sample(float(at), watts) for at in range(121)]
    whole = merged(windows)
    seconds = sum(w.end - w.begin for w in whole)
    got = taken(samples, whole)
    assert got.covered_s == pytest.approx(seconds)
    assert got.joules == pytest.approx(watts * seconds)
    counted = [sample._replace(joules=watts * sample.at) for sample in samples]
    by_counter = taken(counted, whole)
    assert by_counter.by_counter
    assert by_counter.joules == pytest.approx(watts * seconds, abs=1e-6)


def test_power_runs_straight_between_two_samples() -> None:
    ramp = [Sample(0, 0), Sample(4, 400)]
    assert taken(ramp, [Window(0, 4)]).joules == 800
    assert taken(ramp, [Window(1, 3)]).joules == 400
    assert taken(ramp, [Window(1, 2), Window(3, 9)]) == (150 + 350, 2, False)


def test_nothing_is_known_of_gaps_and_of_a_counter_that_began_anew() -> None:
    assert taken([Sample(0, 100), Sample(60, 100)], [Window(10, 20)]) == (0, 0, False)
    assert taken([], [Window(0, 1)]) == (0, 0, False)
    reset = [Sample(0, 9, 500.0), Sample(1, 9, 3.0), Sample(2, 9, 13.0)]
    assert taken(reset, [Window(0, 2)]) == (10, 1, True)


def test_idle_power_is_the_median_outside_of_turns_and_their_margins() -> None:
    samples = [Sample(at / 2, 300.0 if 10 <= at / 2 <= 20 else 70.0) for at in range(60)]
    warm = [s._replace(watts=200.0) if 20 < s.at < 22 else s for s in samples]
    assert idle_watts({"0": warm}, [Window(10, 20)]) == 70
    assert idle_watts({"0": warm, "1": samples}, [Window(10, 20)]) == 140
    assert idle_watts({"0": samples[15:45]}, [Window(10, 20)]) is None


# cards


class _Error(Exception):
    pass


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A library with two cards, of which the second has no counter of energy."""
    reads = threading.Semaphore(0)

    def energy(card: int) -> int:
        reads.release()
        if card == 1:
            raise _Error
        return 5_000

    library = SimpleNamespace(
        NVMLError=_Error,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetName=lambda card: f"card {card}",
        nvmlDeviceGetPowerUsage=lambda card: 70_000 + card,
        nvmlDeviceGetTotalEnergyConsumption=energy,
        reads=reads,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return library


def test_cards_are_recorded_in_the_logs_own_format(tmp_path: Path, nvml: SimpleNamespace) -> None:
    path = tmp_path / "power.csv"
    for _ in range(2):  # a run that is continued goes on in the same file
        with recorded_power(path, interval_s=0.001) as cards:
            assert cards == ["card 0", "card 1"]
            for _ in range(8):
                assert nvml.reads.acquire(timeout=10)
    log = read_power_log(path)
    assert set(log.devices) == {"0", "1"}
    assert len(log.devices["0"]) >= 8
    assert {(s.watts, s.joules) for s in log.devices["0"]} == {(70.0, 5.0)}
    assert {(s.watts, s.joules) for s in log.devices["1"]} == {(70.001, None)}
    assert log.scope == "GPU board"
    assert path.read_text().count("timestamp") == 1


@pytest.mark.parametrize("lacking", ["library", "driver", "cards", "power"])
def test_without_library_driver_card_or_sensor_nothing_is_written(
    tmp_path: Path, nvml: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    def fails(*_: object) -> None:
        raise _Error

    match lacking:
        case "library":
            monkeypatch.setitem(sys.modules, "pynvml", None)
        case "driver":
            nvml.nvmlInit = fails
        case "cards":
            nvml.nvmlDeviceGetCount = lambda: 0
        case "power":
            nvml.nvmlDeviceGetPowerUsage = fails
    with recorded_power(tmp_path / "power.csv") as cards:
        assert cards == []
    assert not list(tmp_path.iterdir())
