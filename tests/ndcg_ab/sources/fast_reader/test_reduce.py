"""Plain files reduced: what is kept, and that every fault, wherever it stands, makes a file not plain."""

import gzip
import itertools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ndcg_ab import compare
from ndcg_ab.errors import ParityError
from ndcg_ab.sources.fast_reader import reduce as reading
from ndcg_ab.sources.forms.plausible import is_plain_number
from ndcg_ab.sources.tables.reduced_ranking import NeededResults, ReducedRanking
from ndcg_ab.sources.tables.schema import RANKING
from tests.examples import every_example
from tests.paths import DATA
from tests.readings import read_table, reduce_ranking
from tests.skips import needs_ranking_reader

DEPTH = 3
SIZES = (1, 100, 1 << 22)  # bytes of a slice: the whole file in one, or a query in each
QUERIES, DOCUMENTS = 5, 8
WANTED = NeededResults(DEPTH, frozenset({"q2"}))


def plain_lines() -> list[str]:
    return [
        f"q{query} Q0 doc{10 * query + index} {index + 1} {9.5 - index} sys"
        for query in range(QUERIES)
        for index in range(DOCUMENTS)
    ]


def texts_of(reduced: ReducedRanking) -> pa.Table:
    """Its rows with every id as a text, however ids are kept."""
    rows: pa.Table = reduced.rows.cast(RANKING.schema)
    return rows


def reduced(path: Path, size: int = 1 << 22, wanted: NeededResults = WANTED) -> ReducedRanking | None:
    needs_ranking_reader()
    return reduce_ranking(path, "trec", {}, wanted, threads=2, size=size)


def written(folder: Path, lines: list[str], end: str = "\n") -> Path:
    path = folder / "system.run"
    path.write_bytes(("\n".join(lines) + end).encode(errors="surrogateescape"))
    return path


def reduce_by_definition(table: pa.Table, wanted: NeededResults) -> tuple[list[Any], list[Any]] | None:
    """Return the rows that are kept and what is known of each query, by loops over the rows; None if not plain."""
    kept, answers = [], []
    rows = [tuple(row.values()) for row in table.cast(RANKING.schema).to_pylist()]
    for query, group in itertools.groupby(rows, key=lambda row: row[0]):
        own = [*group]
        _, docs, scores, ranks = map(list, zip(*own, strict=True))
        ids_are_plain = all(0 < len(each.encode()) <= 512 and min(each) >= " " for each in (query, *docs))
        is_ordered = scores == sorted(scores, reverse=True) and ranks == [*range(ranks[0], ranks[0] + len(own))]
        if not (ids_are_plain and is_ordered) or len({*docs}) < len(own) or max(map(abs, scores)) > 1e38:
            return None
        last = scores[min(wanted.depth, len(own)) - 1]
        kept += [row for row in own if row[2] >= last - 2e-6 * abs(last) or np.float32(row[2]) == np.float32(last)]
        judged = wanted.judged.get(query)
        met = None if judged is None else len({*docs} & {*judged.to_pylist()})
        answers.append((query, len(own), ranks[0], ranks[-1], True, scores[-1], scores[0], met))
    return (kept, answers) if len({answer[0] for answer in answers}) == len(answers) else None


def assert_by_definition(found: ReducedRanking | None, table: pa.Table, wanted: NeededResults) -> None:
    expected = reduce_by_definition(table, wanted)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.count == table.num_rows
        assert [tuple(row.values()) for row in texts_of(found).to_pylist()] == expected[0]
        assert [tuple(row.values()) for row in found.answers.to_pylist()] == expected[1]


Change = Callable[[list[str], int], None]


def replaced(field: int, value: str) -> Change:
    def change(lines: list[str], at: int) -> None:
        parts = lines[at].split(" ")
        parts[field] = value
        lines[at] = " ".join(parts)

    return change


