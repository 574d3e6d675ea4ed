"""Attention over turns that begin alike: their beginning is computed once, then each goes its way.

Public: `Branches`, `NAME`.

A sequence holds the common beginning and after it the rests of all turns, one behind the other,
with no padding. A rest sees the beginning and itself. Importing this module registers the function
with transformers under `NAME`; the model is called with `branches=`.
"""

from __future__ import annotations

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
    slots: Tensor
    """Places, from 0 after the beginning, of each rest's tokens: (rests, longest); -1 where a rest
    has ended."""

    @classmethod
    def of(cls, common: int, lengths: list[int]) -> Branches:
        slots = torch.full((len(lengths), max(lengths)), -1)
        begin = 0
        for row, length in zip(slots, lengths, strict=True):
            row[:length] = torch.arange(begin, begin + length)
            begin += length
        return cls(common, slots)

    def positions(self) -> Tensor:
        """Where each token stands in its turn: (1, tokens)."""
        rests = [torch.arange(n) + self.common for n in (self.slots >= 0).sum(1).tolist()]
        return torch.cat([torch.arange(self.common), *rests])[None]


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
    at = branches.common
    groups = query.shape[1] // key.shape[1]
    common = scaled_dot_product_attention(
        query[:, :, :at],
        key[:, :, :at].repeat_interleave(groups, 1),
        value[:, :, :at].repeat_interleave(groups, 1),
        is_causal=True,
        scale=scaling,
    )
    shape = (key.shape[1], groups, query.shape[2] - at, query.shape[3])
    rests = _rests(query[0, :, at:].reshape(shape) * scaling, key[0], value[0], branches).reshape(
        1, query.shape[1], *shape[2:]
    )
    return torch.cat([common, rests], 2).transpose(1, 2).contiguous(), None


def _rests(query: Tensor, key: Tensor, value: Tensor, branches: Branches) -> Tensor:
    """query: (key heads, heads of each, tokens, width); key, value: (key heads, all, width)."""
    heads, groups, tokens, width = query.shape
    at = branches.common
    kept = branches.slots >= 0
    slots = branches.slots.clamp(min=0)
    row, place = kept.nonzero(as_tuple=True)
    longest = slots.shape[1]

    to_common = (query.reshape(heads, groups * tokens, width) @ key[:, :at].transpose(1, 2)).view(
        heads, groups, tokens, at
    )
    own_keys = key[:, at:][:, slots].transpose(-1, -2)[:, None]
    to_own = query[:, :, slots] @ own_keys
    later = torch.ones(longest, longest, dtype=torch.bool).triu(1)
    to_own = to_own.masked_fill(later, -torch.inf)[:, :, row, place]
    weights = torch.cat([to_common, to_own], -1).softmax(-1)

    from_common = weights[..., :at].reshape(heads, groups * tokens, at) @ value[:, :at]
    own = weights.new_zeros(heads, groups, *slots.shape, longest)
    own[:, :, row, place] = weights[..., at:]
    from_own = (own @ value[:, at:][:, slots][:, None])[:, :, row, place]
    return from_common.view(query.shape) + from_own


AttentionInterface.register(NAME, _branching)
