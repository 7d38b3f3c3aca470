"""The commands about ndcg-ab itself: pipeline."""

from collections.abc import Callable

from .console import user_errors


def pipeline() -> None:
    """Print the pipeline as Markdown: every SQL file, what it reads and what it holds, drawn with Mermaid."""
    with user_errors():
        from ndcg_ab.report.pipeline_graph import pipeline_page

        print(pipeline_page(), end="")


COMMANDS: dict[Callable[..., None], str] = {pipeline: "> pipeline.md"}  # each with an example of its options