def whole_line(change: Callable[[str], str]) -> Change:
    def changed(lines: list[str], at: int) -> None:
        lines[at] = change(lines[at])

    return changed


def doubled(lines: list[str], at: int) -> None:
    """The document of another row of the query: the first, or for the first the last."""
    first = at - at % DOCUMENTS
    other = first + DOCUMENTS - 1 if at == first else first
    replaced(2, lines[other].split(" ")[2])(lines, at)


def moved(lines: list[str], at: int) -> None:
    """A row of a query to where another query's rows stand."""
    lines.insert((at + 2 * DOCUMENTS) % len(lines), lines.pop(at))


FAULTS = {
    "a comment": whole_line(lambda line: "#" + line),
    "a comment of its own": whole_line(lambda line: "# one two three 4 5 six\n" + line),
    "an empty line": whole_line(lambda line: "\n" + line),
    "a carriage return": whole_line(lambda line: line + "\r"),
    "a carriage return in a field": replaced(2, "do\rc"),
    "a zero byte": replaced(2, "do\0c"),
    "a control character": replaced(2, "do\x01c"),
    "a control character in a field that is not used": replaced(1, "Q\x020"),
    "two spaces": whole_line(lambda line: line.replace(" ", "  ", 1)),
    "two spaces for a field": whole_line(lambda line: line.replace(" Q0 ", "  ")),
    "a space in front": whole_line(lambda line: " " + line),
    "a space behind": whole_line(lambda line: line + " "),
    "a tab": whole_line(lambda line: line.replace(" ", "\t", 1)),
    "a tab in a field": replaced(2, "do\tc"),
    "no query": replaced(0, ""),
    "no document": replaced(2, ""),
    "no tag": replaced(5, ""),
    "seven fields": whole_line(lambda line: line + " more"),
    "five fields": whole_line(lambda line: line.rpartition(" ")[0]),
    "another tag": replaced(5, "syt"),
    "a longer tag": replaced(5, "sys2"),
    "a tag that ends alike": replaced(5, "asys"),
    "no UTF-8 in a document": replaced(2, "do\udce9c"),
    "no UTF-8 in a query": replaced(0, "q\udce9c"),
    "no UTF-8 in a field that is not used": replaced(1, "Q\udcff0"),
    "NaN": replaced(4, "nan"),
    "infinity": replaced(4, "inf"),
    "minus infinity": replaced(4, "-inf"),
    "an exponent without digits": replaced(4, "1e"),
    "a sign alone": replaced(4, "+"),
    "a score in hexadecimal": replaced(4, "0x1p3"),
    "a score in other digits": replaced(4, "\u0663"),
    "a score beyond 32 bits": replaced(4, "1e39"),
    "a negative score beyond 32 bits": replaced(4, "-1e39"),
    "a score that rises": replaced(4, "99"),
    "a rank that is no number": replaced(3, "first"),
    "a rank in hexadecimal": replaced(3, "0x1"),
    "a rank with a fraction": replaced(3, "1.5"),
    "a rank of a minus alone": replaced(3, "-"),
    "a rank that jumps": replaced(3, "77"),
    "a rank below": replaced(3, "-7"),
    "a rank that is not finite": replaced(3, "inf"),
    "a rank beyond 2^53": replaced(3, "9007199254740993"),
    "a longer document than any id": replaced(2, "d" * 513),
    "a longer field than any that is not used": replaced(1, "Q" * 513),
    "a document twice": doubled,
    "a query in two places": moved,
}
NOT_FIRST = ("a score that rises",)  # which is no fault of the first row of a query
PLACES = (0, 1, 7, 8, 15, 20, 38, 39) if every_example() else (0, 7, 39)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_makes_a_file_not_plain_wherever_it_stands(tmp_path: Path, name: str) -> None:
    for at in PLACES:
        if name in NOT_FIRST and at % DOCUMENTS == 0:
            continue
        lines = plain_lines()
        FAULTS[name](lines, at)
        path = written(tmp_path, lines)
        for size in SIZES:
            assert reduced(path, size) is None, (name, at, size)


