"""The commands about ndcg-ab itself: findings, formats."""

from collections.abc import Callable
from typing import Annotated

import typer

from ..console import name_written, print_line, print_safely, write_or_print
from ..options import JsonFile
from ..outputs import text_file


def findings(
    code: Annotated[
        list[str] | None, typer.Argument(metavar="CODE", help="A code to explain; without one, all.")
    ] = None,
    json: JsonFile = None,
) -> None:
    """List what the data check can find, or explain a finding: what it means, what to do."""
    from ndcg_ab.report.terminal.reference import codes_to_json, print_codes, print_entry

    path = text_file("--json", json, ())
    write_or_print(lambda: codes_to_json(code or ()), path, to_standard_output=json == "-")
    if json == "-":
        return
    if not code:
        print_safely(print_codes)
    for place, each in enumerate(code or ()):
        if place:
            print_line("")
        print_safely(print_entry, each)
    name_written(path)


def formats() -> None:
    """List the forms of files that are read, each with a small file of it."""
    from ndcg_ab.sources.forms.recognition import list_forms

    print(list_forms(), end="")


COMMANDS: dict[Callable[..., None], str] = {findings: "few_judged", formats: ""}  # with an example of its options
