"""Scoring: what a turn came to, and what a run came to.

Public: `classify_reply`, `Reply`.
"""

from ragevalkit.scoring.replies import Reply, classify_reply

__all__ = ["Reply", "classify_reply"]
