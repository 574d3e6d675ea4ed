"""`ragevalkit endpoint`: list the endpoints that are known."""

from __future__ import annotations

from typing import Annotated

import typer

from ragevalkit.cli.output import print_json

app = typer.Typer(
    help="Endpoints: list the known ones.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _group() -> None:
    """Endpoints: list the known ones."""


@app.command("list")
def list_endpoints(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the built-in endpoints and the profiles of ragevalkit.toml."""
    from ragevalkit.endpoint.profile import BUILT_IN, load_profiles
    from ragevalkit.report.tables import endpoints_table
    from ragevalkit.report.terminal import print_table

    profiles = load_profiles()
    if as_json:
        listed = {name: profile.model_dump(mode="json") for name, profile in profiles.items()}
        built_in = {name: {"name": name, "built_in": True} for name in BUILT_IN}
        print_json(built_in | listed)
        return
    print_table(endpoints_table(profiles.values(), BUILT_IN))
