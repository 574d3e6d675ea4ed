"""The adapter that comes with the package belongs to the conversation that the agent has."""

from __future__ import annotations

from conversation import conversation_hash
from gguf import GGUFReader

from ragevalkit.standin.local import ADAPTER

MOST_BYTES = 10_000_000


def test_it_was_trained_on_the_present_conversation() -> None:
    trained_on = GGUFReader(ADAPTER).fields["ragevalkit.conversation_hash"].contents()
    assert trained_on == conversation_hash(), (
        "the agent's prompt, its tools or the chat template have changed since the adapter was "
        "trained: train again (training/README.md)"
    )


def test_it_is_small() -> None:
    assert ADAPTER.stat().st_size < MOST_BYTES


def test_it_has_its_card() -> None:
    card = ADAPTER.with_name("README.md").read_text(encoding="utf-8")
    for heading in ("## Data", "## Training", "## Scores", "## Licence"):
        assert heading in card