@pytest.mark.parametrize("size", SIZES)
def test_a_byte_order_mark_is_taken_off_no_slice(tmp_path: Path, size: int) -> None:
    for at in (0, 7, 8, 16):
        lines = plain_lines()
        lines[at] = "\ufeff" + lines[at]
        found = reduced(written(tmp_path, lines), size)
        assert found is None or (at > 0 and lines[at].split(" ")[0] in found.answers["query_id"].to_pylist())


def test_what_is_only_another_way_to_write_it_is_plain(tmp_path: Path) -> None:
    lines = [line.replace(" ", "\t") for line in plain_lines()]
    assert reduced(written(tmp_path, lines)) is not None
    assert reduced(written(tmp_path, [line.replace("doc", "документ") for line in plain_lines()])) is not None
    assert reduced(written(tmp_path, [line.replace("doc", "d" * 100) for line in plain_lines()])) is not None


@pytest.mark.parametrize("content", [b"", b"\n", b"a b c", b"\x1f\x8b", b"PAR1", b"a 0 b 1 1 s", b"#\n", b"\0" * 99])
def test_other_files_are_plain_or_not_and_nothing_is_raised(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert (reduced(path) is not None) == (content == b"a 0 b 1 1 s")


def test_a_gzipped_file_is_plain_and_a_broken_one_is_not(tmp_path: Path) -> None:
    plain = reduced(written(tmp_path, plain_lines()))
    packed = gzip.compress("".join(f"{line}\n" for line in plain_lines()).encode())
    path = tmp_path / "system.run.gz"
    path.write_bytes(packed)
    found = reduced(path, 100)
    assert plain is not None and found is not None
    assert texts_of(found).equals(texts_of(plain)) and found.answers.equals(plain.answers)
    for broken in (packed[:-1], packed[:40], packed[:-8] + b"\0" * 8):
        path.write_bytes(broken)
        assert reduced(path, 100) is None


TEXTS = st.text(st.characters(min_codepoint=33, exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)
SCORES = st.one_of(
    st.floats(-1e38, 1e38),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-45, 1.0, 1 + 1e-7, 1 - 1e-6, 1 - 2e-6, 1 - 3e-6, -1.0]),
)


@st.composite
def rankings(draw: st.DrawFn) -> list[tuple[str, str, int, float]]:
    found = []
    for query_id in draw(
        st.lists(TEXTS.filter(lambda text: not text.startswith("#")), min_size=1, unique=True, max_size=4)
    ):
        documents = draw(st.lists(TEXTS, min_size=1, max_size=12, unique=True))
        scores = sorted(draw(st.lists(SCORES, min_size=len(documents), max_size=len(documents))), reverse=True)
        first = draw(st.sampled_from([0, 1, -3, 10**9]))
        found += [
            (query_id, document, first + at, score)
            for at, (document, score) in enumerate(zip(documents, scores, strict=True))
        ]
    return found


@pytest.mark.slow
@given(rankings(), st.sampled_from((100, 1 << 22)), st.integers(1, 5))
def test_a_reduced_ranking_is_that_of_the_whole_table(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int, float]], size: int, depth: int
) -> None:
    path = tmp_path_factory.mktemp("plain") / "system.run"
    path.write_text("".join(f"{row[0]} Q0 {row[1]} {row[2]} {row[3]!r} tag\n" for row in rows), encoding="utf-8")
    found = reduced(path, size, NeededResults(depth, frozenset()))
    assert found is not None
    assert_by_definition(found, read_table(path, RANKING, None, {}), NeededResults(depth, frozenset()))


