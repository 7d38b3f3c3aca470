"""What a terminal would obey or hide is written out; everything else stays as it is."""

import dataclasses
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcg_ab.studies.power import PowerSettings
from ndcg_ab.visible import visible, visible_but_colours, visible_json, visible_record

# (text, what is shown of it)
TEXTS = {
    "an escape": ("a\x1b[2Jb", "a\\x1b[2Jb"),
    "a bell and a carriage return": ("a\x07b\rc", "a\\x07b\\rc"),
    "C1": ("a\x9b31mb", "a\\x9b31mb"),
    "an override": ("\u202eexe.txt", "\\u202eexe.txt"),
    "an isolate": ("\u2067a\u2069", "\\u2067a\\u2069"),
    "of no width": ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
    "a tag": ("a\U000e0041", "a\\U000e0041"),
    "half a pair": ("a\udc80", "a\\udc80"),
    "a joiner between letters of ASCII": ("a\u200db", "a\\u200db"),
    "line ends and tabs stay": ("a\n\tb", "a\n\tb"),
    "Persian": ("می\u200cخواهم", "می\u200cخواهم"),
    "a family": ("👩\u200d👧", "👩\u200d👧"),
    "accents, signs, Hebrew": ("é e\u0301 日 ▲ שלום", "é e\u0301 日 ▲ שלום"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_shown(name: str) -> None:
    text, shown = TEXTS[name]
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown if character not in "\n\t")
    assert not any(unicodedata.bidirectional(character) in BIDI for character in shown)
    assert visible(shown) == shown


BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


@given(st.text())
def test_json_keeps_its_content(text: str) -> None:
    written = json.dumps({text: text}, ensure_ascii=False)
    shown = visible_json(written)
    assert json.loads(shown) == {text: text}
    assert visible(shown) == shown


def test_whole_outputs_may_set_colours_alone() -> None:
    assert visible_but_colours("\x1b[1;31mred\x1b[0m \x1b[2J\x1b]0;title\x07") == (
        "\x1b[1;31mred\x1b[0m \\x1b[2J\\x1b]0;title\\x07"
    )


def test_records_are_made_visible_in_every_depth() -> None:
    asked = PowerSettings((0.01,), (100,), 0.05, 0.8)
    given = {"a\x1b": [("b\x1b", asked), Path("c\x1b")]}
    assert visible_record(given) == {"a\\x1b": [("b\\x1b", asked), Path("c\\x1b")]}
    assert visible_record(asked) is asked
    assert given == {"a\x1b": [("b\x1b", asked), Path("c\x1b")]}, "a copy"

    @dataclasses.dataclass(frozen=True)
    class Kept:
        name: str
        number: int

    assert visible_record(Kept("a\x1b", 1)) == Kept("a\\x1b", 1)
