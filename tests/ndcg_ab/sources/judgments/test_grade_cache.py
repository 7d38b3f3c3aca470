"""Where the answers of functions that judge are kept."""

import contextlib
import hashlib
import time
from pathlib import Path

import pytest

from ndcg_ab.sources.judgments.function_grades import Document, GradeCache, Query, answer_key, cache_folder


def test_whatever_a_function_is_given_makes_another_answer() -> None:
    """Its source, and each part of the query and the document."""
    queries = [Query("q", "red", {"shop": "de"}), Query("p", "red", {"shop": "de"}), Query("q", "blue", {"shop": "de"})]
    queries += [Query("q", "red", {}), Query("q", "red", {"shop": "at"})]
    documents = [Document("d"), Document("e"), Document("d", "Shoes"), Document("d", None, "Shoes")]
    pairs = [(queries[0], document) for document in documents] + [(query, documents[0]) for query in queries[1:]]
    keys = [answer_key(hashlib.sha256(source), *pair) for source in (b"1", b"2") for pair in pairs]
    assert len(set(keys)) == len(keys) == 16
    assert answer_key(hashlib.sha256(b"1"), Query("q", "red", {"shop": "de"}), Document("d")) == keys[0]


def test_answers_before_a_moment_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with contextlib.closing(GradeCache(pytest.fail)) as known:
        known.keep("a", 2.0)
        assert known.stored_grades(["a", "b"]) == known.stored_grades(["a"], time.time() - 60) == {"a": 2.0}
        assert known.stored_grades(["a"], time.time() + 60) == {}


def test_it_is_where_the_user_says_or_else_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "ndcg-ab"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() is None
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "ndcg-ab"
