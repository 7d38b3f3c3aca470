"""What a document is: chunks, copies and the query's own document, against the plain definition of each."""

import random
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab import thresholds
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.memory import Memory
from ndcg_ab.sources.tables.document_rules import DocumentRules, apply_rules, apply_rules_to_piece, match_texts
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableOnDisk, TableWriter
from ndcg_ab.sources.tables.schema import RANKING
from tests.inputs import write_rankings
from tests.small_evaluation import small

Row = tuple[str, str, float | None, int | None]
JUDGED = {str(at): {"a": 3, "b": 0, "c": 2, "d": 1} for at in range(6)}
PLAIN = {
    "old": {query: {"b": 4.0, "a": 3.0, "c": 2.0, "d": 1.0} for query in JUDGED},
    "new": {query: {"a": 4.0, "c": 3.0, "b": 2.0, "d": 1.0} for query in JUDGED},
}


def by_definition(rows: list[Row], rules: DocumentRules) -> list[Row]:
    """The rows that stay, best first in each query, by a loop over them."""
    best_first = sorted(rows, key=lambda row: (row[0], -row[2] if row[2] is not None else row[3] or 0))
    taken: dict[tuple[str, str], str] = {}
    found = []
    for query, doc, score, rank in best_first:
        cut = (doc.partition(rules.prefix)[0] or doc) if rules.prefix else doc
        if rules.drops_own and cut == query:
            continue
        first = taken.setdefault((query, cut), doc) if rules.prefix or rules.first else None
        is_first = first is None or (query, cut, "seen") not in taken
        taken[query, cut, "seen"] = ""  # type: ignore[index]
        if is_first or (first == doc and not rules.first):
            found.append((query, cut, score, rank))
    return found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("has_scores", [True, False])
def test_rows_by_definition(seed: int, has_scores: bool) -> None:
    rng = random.Random(seed)
    rules = DocumentRules(rng.choice([None, "#", "::"]), rng.random() < 0.5, rng.random() < 0.5)
    rows: list[Row] = []
    for query in "abc":
        number = rng.randrange(1, 9)
        ids = [rng.choice("abcd") + rng.choice(["", "#1", "#2#3", "::7"]) for _ in range(number)] + ["#lone"]
        values = rng.sample(range(1, 100), len(ids))
        rows += [
            (query, doc, float(-value) if has_scores else None, value) for doc, value in zip(ids, values, strict=True)
        ]
    rng.shuffle(rows)
    table = pa.table(list(map(list, zip(*rows, strict=True))), schema=RANKING.schema)
    counts = Counter[str]()
    found = apply_rules_to_piece(table, rules, counts).to_pylist()
    expected = by_definition(rows, rules)
    assert len(rows) - len(found) == counts["chunks"] + counts["copies"] + counts["own"]
    found.sort(key=lambda row: (row["query_id"], row["rank"]))
    assert [(row["query_id"], row["doc_id"], row["score"]) for row in found] == [row[:3] for row in expected]
    for query in "abc":
        ranks = [row["rank"] for row in found if row["query_id"] == query]
        least = min(row[3] or 0 for row in rows if row[0] == query)
        if len(found) < len(rows):
            assert ranks == list(range(least, least + len(ranks)))


def test_a_table_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "FILE_ROWS", 5)
    rows = [(str(at % 30), f"d{at // 60}#{at}", float(at), None) for at in range(600)]
    table = pa.table(list(map(list, zip(*rows, strict=True))), schema=RANKING.schema)
    writer = TableWriter(tmp_path / "r.parquet", Memory(None, tmp_path))
    stored = writer.write([table], RANKING.schema, lambda: {b"ndcg_ab.failed": b'["x"]'})
    assert isinstance(stored, TableOnDisk)
    found = apply_rules(stored, DocumentRules("#"), writer, "here")
    expected = apply_rules(table, DocumentRules("#"), IN_MEMORY, "here")
    assert found.path == stored.path
    keys = [("query_id", "ascending"), ("doc_id", "ascending")]
    assert (
        found.select(["query_id", "doc_id", "score"]).cast(expected.select([0, 1, 2]).schema).sort_by(keys).to_pylist()
        == expected.select([0, 1, 2]).sort_by(keys).to_pylist()
    )
    assert found.schema.metadata[b"ndcg_ab.failed"] == b'["x"]'
    assert b"document_chunk" in found.schema.metadata[b"ndcg_ab.remarks"]


