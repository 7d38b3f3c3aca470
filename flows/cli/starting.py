"""The commands for beginning: schema."""

from collections.abc import Callable
from typing import Annotated

import typer

from .console import user_errors, write_or_print
from .outputs import json_file


def schema(
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write it to a file. (default standard output)")
    ] = None,
) -> None:
    """Print the JSON Schema of a configuration, with which editors complete and explain its keys."""
    with user_errors():
        path = json_file(json, ())
        from ndcg_ab.config.schema import schema_text

        write_or_print(schema_text, path, to_standard_output=path is None)


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    schema: "--json ndcg-ab.schema.json",
}
