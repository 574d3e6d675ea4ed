"""The command line: one file a verb.

Public: `main`.
"""

from __future__ import annotations

import sys

from ragevalkit.errors import RagevalkitError

INTERRUPTED = 130


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
    sys.exit(code)


def _complain(message: str, code: int) -> int:
    print(f"ragevalkit: {' '.join(message.split())}", file=sys.stderr)
    return code
