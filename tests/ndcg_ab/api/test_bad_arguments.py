"""Bad input: one sentence that names the argument, the row or key, the value and the rule."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ndcg_ab
from tests.ndcg_ab.api.frames import JUDGMENTS, QUERIES, SYSTEMS
from tests.sentences import refusal_text

NAN = float("nan")
J = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "grade": [1, 0, 2]})
R = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "score": [2.5, 1.5, 0.5]})
CONTENT = {"name": "n", "judgments": JUDGMENTS, "systems": [{"name": "old", "file": SYSTEMS["old"]}]}
SCORES = {"q1": {"a": 2.5, "b": 1.5}, "q2": {"a": 0.5}}
FORMS = "must be a path, a table of a library that speaks Arrow (pandas, polars, pyarrow, DuckDB), a list of objects"


class Run:
    """An object of another library whose dictionary cannot be had."""

    def to_dict(self) -> dict[str, dict[str, float]]:
        raise RuntimeError("not yet")


# what `new` is beside good judgments and a good ranking `old` -> the sentence, or how it begins
RANKINGS: dict[str, tuple[Any, str]] = {
    "a score missing": (R.assign(score=[1, NAN, 2]), "systems['new'], row 2: score is missing: every row needs one"),
    "a document twice": (
        pd.concat([R, R.iloc[:1]]),
        "systems['new'], rows 1 and 4: document 'a' is 2 times in the ranking of query 'q1' by system new: a"
        " ranking holds a document once (1 such in it)",
    ),
    "fractions for ids": (
        R.assign(query_id=[1.5, 2, 3]),
        "systems['new']: column 'query_id' is of type double: query_id must be text or a whole number;"
        " in pandas: ['query_id'].astype(\"Int64\").astype(str)",
    ),
    "texts and numbers": (
        R.assign(doc_id=["a", 1, "b"]),
        "systems['new']: its pandas.DataFrame cannot be read as an Arrow table: Expected bytes, got a 'int' object",
    ),
    "no row": (R.iloc[:0], "systems['new']: there is no ranking in it"),
    "nothing": (None, f"systems['new']: None: {FORMS}"),
    "an object without a document": (
        [*R.to_dict("records"), {"query_id": "q1", "score": 1}],
        "systems['new'], entry 4: there is no column 'doc_id' for doc_id (columns: query_id, score); say columns=",
    ),
    "a document twice in pairs": (
        {"q1": [("a", 1.5), ("b", 1.0), ("a", 0.5)]},
        "systems['new']: document 'a' is 2 times in the ranking of query 'q1' by system new: a ranking holds a",
    ),
    "a run of another library": (Run(), "systems['new']: cannot be read: RuntimeError: not yet"),
    "a lazy frame": (pl.LazyFrame({"a": [1]}), f"systems['new']: is of type polars.LazyFrame: {FORMS}"),
    "None in dictionaries": (
        {"q1": {"a": 1.0, "b": None}},
        "systems['new'], query 'q1', document 'b': score is missing: every row needs one",
    ),
    "texts in dictionaries": (
        {"q1": {"a": "high"}},
        "systems['new']: this looks like judgments (judgments {query: {document: grade}}), and a ranking is needed",
    ),
    "yes in dictionaries": (
        {"q1": {"a": 1.0, "b": 0.5, "c": True}},
        "systems['new'], query 'q1', document 'c': score = True: must be a number",
    ),
    "an empty key": ({"q1": {"": 1}}, "systems['new'], query 'q1', document '': doc_id is empty: every row needs one"),
    "a key that is a fraction": (
        {"q1": {1.5: 1}},
        "systems['new'], query 'q1', document 1.5: doc_id = 1.5: must be text or a whole number",
    ),
    "half a letter": (
        {"q1": {"\ud800": 1}},
        r"systems['new'], query 'q1', document '\ud800': doc_id = '\ud800': must be text that",
    ),
    "two keys of one text": (
        {1: {"a": 1.0}, "1": {"b": 1.0}},
        "systems['new']: query_id 1 and '1' are the same text: a query is one",
    ),
}
# judgments -> the sentence, or how it begins
JUDGED: dict[str, tuple[Any, str]] = {
    "every grade missing": (J.assign(grade=[None, None, None]), "judgments: there is no judgment in it"),
    "no grade": (
        J.rename(columns={"grade": "grades"}),
        "judgments: there is no column 'grade' for grade (columns: query_id, doc_id, grades); say"
        " judgments_columns={'grade': 'grades'}",
    ),
    "columns as lists": (
        {"query_id": ["q1"]},
        "judgments: this looks like a ranking (ranking with the hits of each query, or {query: [documents]}), and"
        " judgments are needed: are judgments and ranking swapped?",
    ),
    "paths": (["a.qrels"], "judgments, entry 1: 'a.qrels': every entry of the list must be an object"),
}
# arguments beside good judgments and systems -> the sentence, or how it begins
ARGUMENTS: dict[str, tuple[Mapping[str, Any], str]] = {
    "tables without names": ({"systems": [R, R]}, "systems: is of type list: must map every system's name"),
    "systems in a table": ({"systems": R}, "systems: is of type pandas.DataFrame: must map every system's name"),
    "scores beside rankings": (
        {"scores": {"new": SCORES}},
        "judgments: goes with rankings, and scores hold none",
    ),
    "a word among more judgments": ({"more_judgments": {"q1": {"b": "two"}}}, "more_judgments[0]"),
    "no system": ({"systems": {}}, "systems: is empty: at least one system is needed"),
    "a number for a name": ({"systems": {3: R}}, "systems = 3: must be text"),
    "a number for a metric": ({"metrics": 10}, "metrics = 10: must be one, or a list of them"),
    "no metric": ({"metrics": []}, "metrics: must have at least one entry"),
    "resamples": ({"resamples": np.int64(9)}, "resamples = 9: must be 100 or more"),
    "smallest_effect": ({"smallest_effect": 0}, "smallest_effect = 0: 0: must be a number above 0"),
    "guardrails": ({"guardrails": ["rr"]}, "guardrails = ['rr']: must be a mapping"),
    "two metrics in one": ({"metrics": "ndcg@10,rr"}, "metrics: metric 'ndcg@10,rr': names 2 metrics, ndcg@10 and rr"),
    "a guardrail": ({"guardrails": {"rr": -1}}, "guardrails: rr: -1: must be a number above 0"),
    "no such attribute": (
        {"queries": {"q1": {"language": "en"}}, "slices": "langauge"},
        "queries: there is no column 'langauge' to slice by (columns: language); did you mean 'language'?",
    ),
    "a query that is a number": ({"queries": {"q1": 3}}, "queries['q1'] = 3: must be the query's text, or map columns"),
    "a weight of 0": ({"queries": {"q1": {"weight": 0}, "q2": {"weight": 1}}}, "queries: query 'q1': weight = 0: must"),
    "few weights": ({"queries": {"q1": {"weight": 1}}}, "queries: 1 judged query has no weight (such as 'q2')"),
    "no such column": (
        {"columns": {"score": "s"}},
        "systems['old']: there is no column 's' for score (columns: query_id, doc_id, score)",
    ),
    "no such field": ({"judgments_columns": {"grad": "x"}}, "judgments: columns: 'grad' is no field of a judgment"),
    "columns of dictionaries": (
        {"systems": {"old": SCORES}, "columns": {"score": "s"}},
        "columns = {'score': 's'}: names columns of files and tables, and there is none of them",
    ),
    "a format of tables": ({"format": "csv"}, "format = 'csv': is of files, and no system is given as one"),
    "a format of a table": ({"judgments_format": "csv"}, "judgments_format = 'csv': is of a file, and judgments is"),
}
# how another function is called -> the sentence, or how it begins
OTHERS: dict[str, tuple[str, Mapping[str, Any], str]] = {
    "explain nothing": ("explain", {"query": "q"}, "systems, ranking: neither is given; exactly one of them is needed"),
    "explain a query unjudged": (
        "explain",
        {"ranking": SYSTEMS["new"], "query": "psta"},
        f"query 'psta': has no judgments in {JUDGMENTS}; did you mean 'pasta'?",
    ),
    "explain a bad ranking": (
        "explain",
        {"ranking": {"q": 1}, "query": "tofu"},
        "ranking: {'q': 1} has no form that is known",
    ),
    "explain a fraction": ("explain", {"ranking": SYSTEMS["new"], "query": 1.5}, "query: query_id = 1.5: must be text"),
    "power of nothing": ("power", {}, "deviation, scores: neither is given; exactly one of them is needed"),
    "power of text": ("power", {"deviation": "0.1"}, "deviation = '0.1': must be a number"),
    "power below 0": ("power", {"deviation": -1}, "deviation -1: must be from 0 to 1e+100, in the metric's unit"),
    "half a query": ("power", {"deviation": 0.1, "queries": [1.5]}, "queries = 1.5: must be a whole number"),
    "power of dictionaries": ("power", {"scores": SCORES}, "scores: must be what compare() returned, or a table of"),
    "power of a ranking": ("power", {"scores": R}, "scores: there is no column 'system_id' for system_id (columns"),
    "no such configuration": ("evaluate", {"config": "c.yaml"}, "c.yaml: there is no such configuration file"),
    "no configuration": ("evaluate", {"config": 3}, "config: 3: must be the path of a YAML file, its content, or an"),
    "a bad configuration": ("evaluate", {"config": {**CONTENT, "metrcs": []}}, "key 'metrcs' is unknown; did you"),
}


def refused(function: str, arguments: Mapping[str, Any], sentence: str) -> str:
    message = refusal_text(getattr(ndcg_ab, function), **arguments)
    assert message.startswith(sentence)
    return message


OF_COMPARE: dict[str, tuple[Mapping[str, Any], str]] = {
    **{case: ({"systems": {"old": R, "new": data}}, sentence) for case, (data, sentence) in RANKINGS.items()},
    **{case: ({"judgments": data}, sentence) for case, (data, sentence) in JUDGED.items()},
    **ARGUMENTS,
}


@pytest.mark.parametrize("case", OF_COMPARE)
def test_a_bad_argument_of_compare(case: str) -> None:
    arguments, sentence = OF_COMPARE[case]
    refused("compare", {"judgments": J, "systems": {"old": R}, **arguments}, sentence)


@pytest.mark.parametrize("case", OTHERS)
def test_another_function(case: str) -> None:
    function, arguments, sentence = OTHERS[case]
    refused(function, {"judgments": JUDGMENTS, **arguments} if function == "explain" else arguments, sentence)


def test_hints_at_what_would_do() -> None:
    lazy = {"judgments": J, "systems": {"a": pl.LazyFrame({"a": [1]})}}
    assert refused("compare", lazy, "").endswith("collect() it first")


@pytest.mark.slow
def test_a_candidate_that_is_not_there() -> None:
    result = ndcg_ab.compare(JUDGMENTS, SYSTEMS, queries=QUERIES)
    for arguments, sentence in (
        ({"candidate": "nwe"}, "candidate = 'nwe': is not compared (there: new); did you mean 'new'?"),
        ({"metric": "ndcg@5"}, "metric = 'ndcg@5': is not compared (there: ndcg@10); did you mean 'ndcg@10'?"),
    ):
        assert refusal_text(result.comparison, **arguments) == sentence
    with pytest.raises(ndcg_ab.InputError, match="'old' is the only system"):
        ndcg_ab.compare(J, {"old": R}).comparison()


@pytest.mark.slow
def test_weights_are_not_forgotten() -> None:
    """A plan from a weighted comparison without its weights would be for another one."""
    weighted = ndcg_ab.compare(JUDGMENTS, SYSTEMS, queries=QUERIES)
    refused("power", {"scores": weighted}, "weights: is missing: the comparison was weighted")
    assert ndcg_ab.power(weighted, weights=QUERIES).plans[0].effective_queries is not None
    assert ndcg_ab.power(ndcg_ab.compare(JUDGMENTS, SYSTEMS)).plans[0].effective_queries is None