def table_of(**changes: list[object]) -> pa.Table:
    rows = [line.split(" ") for line in plain_lines()]
    columns: dict[str, list[object]] = {
        "query_id": [row[0] for row in rows],
        "doc_id": [row[2] for row in rows],
        "score": [float(row[4]) for row in rows],
        "rank": [int(row[3]) for row in rows],
    }
    return pa.table({**columns, **changes})


def reduced_table(folder: Path, table: pa.Table, columns: dict[str, str] | None = None) -> ReducedRanking | None:
    path = folder / "system.parquet"
    papq.write_table(table, path, row_group_size=10)
    return reduce_ranking(path, "parquet", columns or {}, WANTED, threads=2)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_ranking_reader()
    monkeypatch.setattr(reading, "BATCH", 5)


@pytest.mark.usefixtures("small_batches")
def test_a_plain_parquet_file_is_reduced_as_text_is_and_needs_scores_but_no_ranks(tmp_path: Path) -> None:
    text = reduced(written(tmp_path, plain_lines()))
    found = reduced_table(tmp_path, table_of())
    assert text is not None and found is not None
    assert texts_of(found).equals(texts_of(text)) and found.answers.equals(text.answers)
    renamed = table_of().rename_columns(["q", "doc_id", "score", "rank"])
    other = reduced_table(tmp_path, renamed, {"query_id": "q"})
    assert other is not None and texts_of(other).equals(texts_of(text))
    found = reduced_table(tmp_path, table_of().drop_columns(["rank"]))
    assert found is not None and found.rows["rank"].null_count == found.rows.num_rows
    assert found.answers["has_plain_ranks"].null_count == QUERIES
    assert reduced_table(tmp_path, table_of().drop_columns(["score"])) is None


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("query_id", value) for value in (None, "", "a\tb", "q0 ")),
        *(("doc_id", value) for value in (None, "", "a\nb", "doc3", "doc10", 513 * "d")),
        *(("score", value) for value in (None, float("nan"), float("inf"), 1e39, 99.0)),
        *(("rank", value) for value in (None, 0, 99, 2**53, -(2**63))),
    ],
)
def test_a_fault_makes_a_parquet_file_not_plain(tmp_path: Path, column: str, value: object) -> None:
    for at in (1, 12, 20, 34, 39):
        values = table_of()[column].to_pylist()
        if value in ("doc3", "doc10") and at not in (1, 12):
            continue
        if value in ("doc3", "doc10"):
            at = {"doc3": 1, "doc10": 12}[str(value)]
        values[at] = value
        found = reduced_table(tmp_path, table_of(**{column: values}))
        if value == "q0 ":  # a query of its own, where its neighbours are not those of one query
            assert (found is None) == (at != 39)
        else:
            assert found is None, at


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("column", [0, 1])
def test_texts_that_are_not_utf8_make_a_parquet_file_not_plain(tmp_path: Path, column: int) -> None:
    """Two halves of one character, too, that only stand beside each other."""
    for halves in (("\udcff", ""), ("\udcc3", "\udca9")):
        values = table_of().column(column).to_pylist()
        for at, half in zip((11, 12), halves, strict=True):
            values[at] = half + values[at] if at == 12 else values[at] + half
        texts = pa.array([value.encode(errors="surrogateescape") for value in values])
        broken = pa.StringArray.from_buffers(len(texts), *texts.buffers()[1:])
        name = table_of().column_names[column]
        assert reduced_table(tmp_path, table_of().set_column(column, name, broken)) is None


COLUMNS = pa.schema([*list(RANKING.schema)[:2], ("score", pa.float64()), ("rank", pa.int64())])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["q0", "q0", "q1", "é"]),
        st.sampled_from(["d0", "d1", "d12345678", "long" * 9, "é", "", "d\x01"] + [f"d{at}" for at in range(2, 30)]),
        st.sampled_from([2.0, 1.0, 1.0, 1.0 - 1e-6, 1e-40, 1e-41, 0.0, -0.0, -1.0, -1.0 - 1.5e-6, 1e39]),
    ),
    min_size=1,
    max_size=12,
)


