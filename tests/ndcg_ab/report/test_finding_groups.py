"""Sentences that merge the findings of several systems say nothing that is true of no system."""

import dataclasses
import random
import re
from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.report.doubts import NAMED, SHORT, finding_lines
from ndcg_ab.results.outcome import Finding

COUNTED = ("unjudged_query", "unanswered_query", "repeated_rank", "duplicate_document")
JUDGMENTS = {f"q{at}": {"a": 1, "b": 0} for at in range(4)}


@pytest.fixture(scope="module")
def compared() -> ndcg_ab.CompareResult:
    """The first system answers the queries 0, 1 and 2, the second one 0, 1 and 3."""
    one, two = ({f"q{at}": {"a": 2.0} for at in there} for there in ((0, 1, 2), (0, 1, 3)))
    return ndcg_ab.compare(JUDGMENTS, {"one": one, "two": two})


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("code", COUNTED)
def test_every_claim_is_true_of_each_system_that_it_is_about(
    code: str, seed: int, compared: ndcg_ab.CompareResult
) -> None:
    chance = random.Random(seed)
    names = [f"s{at}" for at in range(chance.choice((2, 3, 9)))]
    counts = {name: chance.choice((1, 1, 2, 700)) for name in names if chance.random() < 0.8}
    if len(counts) < 2:
        counts = dict.fromkeys(names, chance.choice((1, 2)))
    found = tuple(Finding(code, "warning", "alone", count, name) for name, count in counts.items())
    outcome = compared._outcome
    systems = tuple(dataclasses.replace(outcome.systems[0], system_id=name) for name in names)
    (line,) = finding_lines(dataclasses.replace(outcome, findings=found, systems=systems))
    if each := re.fullmatch(r"each of (\d+) systems (?:answers|returns|repeats|holds) \D*(\d+) (.*)", line.text):
        assert int(each[1]) == len(names) == len(counts) and set(counts.values()) == {int(each[2])}
        assert (int(each[2]) == 1) == (re.search("queries|documents", each[3]) is None)
        return
    several = r"(\d+) of (\d+) systems (?:answer|return|repeat|hold) [^:]*: (.*?)(?: and (\d+) more)?"
    some = re.fullmatch(several, line.text)
    assert some and (int(some[1]), int(some[2])) == (len(counts), len(names))
    told = {name: int(count) for name, count in (part.split() for part in some[3].split(", "))}
    assert told.items() <= counts.items() and len(told) == min(len(counts), NAMED)
    assert int(some[4] or 0) == len(counts) - len(told)


def test_every_code_whose_counts_are_merged_is_here() -> None:
    assert {*SHORT} == {*COUNTED, "few_judged", "tied_places", "rank_disagrees"}  # the last is a doubt


@pytest.mark.slow
def test_repeated_ranks_are_counted_in_queries(tmp_path: Path) -> None:
    """With scores and without: a sentence over both systems has one unit."""
    rows = [(query, document) for query in JUDGMENTS for document in "abc"]
    scored = "".join(f"{query} Q0 {document} 1 {9 - ord(document) % 9} t\n" for query, document in rows)
    (tmp_path / "scored.run").write_text(scored)
    ranked = "".join(f"{query},{document},1\n" for query, document in rows)
    (tmp_path / "ranked.csv").write_text(f"query_id,doc_id,rank\n{ranked}")
    found = ndcg_ab.compare(JUDGMENTS, {name: tmp_path / name for name in ("scored.run", "ranked.csv")})._outcome
    assert [each.count for each in found.findings if each.code == "repeated_rank"] == [4, 4]
    assert "each of 2 systems repeats ranks in 4 queries" in [line.text for line in finding_lines(found)]
