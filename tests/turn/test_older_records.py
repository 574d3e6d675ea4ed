"""Lines that an older version wrote can still be read."""

from __future__ import annotations

import json

from turn.test_record import full_turn

from ragevalkit.turn.record import RECORD_VERSION, Turn


def test_version_1_had_no_server_figures() -> None:
    line = json.loads(full_turn().model_dump_json())
    line["version"] = 1
    for round_ in line["rounds"]:
        del round_["server"]
    turn = Turn.model_validate(line)
    assert turn.version == 1 < RECORD_VERSION
    assert [round_.server for round_ in turn.rounds] == [None] * len(turn.rounds)
