"""`ragevalkit endpoint`: the endpoints that are known, what each is, and starting one.

`list` is here; `probe` and `serve` have files of their own.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ragevalkit.cli import endpoint_probe, endpoint_serve
from ragevalkit.cli.output import print_json

app = typer.Typer(
    help="Endpoints: list the known ones, find out what one is, start one's server.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("probe")(endpoint_probe.command)
app.command("serve")(endpoint_serve.serve)


@app.command("list")
def list_endpoints(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the built-in endpoints and the profiles of ragevalkit.toml."""
    from ragevalkit.endpoint.profile import BUILT_IN, load_profiles
    from ragevalkit.report.endpoints import endpoints_table
    from ragevalkit.report.terminal import print_table

    profiles = load_profiles()
    if as_json:
        listed = {name: profile.model_dump(mode="json") for name, profile in profiles.items()}
        built_in = {name: {"name": name, "built_in": True} for name in BUILT_IN}
        print_json(built_in | listed)
        return
    print_table(endpoints_table(profiles.values(), BUILT_IN))