def chunked(ranking: dict[str, dict[str, float]], sign: str = "#") -> dict[str, dict[str, float]]:
    """Each document as its chunks 1 and 2, the second a little worse."""
    return {
        query: {f"{doc}{sign}{at}": score - at / 10 for doc, score in docs.items() for at in (1, 2)}
        for query, docs in ranking.items()
    }


def left_out(result: ndcg_ab.CompareResult, reason: str) -> list[int]:
    return [
        each.count
        for row in result._outcome.ledger
        if row.stage == "ranking"
        for each in row.left_out
        if each.reason == reason
    ]


@pytest.mark.first_case
@pytest.mark.parametrize("in_files", [True, False])
def test_chunks_count_as_their_documents(in_files: bool, tmp_path: Path) -> None:
    chunks = {name: chunked(ranking) for name, ranking in PLAIN.items()}
    write_rankings(tmp_path, chunks)
    systems: Any = {name: str(tmp_path / f"{name}.run") for name in chunks} if in_files else chunks
    result = ndcg_ab.compare(JUDGED, systems, document_prefix="#", resamples=100)
    assert result.comparisons == ndcg_ab.compare(JUDGED, PLAIN, resamples=100).comparisons
    assert left_out(result, "chunks of the same document") == [24, 24]
    row = next(row for row in result._outcome.ledger if row.stage == "ranking")
    assert (row.read, row.used) == (48, 24)


@pytest.mark.first_case
@pytest.mark.parametrize("sign", ["#", "::", "_", "-"])
def test_chunks_that_do_not_meet_name_their_sign(sign: str) -> None:
    """The option that the message names makes them meet."""
    rankings = {name: chunked(ranking, sign) for name, ranking in PLAIN.items()}
    with pytest.raises(InputError) as caught:
        ndcg_ab.compare(JUDGED, rankings, resamples=100)
    found = re.findall(
        r"--document-prefix (\S+) \(in a configuration documents: \{prefix: '(.)'\}\)", str(caught.value)
    )
    assert [shlex.split(quoted) for quoted, _ in found] == [[sign[0]]] * 2
    result = ndcg_ab.compare(JUDGED, rankings, document_prefix=sign[0], resamples=100)
    assert not [each for each in result._outcome.findings if each.code == "id_spelling"]


def test_copies_are_refused_and_their_tags_named(tmp_path: Path) -> None:
    write_rankings(tmp_path, PLAIN)
    path = tmp_path / "old.run"
    path.write_text(path.read_text() + path.read_text().replace("old", "other"))
    remedy = "the file has the tags 'old' and 'other': if they are systems, give each a file; .* say --duplicates first"
    with pytest.raises(InputError, match=remedy):
        ndcg_ab.compare(JUDGED, {"old": str(path)})


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("options", "is_dropped"),
    [
        ({"own": "drop"}, True),
        ({"metrics": "ndcg(preset=beir)@10"}, True),
        ({"metrics": ["ndcg@10", "rr(preset=beir)"]}, True),
        ({"metrics": "ndcg(preset=beir)@10", "own": "keep"}, False),
        ({"metrics": "ndcg(preset=ranx)@10"}, False),
    ],
)
def test_own_document(options: dict[str, Any], is_dropped: bool) -> None:
    own = {name: {query: {query: 9.0, **docs} for query, docs in ranking.items()} for name, ranking in PLAIN.items()}
    result = ndcg_ab.compare(JUDGED, own, **options, resamples=100)
    assert left_out(result, "the query's own document") == [6, 6] * is_dropped
    warned = [each.count for each in result._outcome.findings if each.code == "own_document"]
    assert warned == [] if is_dropped else [6, 6]
    if is_dropped:
        expected = ndcg_ab.compare(JUDGED, PLAIN, metrics=options.get("metrics"), resamples=100)
        assert result.comparisons == expected.comparisons


