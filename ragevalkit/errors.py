"""Errors that are for people: what is wrong, where, and what to do.

The command line prints the message as one line and exits with `exit_code` (DESIGN §6).
"""

from __future__ import annotations


class RagevalkitError(Exception):
    """Base of every error that a user can mend; its text is the whole message."""

    exit_code = 2


class InputError(RagevalkitError):
    """A bank, corpus, profile or option that can't be used as it is."""


class EndpointUnusable(RagevalkitError):
    """The endpoint can't be used at all; found before the first turn was finished."""


class NotComparable(RagevalkitError):
    """Two runs that can't be held against each other; found before they are asked."""

    exit_code = 12


class Interrupted(RagevalkitError):
    """The user broke off before there was anything to keep."""

    exit_code = 130


class RunFolderError(RagevalkitError):
    """The run folder can't be written or read, for example because the disk is full."""

    exit_code = 1
