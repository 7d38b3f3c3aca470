"""Values per query of other tools: every format that they write, and everything that is refused."""

from pathlib import Path

import pyarrow as pa
import pytest

from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import ScoresSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources import pull_source
from ndcg_ab.sources.external_scores import PULLED
from tests.cases import read_cases
from tests.inputs import write_table
from tests.paths import shared

VALUES = {("a", "1", "map"): 0.5, ("a", "2", "map"): 0.25, ("b", "1", "map"): 1.0, ("b", "2", "map"): 0.0}
OF_A = {key: value for key, value in VALUES.items() if key[0] == "a"}
NAMES = ("system_id", "query_id", "metric", "value")
TREC_EVAL = "map                   \t1\t0.5000\nmap                   \t2\t0.2500\n"
ALL = "runid                 \tall\tx\nmap                   \tall\t0.3750\n"
MEANS = {("a", "all", "map"): 0.375}


def read(path: Path, text: str, **keys: object) -> tuple[dict, dict]:
    """The values, and the means that the file gives."""
    path.write_text(text, encoding="utf-8")
    return parts(ScoresSource(file=path, **keys))


def parts(source: ScoresSource) -> tuple[dict, dict]:
    rows = pull_source(source, PULLED, Path()).table.to_pylist()
    found: tuple[dict, dict] = ({}, {})
    for row in rows:
        found[row["is_mean"]][row["system_id"], row["query_id"], row["metric"]] = row["value"]
    return found


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.parquet"])
def test_tables_name_their_systems(name: str, tmp_path: Path) -> None:
    rows = [dict(zip(NAMES, (*key, value), strict=True)) for key, value in VALUES.items()]
    assert parts(ScoresSource(file=write_table(tmp_path / name, rows))) == (VALUES, {})


@pytest.mark.parametrize(
    ("name", "text", "means"),
    [
        ("trec_eval.txt", TREC_EVAL + ALL, MEANS),
        ("without.all", TREC_EVAL, {}),
        ("ir_measures.tsv", "1\tmap\t0.5\n2\tmap\t0.25\nall\tmap\t0.375\n", MEANS),
        ("pytrec_eval.json", '{"1": {"map": 0.5},\n "2": {"map": 0.25}}', {}),
        ("records.jsonl", '{"query_id": "1", "measure": "map", "value": 0.5}\n'
         '{"query_id": "2", "measure": "map", "value": 0.25}\n', {}),
        ("one.csv", "query_id,metric,value\n1,map,0.5\n2,map,0.25\n", {}),
    ],
)  # fmt: skip
def test_files_of_one_system_are_given_its_name(name: str, text: str, means: dict, tmp_path: Path) -> None:
    assert read(tmp_path / name, text, system="a") == (OF_A, means)


def test_ir_measures_is_told_by_the_names_of_its_measures(tmp_path: Path) -> None:
    found, _ = read(tmp_path / "x", "map\tnDCG@10\t0.5\n17\tAP(rel=2)\t0.25\n", system="a")
    assert found == {("a", "map", "ndcg@10"): 0.5, ("a", "17", "ap(relevant_from=2)"): 0.25}


def test_in_memory_they_are_tables_or_what_pytrec_eval_gives() -> None:
    table = pa.table({"query_id": ["1", "2"], "metric": ["map"] * 2, "value": [0.5, 0.25]})
    for data in ({"1": {"map": 0.5}, "2": {"map": 0.25}}, table):
        assert parts(ScoresSource(file=in_memory_file("scores['a']", data), system="a")) == (OF_A, {})
    file = in_memory_file("scores", pa.table({"query_id": ["1"], "a": [0.5], "b": [1.0]}))
    assert parts(ScoresSource(file=file)) == ({("a", "1", "value"): 0.5, ("b", "1", "value"): 1.0}, {})


COLUMN_OF_A = "query_id,map\n1,0.5\n2,0.25\n"


@pytest.mark.parametrize(
    ("text", "system", "expected"),
    [
        ("query_id,a,b\n1,0.5,1\n2,0.25,0\n", None, {(*key[:2], "value"): value for key, value in VALUES.items()}),
        ("system,qid,map\na,1,0.5\na,2,0.25\nb,1,1\nb,2,0\n", None, VALUES),
        (COLUMN_OF_A, "a", OF_A),
        ("qid\tvalue\n1\t0.5\n2\t0.25\n", "a", {(*key[:2], "value"): value for key, value in OF_A.items()}),
        ("query,map,ndcg@10\n1,0.5,1\n", "a", {("a", "1", "map"): 0.5, ("a", "1", "ndcg@10"): 1.0}),
    ],
)
def test_a_column_for_each_system_or_metric(text: str, system: str | None, expected: dict, tmp_path: Path) -> None:
    assert read(tmp_path / "x", text, system=system) == (expected, {})


CASES = shared().parent / "cases" / "forms" if shared() is not None else Path("none")  # type: ignore[union-attr]


@pytest.mark.skipif(not CASES.is_dir(), reason="the published cases are not here (NDCG_AB_DATA)")
def test_the_published_cases_hold_the_same_values() -> None:
    of_a, means = parts(ScoresSource(file=CASES / "s_a.eval", system="a"))
    of_b, _ = parts(ScoresSource(file=CASES / "s_b_one_metric.csv", system="b"))
    wide, _ = parts(ScoresSource(file=CASES / "s_wide.csv"))
    both = {(system, query, "value"): value for (system, query, _), value in (of_a | of_b).items()}
    assert wide == pytest.approx(both, abs=1e-6)
    assert [*means.values()] == [0.815601]


TABLES = read_cases("external_scores")
REFUSED = TABLES["REFUSED"]


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_says_where(what: str, tmp_path: Path) -> None:
    name, text, system, sentence = REFUSED[what]
    with pytest.raises(InputError, match=sentence) as error:
        read(tmp_path / name, text, system=system)
    assert str(tmp_path / name) in str(error.value)
    assert "\n" not in str(error.value)
