"""Text from data in Markdown stays text: no picture, link, HTML, mention or table cell comes of it."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ndcg_ab.report.markdown import JOINER, escape_text, format_folded
from ndcg_ab.visible import visible

HOSTILE = (
    "![x](http://evil.example/p.png)",
    "[x](javascript:alert(1))",
    "[x]: http://evil.example",
    "<img src=http://evil.example/p.png>",
    "<http://evil.example>",
    "<script>alert(1)</script>",
    "&lt;img src=x&gt;",
    "http://evil.example/p.png",
    "HTTPS://evil.example",
    "ftp://evil.example",
    "www.evil.example",
    "somebody@evil.example",
    "mailto:a@evil.example",
    "@somebody",
    "(@somebody)",
    "#12 !34 GH-56",
    "a | b",
    "a\nb\r\nc\u2028d",
    "| --- |",
    "# head",
    "- item",
    "1. item",
    "+ item",
    "---",
    "===",
    "> quoted",
    "```",
    "~~~",
    "    code",
    "`code`",
    "$x$",
    "[ ] todo",
    "*x* __y__",
    "\\",
    "\\\\`",
    "a\x1b[2Jb\x07\u202ec\u200bd",
)
# What renderers make links of by themselves (GitHub's autolinks and mentions, Showdown's in MLflow).
LINKED = re.compile(
    r"(?:https?|ftp)://|www\.|[\w.+-]+@[\w-]+\.\w|(?:^|[\s(])@[a-z\d]|[#!]\d|\bGH-\d", re.IGNORECASE | re.ASCII
)
texts = st.one_of(
    st.lists(st.sampled_from([*HOSTILE, "a", " ", "!", "[", "]", "(", ")", "<", ">", "\\", "*", "_", "|"])).map(
        "".join
    ),
    st.text(),
)


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def held(text: str) -> None:
    """As a paragraph, an item, a cell, bold and quoted it is the text alone."""
    told = escape_text(text)
    shown = " ".join(visible(" ".join(text.split())).split())
    places = {
        "paragraph": (f"{told}\n\nend", r"<p>(.*?)</p>\n<p>end</p>\n"),
        "item": (f"- {told}\n", r"<ul>\n<li>(.*?)</li>\n</ul>\n"),
        "cell": (f"| h | i |\n|---|---|\n| {told} | j |\n", r".*<tbody>\n<tr>\n<td>(.*?)</td>\n<td>j</td>\n.*"),
        "bold": (f"> **a {told} b**\n", r"<blockquote>\n<p><strong>a (.*?) b</strong></p>\n</blockquote>\n"),
    }
    for place, (page, form) in places.items():
        if not told and place != "cell":
            continue
        found = re.fullmatch(form, rendered(page), flags=re.DOTALL)
        assert found, (place, rendered(page))
        assert "<" not in found[1], place
        assert unescape(found[1]).replace(JOINER, "").strip() == shown, place
        assert not LINKED.search(unescape(found[1])), place


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    held(text)


@given(texts)
def test_every_text_stays_itself(text: str) -> None:
    held(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ask for ndcg(ties=given)@10, @joe", "ask for `ndcg(ties=given)@10`, @&#8288;joe"),
        ("is 1 best? → --metric 'ndcg(gain=1:2/2:1)@10'", "is 1 best? → `--metric 'ndcg(gain=1:2/2:1)@10'`"),
    ],
)
def test_what_is_pasted_holds_nothing_invisible(text: str, told: str) -> None:
    assert escape_text(text) == told


def test_a_folded_title_is_html() -> None:
    assert (
        format_folded("of a_b <@10>", "") == "<details><summary>of a_b &lt;@&#8288;10&gt;</summary>\n\n\n\n</details>"
    )


@pytest.mark.parametrize("text", ["ndcg@10", "new on ndcg@5: improved (+0.0800)", "+0.0400 … -0.0100", "a:b/c.d"])
def test_plain_texts_are_not_touched(text: str) -> None:
    assert escape_text(text) == text
