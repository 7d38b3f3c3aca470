"""The commands for beginning: metrics, schema."""

from collections.abc import Callable
from typing import Annotated

import typer

from .console import user_errors, write_or_print
from .options import JsonFile
from .outputs import json_file


def metrics(
    metric: Annotated[
        list[str] | None, typer.Argument(metavar="[METRIC]…", help="Explain these. (default list everything)")
    ] = None,
    json: JsonFile = None,
) -> None:
    """List the measures, their choices and the presets of other tools; or explain metrics, choice by choice."""
    with user_errors():
        from ndcg_ab.report.metric_lists import as_json, lists_content, lists_text, metric_text, metrics_content
        from ndcg_core.measures.notation import parse

        path = json_file(json, ())
        found = [parse(text) for text in metric or ()]
        content = metrics_content(found) if found else lists_content()
        write_or_print(lambda: as_json(content), path, to_standard_output=json == "-")
        if json != "-":
            texts = [metric_text(each, given) for each, given in zip(found, metric or (), strict=True)]
            print("\n".join(texts) if found else lists_text(), end="")


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
    metrics: "'ndcg(preset=sklearn)@10'",
    schema: "--json ndcg-ab.schema.json",
}