@given(ROWS, st.booleans(), st.integers(0, 2), st.integers(1, 3), st.integers(-1, 12))
@example([("q0", f"d{at}", score) for at, score in enumerate((3.0, 2.0, 1.0, 1 - 1.5e-6, 1 - 3e-6))], True, 0, 3, -1)
@example([("q0", f"d{at}", score) for at, score in enumerate((3.0, 2.0, 1e-40, 0.999997e-40, 1e-41))], True, 0, 3, -1)
def test_columns_are_reduced_by_the_compiled_pass_as_the_definition_says(
    rows: list[tuple[str, str, float]], in_order: bool, cut: int, depth: int, wrong: int
) -> None:
    """A control character is seen in rows that are cut away, too, which the definition does not look at."""
    needs_ranking_reader()
    if in_order:
        rows.sort(key=lambda row: (row[0], -row[2]))
    ranks: list[int] = []
    for at, row in enumerate(rows):
        ranks.append(ranks[-1] + 1 if at and rows[at - 1][0] == row[0] else 5)
    if 0 <= wrong < len(ranks):
        ranks[wrong] += 1
    cut = min(cut, len(rows) - 1)
    assume(all(doc_id != "d\x01" for _, doc_id, _ in rows[:cut]))
    table = pa.table([*zip(*rows, strict=True), ranks], schema=COLUMNS).slice(cut)
    wanted = NeededResults(depth, frozenset({"q1"}), {"q0": pa.array(["d0", "d12345678"])})
    assert_by_definition(reading.reduce_ranking(table, wanted), table, wanted)


def test_columns_of_other_lengths_are_refused() -> None:
    needs_ranking_reader()
    ends, texts, numbers = struct.pack("3i", 0, 1, 2), b"ab", struct.pack("2d", 2, 1)
    given = [ends, texts, ends, texts, numbers, None]
    assert reading.ranking_reader.reduce_columns(*given, 1, b"") is not None
    for place, other in ((0, ends[:8]), (2, ends + ends), (5, numbers[:8])):
        with pytest.raises(ValueError, match="as many values as there are scores"):
            reading.ranking_reader.reduce_columns(*given[:place], other, *given[place + 1 :], 1, b"")
    for broken in ((0, 2, 1), (0, 1, 3), (-1, 1, 2), (0, 0, 2)):
        assert reading.ranking_reader.reduce_columns(struct.pack("3i", *broken), *given[1:], 1, b"") is None


def test_ranks_that_only_some_rows_have_are_not_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH", DOCUMENTS)
    ranks = [None if row >= 16 else row % DOCUMENTS + 1 for row in range(QUERIES * DOCUMENTS)]
    assert reduced_table(tmp_path, table_of(rank=ranks)) is None


# ---- rows that are not grouped by query


@pytest.mark.parametrize("size", SIZES)
def test_files_whose_rows_are_not_grouped_are_not_plain(tmp_path: Path, size: int) -> None:
    lines = sorted(plain_lines(), key=lambda line: int(line.split()[3]))
    assert reduced(written(tmp_path, lines), size) is None
    every_row_a_run = table_of().sort_by([("rank", "ascending"), ("query_id", "ascending")])
    assert reduced_table(tmp_path, every_row_a_run) is None


@pytest.mark.parametrize(("buffer", "kind"), [(10, np.float64), (11, np.int64)])
def test_a_place_lost_in_the_sample_ends_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buffer: int, kind: type
) -> None:
    """The scores, or the ranks, of q2 are turned round after the compiled pass: its last row is the best."""
    needs_ranking_reader()
    compiled = reading.ranking_reader.reduce

    def reduce(*given: object) -> tuple[bytes, ...]:
        parts = list(compiled(*given))
        values = np.frombuffer(parts[buffer], kind).copy()
        own = slice(2 * DEPTH, 2 * DEPTH + DOCUMENTS)
        values[own] = values[own][::-1]
        parts[buffer] = values.tobytes()
        return tuple(parts)

    monkeypatch.setattr(reading.ranking_reader, "reduce", reduce)
    with pytest.raises(ParityError, match="query 'q2': a result among the first 3 was lost"):
        reduced(written(tmp_path, plain_lines()))