def test_nothing_but_own_documents() -> None:
    with pytest.raises(InputError, match="no document is left: every row has the query's own id"):
        ndcg_ab.compare(JUDGED, {"old": {query: {query: 1.0} for query in JUDGED}}, own="drop")


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("metric", "added", "count"),
    [
        ("ndcg@10", {"None": 0.1}, 12),
        ("ndcg@10", {"NaN": 0.1}, 12),
        ("ndcg@10", {"filler": 0.1}, 12),
        ("ndcg@1", {"filler": 0.1}, 0),  # at a rank that the metric does not use
        ("ndcg@10", {"x": 0.1, "y": 0.2}, 0),
        ("ndcg@10", {}, 0),
    ],
)
def test_placeholders(metric: str, added: dict[str, float], count: int) -> None:
    judged = {str(at): {"a": 1} for at in range(12)}
    ranking = {query: {"a": 1.0, f"u{query}": 0.5} | added for query in judged}
    systems = {"old": ranking, "new": {query: {"a": 2.0} for query in judged}}
    result = ndcg_ab.compare(judged, systems, metrics=metric, resamples=100)
    found = [(each.system, each.count) for each in result._outcome.findings if each.code == "placeholder_document"]
    assert found == [("old", count)] * bool(count)


def test_the_keys_of_a_configuration(tmp_path: Path) -> None:
    evaluation = small(tmp_path, documents={"prefix": "#", "own": "drop"})
    again = Evaluation.model_validate(evaluation.model_dump())
    assert again.documents is not None
    assert (again.documents.file, again.documents.prefix, again.documents.own) == (None, "#", "drop")
    named = small(tmp_path, documents="documents.tsv", metrics=["ndcg(preset=beir)@10"])
    assert named.documents is not None
    assert (str(named.documents.file), named.documents.own) == ("documents.tsv", "drop")
    with pytest.raises(ValueError, match="file: missing; format, columns, parts and storage go with a file"):
        small(tmp_path, documents={"format": "tsv"})


# ---- tables that name queries by their texts meet those with ids, if a file of queries has both


TEXTS = {query_id: f"{query_id} red shoe" for query_id in JUDGED}


def by_text(table: dict[str, Any]) -> dict[str, Any]:
    return {TEXTS[query_id]: each for query_id, each in table.items()}


@pytest.mark.first_case
@pytest.mark.parametrize("memory_limit", [None, "1GB"])
def test_texts_have_the_ids(memory_limit: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast way through a plain file keeps what judged queries need, which it would not know by their texts."""
    if memory_limit:
        monkeypatch.setattr(thresholds, "FILE_ROWS", 5)
    texts = {query_id: text.replace(" ", "-") for query_id, text in TEXTS.items()}
    judgments, *rankings = ({texts[i]: docs for i, docs in each.items()} for each in (JUDGED, *PLAIN.values()))
    write_rankings(tmp_path, dict(zip(PLAIN, rankings, strict=True)))
    files = {name: str(tmp_path / f"{name}.run") for name in PLAIN}
    options: dict[str, Any] = {"resamples": 100, "memory_limit": memory_limit}
    found = ndcg_ab.compare(judgments, files, queries=texts, **options)
    assert found.comparisons == ndcg_ab.compare(JUDGED, PLAIN, **options).comparisons
    told = [(each.code, each.count) for each in found._outcome.findings if "by_text" in each.code]
    assert told == [("query_by_text", 6)] * 3


@pytest.mark.parametrize(
    ("query_ids", "texts", "replaced", "code"),
    [
        (["red", "blue"], {"1": "red", "2": "blue"}, 2, "query_by_text"),
        (["1", "2"], {"1": "red", "2": "blue"}, 0, None),
        (["red", "2"], {"1": "red", "2": "blue"}, 0, None),
        (["red", "blue", "2"], {"1": "red", "2": "blue"}, 0, "query_partly_by_text"),
        (["red", "green"], {"1": "red", "2": "blue"}, 0, "query_partly_by_text"),
        (["red", "blue"], {"1": "red", "2": "blue", "3": "blue"}, 0, "query_partly_by_text"),
        (["x", "y"], {"1": "red", "2": "blue"}, 0, None),
        (["a", "b"], {"a": "b", "b": "a"}, 0, None),
        ([*map(str, range(100, 119)), "x"], {str(at): str(at + 100) for at in range(30)}, 19, "query_by_text"),
    ],
)
def test_nearly_all_are_texts_of_one_id(
    query_ids: list[str], texts: dict[str, str], replaced: int, code: str | None
) -> None:
    ids, remarks = match_texts(query_ids, texts)
    assert len(ids) == replaced
    assert [each.code for each in remarks] == [code] * bool(code)


def test_without_the_file_of_queries_it_is_named() -> None:
    for judgments, new in ((JUDGED, by_text(PLAIN["new"])), (by_text(JUDGED), PLAIN["new"])):
        with pytest.raises(InputError, match="give the file that has their ids and texts: --queries FILE"):
            ndcg_ab.compare(judgments, {"new": new})
