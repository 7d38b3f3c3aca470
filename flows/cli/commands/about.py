"""The commands about ndcg-ab itself: findings, pipeline."""

from collections.abc import Callable
from typing import Annotated

import typer

from ..console import print_line, print_safely, user_errors


def findings(
    code: Annotated[
        list[str] | None, typer.Argument(metavar="CODE", help="A code to explain; without one, all.")
    ] = None,
) -> None:
    """List what the data check can find, or explain a finding: what it means, what to do."""
    with user_errors():
        from ndcg_ab.report.terminal.finding_entries import print_codes, print_entry

        if not code:
            print_safely(print_codes)
        for place, each in enumerate(code or ()):
            if place:
                print_line("")
            print_safely(print_entry, each)


def pipeline() -> None:
    """Print the pipeline as Markdown: every SQL file, what it reads and what it holds, drawn with Mermaid."""
    with user_errors():
        from ndcg_ab.report.terminal.pipeline_graph import render_pipeline_page

        print(render_pipeline_page(), end="")


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    findings: "few_judged",
    pipeline: "> pipeline.md",
}
