"""The command line: one file a verb.

Public: `main`.
"""

from __future__ import annotations

import os
import sys
from errno import EACCES, ELOOP, ENAMETOOLONG, ENOSPC

from ragevalkit.errors import RagevalkitError

INTERRUPTED = 130

_BAD_PATHS = (ENAMETOOLONG, EACCES, ELOOP)
"""Faults of a path that a user gave, wherever it is first looked at."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with the code that docs/files.md lists.

    A user's mistake is answered with one line on standard error.
    """
    import typer
    from typer._click.exceptions import NoArgsIsHelpError, UsageError

    from ragevalkit.cli.app import app

    try:
        code = app(args=arguments, standalone_mode=False) or 0
    except RagevalkitError as error:
        code = _complain(str(error), error.exit_code)
    except NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        code = error.exit_code
    except UsageError as error:
        command = f" (see `{error.ctx.command_path} --help`)" if error.ctx else ""
        code = _complain(error.format_message() + command, 2)
    except typer.TyperException as error:
        code = _complain(error.format_message(), 2)
    except (KeyboardInterrupt, typer.Abort):
        code = _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has gone; nothing is left to be said
        code = 1
    except OSError as error:
        if error.errno not in (*_BAD_PATHS, ENOSPC):
            raise
        where = f"{str(error.filename)[:200]}: " if error.filename else ""
        code = _complain(f"{where}{error.strerror}", 1 if error.errno == ENOSPC else 2)
        _drop_output()
    sys.exit(code)


def _drop_output() -> None:
    """What a full disk did not take would be tried again at exit, and complained of again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, code: int) -> int:
    message = " ".join(message.split()).encode(errors="backslashreplace").decode()
    print(f"ragevalkit: {message}", file=sys.stderr)
    return code
