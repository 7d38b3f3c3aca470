"""Judgments and rankings as files in TREC format, as small tests need them."""

from collections.abc import Iterable, Mapping
from pathlib import Path


def write_judgments(path: Path, grades: Mapping[str, Mapping[str, object]]) -> Path:
    """Write the grade of each document by query, and return the path."""
    lines = [f"{query} 0 {doc} {grade}\n" for query, judged in grades.items() for doc, grade in judged.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_rankings(folder: Path, rankings: Mapping[str, Mapping[str, Iterable[str]]]) -> Path:
    """Write a file NAME.run for each system with the documents of each query, best first, and return the folder."""
    for name, ranking in rankings.items():
        lines = [
            f"{query} Q0 {doc} {rank} {1000 - rank} {name}\n"
            for query, docs in ranking.items()
            for rank, doc in enumerate(docs, start=1)
        ]
        (folder / f"{name}.run").write_text("".join(lines), encoding="utf-8")
    return folder