# ---- the compiled pass over text: numbers and ids are those of the careful reader


DIGITS = st.text("0123456789", max_size=24)
NUMBERS = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    st.sampled_from(["", ".", "."]),
    DIGITS,
    st.one_of(
        st.just(""), st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E-", "e+"]), st.integers(0, 400))
    ),
)


def score_of(number: str) -> bytes | None:
    """The 64 bits of the score of a ranking of one row; None where it is not plain."""
    line = f"q Q0 d 1 {number} t\n".encode()
    found = reading.ranking_reader.reduce(line, len(line), b" t\n", 1, b"")
    return None if found is None else found[-2]


@given(st.one_of(NUMBERS, st.floats().map(repr)))
@example("9007199254740993")
@example("0.30000000000000004")
@example("-0")
@example(".")
@example("1e-400")
@example("2.2250738585072011e-308")
@example("1844674407370955161.7")
@example("1.00000000000000011102230246251565404236316680908203125")
def test_a_score_is_the_number_that_python_reads(number: str) -> None:
    needs_ranking_reader()
    expected = struct.pack("d", float(number)) if is_plain_number(number) and abs(float(number)) <= 1e38 else None
    assert score_of(number) == expected


def test_a_document_that_comes_again_is_seen_among_thousands(tmp_path: Path) -> None:
    """The table of documents grows several times, and keeps none of the query before."""
    lines = [f"{query} Q0 {at * 'x'}{at} {at} 1 t" for query in ("all", "other") for at in range(300)]
    lines += [f"long Q0 d{at} {at} {-at} t" for at in range(20_000)]
    wanted = NeededResults(2, frozenset({"all"}))
    found = reduced(written(tmp_path, lines), wanted=wanted)
    assert found is not None
    assert found.answers["returned"].to_pylist() == [300, 300, 20_000]
    assert found.rows["query_id"].to_pylist() == 300 * ["all"] + 300 * ["other"] + 2 * ["long"]
    for twice in ("d0", "d9999", "d19998"):
        assert reduced(written(tmp_path, [*lines[:-1], f"long Q0 {twice} 19999 -19999 t"]), wanted=wanted) is None


def test_documents_of_one_key_take_no_time_without_end(tmp_path: Path) -> None:
    """The hash of one to three bytes is easily made the same: first, middle and last byte of two-byte ids."""
    keys = {f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrstuvwxyz"}
    assert reduced(written(tmp_path, [f"q Q0 {key} {at} 1 t" for at, key in enumerate(sorted(keys))])) is not None


def test_a_text_that_ends_early_is_not_plain_and_a_length_beyond_it_is_refused() -> None:
    needs_ranking_reader()
    text = b"q Q0 d 1 0.5 tag\n"
    for length in range(len(text)):
        assert reading.ranking_reader.reduce(text, length, b" tag\n", 1, b"") is None
    for length in (-1, len(text) + 1, 1 << 40):
        with pytest.raises(ValueError, match="length must be within the text"):
            reading.ranking_reader.reduce(text, length, b" tag\n", 1, b"")


@pytest.mark.slow
def test_without_the_extension_the_json_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_ranking_reader()
    systems = {name: str(DATA / f"{name}.run") for name in ("old", "new")}
    with_it = compare(str(DATA / "judgments.qrels"), systems).to_json()
    monkeypatch.setattr(reading, "ranking_reader", None)
    assert reduce_ranking(DATA / "old.run", "trec", {}, NeededResults(2, frozenset())) is None
    assert compare(str(DATA / "judgments.qrels"), systems).to_json() == with_it
