"""Texts of others in messages: their secrets are taken out before anything is cut."""

import random
import tomllib
from collections.abc import Callable

import pytest

from ndcg_ab import errors
from ndcg_ab.errors import SHOWN, InputError, error_text, first_characters, format_value, shorten
from tests import hiding
from tests.paths import ROOT

KEY = "k3y-of-21-letters+abc"


@pytest.mark.parametrize("way", hiding.QUICK)
def test_no_way_shows_a_part_of_a_key_wherever_it_stands(way: str) -> None:
    """All places of one key around every cut; tests/hiding.py draws others."""
    with hiding.fresh_process(KEY):
        for before in (*range(0, 401, 7), *range(SHOWN - 22, SHOWN + 2), *range(180, 204)):
            said = hiding.QUICK[way](f"{'-' * before}{KEY}---")
            assert hiding.parts_in(said, KEY) is None, (before, said)


@pytest.mark.slow
def test_keys_of_every_kind_at_random_and_the_module_of_make_soak() -> None:
    assert hiding.main(["--count", "1"]) == 0
    assert list(hiding.shown_parts(random.randrange(10**6), 4, hiding.QUICK)) == []


def test_keys_in_files() -> None:
    assert list(hiding.shown_parts(random.randrange(10**6), 1, hiding.WITH_FILES)) == []


def test_what_is_repeated_moves_no_part_into_view() -> None:
    """A thousand keys are a thousand marks: the last, of which the beginning alone was looked at, is left out."""
    long = "k" * 50 + "-" + "y" * 2950
    with hiding.fresh_process(long):
        for text in (long * 40, f"{'-' * 79}{long * 40}", f"{long[:10]} {long * 40}"):
            for said in (
                shorten(text, 80),
                format_value(text),
                format_value(text.encode()),
                format_value(b"\xff" + text.encode()),
            ):
                assert not any(part in said for part in ("y" * 6, "k" * 11))


@pytest.mark.parametrize("cut", [format_value, error_text, lambda text: shorten(str(text), 10)])
def test_a_long_text_costs_no_more_than_a_short_one(cut: Callable[[object], str]) -> None:
    text = "x" * 10**8
    said = cut(text if cut is not error_text else ValueError(text))
    assert said.strip("'").startswith("xxxxxxxxxx") and said.endswith("…")


def test_what_fits_stays_as_it_is() -> None:
    assert (shorten("ab", 2), shorten("abc", 2), first_characters("abc", 2)) == ("ab", "ab…", "ab")
    assert format_value("a\nb") == r"'a\nb'"
    assert format_value("a" * (SHOWN - 2)) == repr("a" * (SHOWN - 2))
    assert format_value("a" * SHOWN) == "'" + "a" * (SHOWN - 1) + "…"
    assert format_value(b"\xff\x00") == r"b'\xff\x00'"


def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each library the extra of pyproject.toml that holds it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: " ".join(texts) for name, texts in project["optional-dependencies"].items()}
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    for library, (_, extra) in errors.OPTIONAL.items():
        assert library.replace("_", "-") in extras[extra]
        with pytest.raises(InputError, match=rf"pip install 'ndcg-ab\[{extra}\]'$"):
            errors.require_libraries("this", library)
