"""The compiled pass over text: its numbers and ids are those of the careful reader, and without it all is the same."""

import struct
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ndcg_ab import compare
from ndcg_ab.sources.fast_reader import choice, plain_text
from ndcg_ab.sources.forms.plausible import is_plain_number
from ndcg_ab.sources.tables.reduced_ranking import NeededResults, ReducedRanking
from tests.paths import DATA
from tests.readings import reduce_ranking
from tests.skips import needs_ranking_reader

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
    found = plain_text.ranking_reader.reduce(line, len(line), b" t\n", 1, b"")
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


def reduced(folder: Path, lines: list[str]) -> ReducedRanking | None:
    needs_ranking_reader()
    path = folder / "system.run"
    path.write_text("".join(f"{line}\n" for line in lines))
    return reduce_ranking(path, "trec", {}, NeededResults(2, frozenset({"all"}), {}), 1)


def test_a_document_that_comes_again_is_seen_among_thousands(tmp_path: Path) -> None:
    """The table of documents grows several times, and keeps none of the query before."""
    lines = [f"{query} Q0 {at * 'x'}{at} {at} 1 t" for query in ("all", "other") for at in range(300)]
    lines += [f"long Q0 d{at} {at} {-at} t" for at in range(20_000)]
    found = reduced(tmp_path, lines)
    assert found is not None
    assert found.answers["returned"].to_pylist() == [300, 300, 20_000]
    assert found.rows["query_id"].to_pylist() == 300 * ["all"] + 300 * ["other"] + 2 * ["long"]
    for twice in ("d0", "d9999", "d19998"):
        assert reduced(tmp_path, [*lines[:-1], f"long Q0 {twice} 19999 -19999 t"]) is None


def test_documents_of_one_key_take_no_time_without_end(tmp_path: Path) -> None:
    """The hash of one to three bytes is easily made the same: first, middle and last byte of two-byte ids."""
    keys = {f"{a}{b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrstuvwxyz"}
    assert reduced(tmp_path, [f"q Q0 {key} {at} 1 t" for at, key in enumerate(sorted(keys))]) is not None


@pytest.mark.parametrize("length", [-1, 18, 1 << 40])
def test_a_length_beyond_the_text_is_refused(length: int) -> None:
    needs_ranking_reader()
    with pytest.raises(ValueError, match="length must be within the text"):
        plain_text.ranking_reader.reduce(b"q Q0 d 1 0.5 tag\n", length, b" tag\n", 1, b"")


@pytest.mark.parametrize("length", range(17))
def test_a_text_that_ends_early_is_not_plain(length: int) -> None:
    needs_ranking_reader()
    assert plain_text.ranking_reader.reduce(b"q Q0 d 1 0.5 tag\n", length, b" tag\n", 1, b"") is None


@pytest.mark.slow
def test_without_the_extension_the_json_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_ranking_reader()
    systems = {name: str(DATA / f"{name}.run") for name in ("old", "new")}
    with_it = compare(str(DATA / "judgments.qrels"), systems).to_json()
    monkeypatch.setattr(choice, "ranking_reader", None)
    assert reduce_ranking(DATA / "old.run", "trec", {}, NeededResults(2, frozenset())) is None
    assert compare(str(DATA / "judgments.qrels"), systems).to_json() == with_it
