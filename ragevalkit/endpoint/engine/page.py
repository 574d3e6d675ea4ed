"""A metrics page in the Prometheus text format, down to the values that are used.

Public: `Page`, `read_page`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pydantic import BaseModel, ConfigDict

from ragevalkit.endpoint.engine.names import ACCEPTED_AT, ENGINES, STARTED

MOST_SAMPLES = 5_000
"""A page with more samples of the names in use isn't believed."""

_LONGEST_LINE = 500
"""Bytes; the library's parser takes quadratic time on longer ones."""
_LARGEST = 2.0**53
_NAME = re.compile(rb"[ \t]*([A-Za-z_:][A-Za-z0-9_:]*)")
_SELECTOR = re.compile(r'([^{]+)(?:\{(\w+)="([^"]*)"\})?')


class Page(BaseModel):
    """The values of one page, by the names that `ENGINES` gives them."""

    model_config = ConfigDict(extra="forbid")

    engine: str
    """vllm, sglang or llama.cpp."""
    values: dict[str, float | None]
    """Sums over labels; null where a sample is no finite number from 0. What isn't on the page is
    left out."""
    accepted_at: dict[int, float | None] = {}
    """Accepted draft tokens by their position in the draft, from 0."""
    started: float | None = None
    """When the server's process began, in seconds since 1970."""

    def under_way(self) -> int:
        """Requests that run or wait."""
        return int((self.values.get("running") or 0) + (self.values.get("waiting") or 0))


def read_page(content: bytes, model: str | None = None) -> Page | None:
    """The values of a page; None where it isn't one of an engine that is known.

    Never raises; time and memory are bounded by the size of `content`.

    Args:
        model: only its samples are taken where the page has several models'.
    """
    samples = list(_samples(content))
    engines = Counter(_ENGINE_OF[s.name] for s in samples if s.name in _ENGINE_OF)
    if not engines or len(samples) > MOST_SAMPLES:
        return None
    engine = engines.most_common(1)[0][0]
    served = {s.labels["model_name"] for s in samples if "model_name" in s.labels}
    if model in served:
        samples = [s for s in samples if s.labels.get("model_name", model) == model]
    by_name: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_name[sample.name].append(sample)
    started = by_name[STARTED]
    return Page(
        engine=engine,
        values=dict(_values(engine, by_name)),
        accepted_at=_by_position(s for name in ACCEPTED_AT for s in by_name[name]),
        started=_sum([started[0].value]) if started else None,
    )


def _samples(content: bytes) -> Iterator[Sample]:
    """Samples of the names in use, a line each; at most one more than is believed.

    Lines are picked first and parsed alone, so that one that can't be parsed, or would take long,
    doesn't cost the others.
    """
    taken = 0
    for line in content.split(b"\n"):
        name = _NAME.match(line[:_LONGEST_LINE])
        if name is None or name[1] not in _WANTED or len(line) > _LONGEST_LINE:
            continue
        try:
            families = list(text_string_to_metric_families(line.decode(errors="replace")))
        except (ValueError, LookupError, ArithmeticError):
            continue
        for family in families:
            yield from family.samples
        taken += 1
        if taken > MOST_SAMPLES:
            return


def _values(engine: str, by_name: Mapping[str, list[Sample]]) -> Iterator[tuple[str, float | None]]:
    for value_name, selectors in ENGINES[engine].items():
        for selector in selectors:
            match = _SELECTOR.fullmatch(selector)
            assert match is not None
            name, label, wanted = match.groups()
            of_name = by_name.get(name, [])
            found = [s.value for s in of_name if label is None or s.labels.get(label) == wanted]
            if found:
                yield value_name, _sum(found)
                break


def _by_position(samples: Iterable[Sample]) -> dict[int, float | None]:
    positions: defaultdict[int, list[float]] = defaultdict(list)
    for sample in samples:
        position = sample.labels.get("position", "")
        if re.fullmatch(r"[0-9]{1,4}", position):
            positions[int(position)].append(sample.value)
    return {position: _sum(positions[position]) for position in sorted(positions)}


def _sum(values: Iterable[float]) -> float | None:
    total = 0.0
    for value in values:
        if not 0 <= value <= _LARGEST:
            return None
        total += value
    return total


_ENGINE_OF = {
    selector.partition("{")[0]: engine
    for engine, values in ENGINES.items()
    for selectors in values.values()
    for selector in selectors
}
_WANTED = {name.encode() for name in (*_ENGINE_OF, *ACCEPTED_AT, STARTED)}
