"""The steps that pull what is read, as plain functions over the working folder; and what is told of them."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as papq

from ndcg_ab.config.model import Evaluation
from ndcg_ab.evaluation import pipeline
from ndcg_ab.evaluation.judging import judged_by
from ndcg_ab.files import write_text
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, pull, pull_queries, source_of
from ndcg_ab.sources.judgments import judgments_layout, named_judgments, pull_judged
from ndcg_ab.sources.scores import PULLED as SCORES
from ndcg_ab.sources.spilled import Keep
from ndcg_ab.visible import visible

from .inputs import (
    PULLED,
    SAID,
    Place,
    files_from,
    judgments_path,
    kept,
    memory_of,
    queries_from,
    read_kept,
    unless_known,
    whole_rankings,
)

Inputs = list[dict[str, Any]]


def pull_judgments(evaluation: Evaluation, folder: Path, anew: bool = False) -> dict[str, Any]:
    """anew: read even what has not changed."""
    return pull_judgments_at(evaluation, 0, folder, anew)


def pull_more(evaluation: Evaluation, name: str, folder: Path, anew: bool = False) -> dict[str, Any]:
    """name: one of `named_judgments`.  anew: read even what has not changed."""
    return pull_judgments_at(evaluation, named_judgments(evaluation).index(name), folder, anew)


def pull_judgments_at(evaluation: Evaluation, at: int, folder: Path, anew: bool) -> dict[str, Any]:
    source = evaluation.judgment_sources[at]
    return unless_known(
        evaluation,
        Place(source, judgments_layout(source), source.shown, "judgments", judgments_path(folder, at)),
        lambda: pull_judged(source, evaluation.directory),
        anew,
    )


def pull_cheap(evaluation: Evaluation, folder: Path, anew: bool = False) -> dict[str, Any]:
    """anew: read even what has not changed."""
    assert evaluation.cheap_judgments is not None
    source = evaluation.cheap_judgments.source
    return unless_known(
        evaluation,
        Place(source, JUDGMENT, source.shown, "cheap judgments", folder / PULLED / "cheap_judgments.parquet"),
        lambda: pull(source, JUDGMENT, evaluation.directory),
        anew,
    )


def judge_with_function(evaluation: Evaluation, folder: Path, anew: bool = False) -> dict[str, Any]:
    """What a function says of what was pulled: `input`, its row for the bundle, and how many answers were `known`.

    anew: answers of earlier runs do not count; those of this one do, if it is tried again.
    """
    assert evaluation.judge is not None
    mark = folder / PULLED / "asked_anew"
    if anew and not mark.exists():
        write_text(mark, repr(time.time()))
    since = float(mark.read_text(encoding="utf-8")) if anew else None
    files, queries = files_from(evaluation, folder), queries_from(evaluation, folder)
    with memory_of(evaluation, folder) as memory:
        rankings = whole_rankings(evaluation, folder, memory)
        found, known = judged_by(evaluation.judge, evaluation, files, queries, rankings, tell, since)
    return {"input": kept(found, evaluation.judge.shown, "judgments", folder / PULLED / SAID), "known": known}


def tell(text: str) -> None:
    """What is told while a function judges, which may take a night."""
    print(visible(f"ndcg-ab: {text}"), file=sys.stderr)


def answers_told(found: Mapping[str, Any]) -> str:
    """How many grades a function gave, and how many answers it was not asked for."""
    return f"{found['input']['rows']:,} grades ({found['known']:,} answers known)"


def pull_named_queries(evaluation: Evaluation, folder: Path) -> Inputs:
    """One row where a file names the queries, and one where a file names those that a change was meant for."""
    queries = pull_queries(evaluation)
    found = []
    if queries.pulled is not None and evaluation.queries is not None:
        path = folder / PULLED / "queries.parquet"
        found.append(kept(queries.pulled, evaluation.queries.source.shown, "queries", path))
    if queries.intended is not None and evaluation.intended is not None:
        path = folder / PULLED / "intended.parquet"
        found.append(kept(queries.intended, evaluation.intended.shown, "intended", path))
    return found


def pull_ranking(evaluation: Evaluation, name: str, folder: Path, anew: bool = False) -> dict[str, Any]:
    """anew: read even what has not changed."""
    at, system = next((at, each) for at, each in enumerate(evaluation.systems) if each.name == name)
    queries = queries_from(evaluation, folder) if system.source.needs_queries else Queries()
    source, path = system.source, folder / PULLED / f"ranking{at}.parquet"

    def read() -> Pulled:
        pulled = pull(
            source,
            RANKING,
            evaluation.directory,
            queries.texts,
            attributes=pipeline.attributes_for(source, queries),
            folder=folder / PULLED / f"answers{at}",
            keep=None if memory.limit is None else Keep(path, memory),
        )
        if pulled.documents is not None:
            papq.write_table(pulled.documents, folder / PULLED / f"documents{at}.parquet", compression="zstd")
        return pulled

    with memory_of(evaluation, folder) as memory:
        return unless_known(evaluation, Place(source, RANKING, name, "ranking", path, system.version), read, anew)


def pull_scores(evaluation: Evaluation, name: str, folder: Path) -> dict[str, Any]:
    place = named_scores(evaluation).index(name)
    described = evaluation.scores[place]
    pulled = pull(described, SCORES, evaluation.directory)
    return kept(pulled, described.shown, "scores", folder / PULLED / f"scores{place}.parquet")


def named_scores(evaluation: Evaluation) -> list[str]:
    """What the places of scores are called: by their systems or files, with a number where a name comes again."""
    names = [each.shown for each in evaluation.scores]
    return [
        name if names.count(name) == 1 else f"{name} {names[: at + 1].count(name)}" for at, name in enumerate(names)
    ]


def scores_from(evaluation: Evaluation, folder: Path) -> list[Pulled]:
    """The scores of another tool as they were pulled."""
    return [
        Pulled(
            read_kept(folder / PULLED / f"scores{place}.parquet", SCORES),
            SCORES,
            source_of(each, evaluation.directory),
        )
        for place, each in enumerate(evaluation.scores)
    ]


def unchanged(found: Mapping[str, Any]) -> str | None:
    """Since when an input is known that was not read again."""
    if found["read"] is None:
        return None
    return f"unchanged since {found['read'][:10]}, {results_text(found['rows'], found['kind'])} not read again"


def results_text(rows: int, kind: str) -> str:
    word = "result" if kind == "ranking" else "judgment"
    return f"{rows:,} {word}{'s' * (rows != 1)}"
