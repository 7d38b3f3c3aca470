"""What several judges say: a line where they disagree on a verdict, and tables of how far they agree."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from ndcg_ab.report.terminal.grid import Grid, Row, print_dimmed
from ndcg_ab.results.judge_records import JudgeNoise, Judges, UnderJudge
from ndcg_ab.results.numbers import format_percent, format_plain, format_probability, format_range, signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import queries_text

SHOWN_PAIRS = 10  # pairs of judges in the terminal; the JSON has all
MOST_NAMED = 4  # judges that a line names


def format_judges_line(outcome: Outcome) -> str | None:
    """``judges disagree on new, ndcg@10: improved under ann (60 queries), …``; None where they agree."""
    if outcome.judges is None:
        return None
    told = []
    for rows in group_by_comparison(outcome.judges):
        if len({row.conclusion for row in rows}) > 1:
            each = [
                f"{row.conclusion.words} under {judge_name(row.judge)} ({queries_text(row.queries)})"
                for row in rows[:MOST_NAMED]
            ]
            more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
            told.append(f"{rows[0].candidate}, {rows[0].metric}: {', '.join(each)}{more}")
    return f"judges disagree on {'; '.join(told)}" if told else None


def group_by_comparison(judges: Judges) -> Iterator[list[UnderJudge]]:
    """The verdicts of each candidate on each metric."""
    for key in dict.fromkeys((row.metric, row.candidate) for row in judges.verdicts):
        yield [row for row in judges.verdicts if (row.metric, row.candidate) == key]


def judge_name(judge: str) -> str:
    return judge or "no name"


def format_agreement(judges: Judges) -> str:
    """How far they agree, in a sentence."""
    count = len(judges.judges)
    told = f"{count} judges; several judged {judges.several:,} documents, and disagree on {judges.disagreed:,}"
    return f"{told}; Krippendorff's alpha {format_plain(judges.alpha)} (of ordinal grades)"


def format_noise(row: JudgeNoise) -> str:
    """What a judge drawn for each document does to a difference, in a sentence."""
    return (
        f"{row.candidate}, {row.metric}: with a judge drawn for each document the difference is {signed(row.mean)} ±"
        f" {row.sd:.4f} (standard deviation; {signed(row.lowest)} to {signed(row.highest)} in {row.draws} draws), of"
        f" the other sign in {format_percent(row.turned)}"
    )


def print_judges(console: Console, outcome: Outcome) -> None:
    """Tables of the agreement and of the verdicts under each judge; nothing where there are not several."""
    judges = outcome.judges
    if judges is None:
        return
    rows = [Row([judge_name(each.name)], [f"{each.documents:,}", f"{each.queries:,}"]) for each in judges.judges]
    Grid(["judge"], ["documents", "queries"], rows).print(console, Text(format_agreement(judges)))
    pairs = [
        Row(
            [judge_name(pair.first), judge_name(pair.second)],
            [f"{pair.shared:,}", format_percent(pair.same), format_plain(pair.kappa)],
        )
        for pair in judges.pairs[:SHOWN_PAIRS]
    ]
    title = Text("two judges on the documents of both")
    Grid(["judge", "and"], ["documents", "same grade", "kappa"], pairs).print(console, title)
    verdicts = [
        Row(
            [row.candidate, row.metric, judge_name(row.judge)],
            [
                str(row.queries),
                signed(row.difference),
                format_range(row.low, row.high),
                format_probability(row.p_adjusted),
            ],
            Text(row.verdict),
        )
        for found in group_by_comparison(judges)
        for row in found
    ]
    head = ["queries", "difference", "interval", "adjusted p"]
    Grid(["system", "metric", "judge"], head, verdicts).print(console, Text("under each judge alone"))
    for noise in judges.noise:
        print_dimmed(console, format_noise(noise))
    console.print()
