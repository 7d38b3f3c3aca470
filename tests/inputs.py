"""Judgments and rankings as files in TREC format, and evaluations of them, as small tests need them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.evaluation import Evaluation

Grades = Mapping[str, Mapping[str, object]]
Ranking = Mapping[str, Iterable[str] | Mapping[str, float]]


def write_judgments(path: Path, grades: Grades) -> Path:
    """Write the grade of each document by query, and return the path."""
    lines = [f"{query} 0 {doc} {grade}\n" for query, judged in grades.items() for doc, grade in judged.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_rankings(folder: Path, rankings: Mapping[str, Ranking]) -> Path:
    """Write a file NAME.run for each system, and return the folder.

    rankings: name -> query -> scores of documents in the order of their ranks, or documents alone, best first.
    """
    for name, ranking in rankings.items():
        lines = [
            f"{query} Q0 {doc} {rank} {docs[doc] if isinstance(docs, Mapping) else 1000 - rank} {name}\n"
            for query, docs in ranking.items()
            for rank, doc in enumerate(docs, start=1)
        ]
        (folder / f"{name}.run").write_text("".join(lines), encoding="utf-8")
    return folder


def write_evaluation(folder: Path, grades: Grades, rankings: Mapping[str, Ranking], **keys: Any) -> Evaluation:
    """Write judgments and rankings to a folder, and return an evaluation of them with further keys."""
    write_judgments(folder / "qrels", grades)
    write_rankings(folder, rankings)
    systems = [{"name": name, "file": f"{name}.run"} for name in rankings]
    content: dict[str, Any] = {"name": "small", "directory": folder, "judgments": {"file": "qrels"}, "systems": systems}
    return Evaluation.model_validate(content | {"statistics": {"resamples": 100}} | keys)
