"""The pipeline drawn from the headers of its SQL files: every table, what it reads, what it holds."""

from collections.abc import Iterator, Sequence

from ndcg_ab.engines.sql_files import CLICKS, SqlFile, read_header, sql_files

INTRODUCTION = (
    "Made by `make docs` from the headers of the files in `sql/`; `ndcg-ab pipeline` prints it. A file is one select",
    "and makes one table of its name. The engine builds what is asked for, with all that it reads, in the order of",
    "the numbers. Round boxes come from outside; dashed ones are queries, which are run when they are read and leave",
    "no table.",
    "",
)
STAGES = {  # the hundreds of the file numbers
    0: ("load", "what was pulled, in tables of one shape"),
    1: ("check", "what makes scores meaningless, or is worth knowing before they are believed"),
    2: ("rank", "results in the order that each metric asks for"),
    3: ("grade", "grades and gains at the ranks"),
    4: ("score", "sums, ideals, and the value of every query"),
    5: ("pair", "systems side by side, query by query"),
    6: ("diagnose", "how far a value depends on ties, on ranks, on what a metric counts"),
    7: ("show", "what reports read"),
    8: ("clicks", "judgments from clicks (docs/clicks.md), before anything is loaded"),
    9: ("history", "what is asked of past evaluations"),
}


def render_pipeline_page() -> str:
    """The whole page, as Markdown with Mermaid."""
    return "\n".join(page_lines()) + "\n"


def page_lines() -> Iterator[str]:
    files = list(sql_files().values())
    yield "# The pipeline"
    yield ""
    yield from INTRODUCTION
    yield from overview_lines(files)
    for number, (stage, about) in STAGES.items():
        members = [file for file in files if file.number // 100 == number]
        yield from ("", f"## {stage.capitalize()}", "", f"{about[0].upper()}{about[1:]}.", "")
        yield from graph_lines(members)
        yield from ("", "| file | what it holds | one row per |", "|---|---|---|")
        yield from (format_row(file) for file in members)


def overview_lines(files: Sequence[SqlFile]) -> Iterator[str]:
    """The stages, and which needs which; an arrow that a longer way says already is left out."""
    stage_of = {file.name: file.number // 100 for file in files if file.number < CLICKS}
    needs: dict[int, set[int]] = {stage: set() for stage in stage_of.values()}
    for file in files:
        if file.name in stage_of:
            needs[stage_of[file.name]] |= {stage_of[read] for read in file.reads if read in stage_of}
    yield from ("```mermaid", "flowchart LR")
    for stage, earlier in needs.items():
        earlier -= {stage}
        longer = {first for second in earlier for first in reachable_stages(needs, second)}
        yield from (f"    {STAGES[first][0]} --> {STAGES[stage][0]}" for first in sorted(earlier - longer))
    yield "```"


def reachable_stages(needs: dict[int, set[int]], stage: int) -> set[int]:
    """The stages that a stage needs, directly or through others."""
    direct = needs[stage] - {stage}
    return direct | {first for second in direct for first in reachable_stages(needs, second)}


def graph_lines(members: Sequence[SqlFile]) -> Iterator[str]:
    """The tables of one stage, and those that they read."""
    own = {file.name for file in members}
    outside = sorted({read for file in members for read in file.reads} - own)
    yield from ("```mermaid", "flowchart LR")
    yield from (f"    {read}([{read}])" for read in outside)
    yield from (f"    {file.name}[{file.name}]" for file in members)
    yield from (f"    {read} --> {file.name}" for file in members for read in file.reads)
    queries = ",".join(file.name for file in members if file.kind == "query")
    if queries:
        yield "    classDef query stroke-dasharray: 4 3"
        yield f"    class {queries} query"
    yield "```"


def format_row(file: SqlFile) -> str:
    first = file.text.splitlines()[0].removeprefix(f"-- {file.name}: ")
    grain = read_header(file.text)["grain"].removeprefix("one row per ")
    return f"| [`{file.path.name}`](../{file.shown}) | {first.replace('|', chr(92) + '|')} | {grain} |"
