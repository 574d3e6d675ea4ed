"""Attention over turns that begin alike: their beginning is computed once, then each goes its way.

Public: `Branches`, `NAME`.

A sequence holds the common beginning and after it the rests of all turns, one behind the other,
with no padding. A rest sees the beginning and itself. Importing this module registers the function
with transformers under `NAME`; the model is called with `branches=`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "branching"


@dataclass(frozen=True)
class Branches:
    """How a sequence is divided."""

    common: int
    """Tokens of the common beginning."""
    rests: list[int]
    """Tokens of each rest."""

    def positions(self) -> Tensor:
        """Where each token stands in its turn: (1, tokens)."""
        rests = [torch.arange(n) + self.common for n in self.rests]
        return torch.cat([torch.arange(self.common), *rests])[None]

    def previous(self) -> Tensor:
        """Which token of the sequence stands before each in its turn: (tokens,); -1: none."""
        before = torch.arange(self.common + sum(self.rests)) - 1
        begins = torch.tensor([self.common, *self.rests]).cumsum(0)[:-1]
        before[begins] = self.common - 1
        return before

    def joined(self, turns: Sequence[Tensor]) -> Tensor:
        """What the turns' tokens have each, as a sequence: (tokens,).

        What all begin with is the first turn's.
        """
        return torch.cat([turns[0][: self.common], *(turn[self.common :] for turn in turns)])

    def split(self, states: Tensor) -> tuple[Tensor, ...]:
        """States of shape (1, heads, tokens, width): those of the beginning, then each rest's."""
        return states.split([self.common, *self.rests], 2)


def _branching(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    *,
    scaling: float,
    branches: Branches,
    **_: Any,
) -> tuple[Tensor, None]:
    """query: (1, heads, tokens, width); key, value: (1, key heads, tokens, width)."""
    groups = query.shape[1] // key.shape[1]
    first, *queries = branches.split(query)
    to, *keys = branches.split(key.repeat_interleave(groups, 1))
    of, *values = branches.split(value.repeat_interleave(groups, 1))
    attended = [scaled_dot_product_attention(first, to, of, is_causal=True, scale=scaling)]
    longest = max(branches.rests)
    seen = torch.ones(longest, branches.common + longest, dtype=torch.bool).tril(branches.common)
    for q, k, v in zip(queries, keys, values, strict=True):
        k, v = torch.cat([to, k], 2), torch.cat([of, v], 2)
        mask = seen[: q.shape[2], : k.shape[2]]
        attended.append(scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling))
    return torch.cat(attended, 2).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, _branching)
