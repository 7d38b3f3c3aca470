"""The report page as a text: what it says, that texts from data are inert, how large it gets."""

import base64
import dataclasses
import gzip
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lxml.html  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import InputError
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.report.page import data as page_data
from ndcg_ab.report.page import render as page
from ndcg_ab.report.page.data import PageData, gather_page_data, largest_moves, query_indices_by_difference
from ndcg_ab.report.page.render import card_colour, format_outcome_html, query_address, split_verdict, write_page
from ndcg_ab.report.words import (
    comparison_mark,
    describe_metric_role,
    format_interval,
    format_verdict,
    format_wins_ties_losses,
    open_labels_mark,
    system_rows,
)
from ndcg_ab.results.numbers import format_plain, format_probability, signed
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.results.wording import GUARDRAILS, PRIMARY, fully_judged_difference
from ndcg_ab.sources.queries import documents_source
from ndcg_ab.sources.tables.schema import DOCUMENT
from ndcg_core.measures.overlap import rank_biased_overlap
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.ceilings import CEILINGS
from tests.commands import invoke
from tests.inputs import write_evaluation, write_table
from tests.small_evaluation import DATA, small

HOSTILE_QUERY = 'q07</script><img src=x onerror="window.hacked=1">'
HOSTILE_TEXT = "</script><script>window.hacked=1</script><b>{candidate}</b>"
HOSTILE_DOC = "<img src=x onerror=window.hacked=1>&amp;"
HOSTILE_SYSTEM = 'new"><svg onload=window.hacked=1>'
SLICES = ("desktop", "phone<script>window.hacked=1</script>")
# q01 by hand: grades a 0, b 1, c 3; d is unjudged.
OLD, NEW = ("a", "b", "c"), ("c", "a", "d")
ABOUT: dict[str, Any] = {"name": "shop", "ordinal": None, "began": None, "finished": "2026-11-19T02:01:10+00:00"}
INPUTS = [{"name": "judgments", "kind": "judgments", "version": None, "origin": "<qrels>", "rows": 9, "digest": "ab12"}]


def shop(folder: Path) -> Evaluation:
    """40 queries, three systems, one of them hostile, as are a query, its text, a document and a slice."""
    chance = random.Random(7)
    queries, judgments = [], []
    rankings: dict[str, list[dict[str, Any]]] = {"old": [], "new": [], HOSTILE_SYSTEM: []}
    for number in range(1, 41):
        query = HOSTILE_QUERY if number == 7 else f"q{number:02d}"
        text = HOSTILE_TEXT if number == 7 else f"words of {number}"
        queries.append({"query_id": query, "text": text, "device": SLICES[number % 2]})
        docs = [f"d{index}" for index in range(14)] + [HOSTILE_DOC]
        grades = {doc: chance.choice((0, 0, 1, 2, 3)) for doc in docs[:12] + [HOSTILE_DOC]}
        grades["d0"] = 1
        if number == 1:
            docs, grades = ["a", "b", "c", "d"], {"a": 0, "b": 1, "c": 3}
        judgments += [{"query_id": query, "doc_id": doc, "grade": grade} for doc, grade in grades.items()]
        for system, noise in (("old", 2.0), ("new", 1.0), (HOSTILE_SYSTEM, 6.0)):
            order = sorted(docs, key=lambda doc: -grades.get(doc, 0) + chance.gauss(0, noise))
            if number == 7 and system == "old":
                order = [HOSTILE_DOC, *docs[:-1]]
            if number == 1:
                order = list(OLD if system == "old" else NEW)
            rows = [{"query_id": query, "doc_id": doc, "score": -index} for index, doc in enumerate(order)]
            rankings[system] += rows
    systems = [
        {"name": name, "file": write_table(folder / f"{index}.jsonl", rows)}
        for index, (name, rows) in enumerate(rankings.items())
    ]
    return Evaluation(
        name="shop",
        judgments={"file": write_table(folder / "judgments.jsonl", judgments)},
        queries={"file": write_table(folder / "queries.jsonl", queries)},
        systems=systems,
        metrics=["ndcg@10", "dcg@5"],
        secondary_metrics=["precision@5"],
        guardrails={"recall@10": 0.05},
        slices={"by": ["device"], "smallest": 10},
        statistics={"smallest_effect": {"ndcg@10": 0.01}, "all_pairs": True},
    )


def timeline_of(outcome: Outcome) -> pa.Table:
    """Three evaluations; in the second one `new` regressed."""
    rows = [
        {
            "ordinal": ordinal,
            "began": f"2026-11-{16 + ordinal}T02:00:00+00:00",
            "system_id": system.system_id,
            "metric": system.metric,
            "mean": system.mean,
            "difference": 0.0,
            "low": 0.0,
            "high": 0.0,
            "verdict": verdict,
            "conclusion": verdict,
        }
        for ordinal in (1, 2, 3)
        for system in outcome.systems
        for verdict in ["regressed" if (ordinal, system.system_id) == (2, "new") else "improved"]
    ]
    return pa.Table.from_pylist(rows)


def gathered(folder: Path) -> PageData:
    evaluation = shop(folder)
    about = ABOUT | {"ordinal": 3, "inputs": INPUTS, "evaluation": evaluation.model_dump(mode="json")}
    about["gates"] = [
        {"name": "no regression", "passed": True, "message": "nothing regressed"},
        {"name": "judged <b>", "passed": False, "message": "<i>too few</i>"},
    ]
    with DuckDBEngine() as engine:
        outcome = evaluate(evaluation, engine)[0]
        return gather_page_data(engine, outcome, about, timeline_of(outcome))


def large(queries: int, systems: int = 4, results: int = 10, digits: int = 7) -> PageData:
    """Made up: only the size counts."""
    chance = random.Random(11)
    names = [f"ranker-{index}" for index in range(systems)]
    ids = [f"{chance.randrange(10**7):07d}-{number}" for number in range(queries)]
    few = small_outcome(names)
    scores = {"system_id": [], "query_id": [], "metric": [], "value": []}
    rankings = {"system_id": [], "query_id": [], "rank": [], "doc_id": [], "grade": []}
    for query in ids:
        pool = [f"D{chance.randrange(10**digits)}" for _ in range(3 * results)]
        grade = {doc: chance.choice((None, 0.0, 1.0, 2.0)) for doc in pool}
        for name in names:
            row = {"system_id": name, "query_id": query}
            for metric in few.metrics:
                append(scores, row | {"metric": metric.name, "value": chance.random()})
            for index, doc in enumerate(chance.sample(pool, results)):
                append(rankings, row | {"rank": index + 1, "doc_id": doc, "grade": grade[doc]})
    texts = [" ".join(chance.choices(WORDS, k=5)) for _ in ids]
    table = pa.table({"query_id": ids, "text": texts})
    return PageData(few, ABOUT | {"inputs": []}, table, pa.table(scores), pa.table(rankings))


WORDS = [f"word{number}" for number in range(5000)]


def append(columns: dict[str, list[Any]], row: Mapping[str, Any]) -> None:
    for name, value in row.items():
        columns[name].append(value)


def small_outcome(names: list[str]) -> Outcome:
    from tests.laboratory import in_order, outcome_of

    judgments = {f"q{number}": {"a": 1, "b": 2} for number in range(8)}
    rankings = {name: {query: in_order("b", "a") for query in judgments} for name in names}
    return outcome_of(judgments, rankings, ["ndcg@10", "rr@10"])


class Reader:
    """Tags with attributes, tables by caption, and the words that are shown."""

    def __init__(self, text: str) -> None:
        tree = lxml.html.document_fromstring(text)
        self.tags: list[tuple[str, dict[str, str]]] = [(each.tag, dict(each.attrib)) for each in tree.iter("*")]
        for hidden in tree.xpath("//script | //style"):
            hidden.drop_tree()
        self.words: list[str] = [tree.text_content()]
        self.tables: dict[str, list[list[str]]] = {}
        for table in tree.iter("table"):
            rows = [[squeezed([cell.text_content()]) for cell in row] for row in table.iter("tr")]
            self.tables.setdefault(squeezed(table.xpath("caption//text()")), rows)


def squeezed(parts: list[str]) -> str:
    return " ".join("".join(parts).split())


def block_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', text)
    assert found
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(found[1])))
    return content


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PageData:
    return gathered(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def text(data: PageData, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, data)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(text: str) -> Reader:
    return Reader(text)


class TestWords:
    def test_a_card_names_the_queries_that_win_and_lose_most(self, data: PageData, text: str, read: Reader) -> None:
        values = {
            (row["system_id"], row["query_id"]): row["value"]
            for row in data.scores.to_pylist()
            if row["metric"] == "ndcg@10"
        }
        differences = {query: values["new", query] - values["old", query] for name, query in values if name == "old"}
        worst = sorted(differences, key=lambda query: (differences[query], query))[:3]
        best = sorted((query for query in differences if differences[query] > 0), key=lambda q: (-differences[q], q))[
            :3
        ]
        found, won = (largest_moves(data, "ndcg@10", "new", 3, wins=wins) for wins in (False, True))
        assert [row.query_id for row in found] == worst and all(row.difference < 0 for row in found)
        assert [row.query_id for row in won] == best and all(row.difference > 0 for row in won)
        card = next(part for part in text.split("<article ") if "<h3>new</h3>" in part)
        links = [row["href"] for tag, row in Reader(card.partition("</article>")[0]).tags if tag == "a"]
        assert links == [query_address(query, "new") for query in (*best, *worst)]
        assert f"loses most on {found[0].text} {signed(found[0].difference)}" in squeezed(read.words)

    def test_addresses_are_spelled_as_the_script_spells_them(self) -> None:
        """By hand, after the URL standard's application/x-www-form-urlencoded."""
        assert query_address("a b&c=d~*é", "x+y") == "#q=a+b%26c%3Dd%7E*%C3%A9&c=x%2By"

    def test_a_card_lists_every_metric_that_decides(self, data: PageData, text: str) -> None:
        cards = [Reader(part.partition("</article>")[0]) for part in text.split("<article ")[1:]]
        assert len(cards) == 2 and "40 queries</strong> · ndcg@10, dcg@5 decide · baseline" in text
        for card, decision in zip(cards, data.outcome.decisions, strict=True):
            (rows,) = card.tables.values()
            found = [row for row in rows[1:] if len(row) == 4]
            compared = [row for row in data.outcome.main if row.candidate == decision.candidate]
            means = {(row.system_id, row.metric): row.mean for row in data.outcome.systems}
            assert [row[0][2:] for row in found] == ["ndcg@10", "dcg@5", "recall@10"]
            assert [row[1] for row in found] == [format_plain(means[decision.candidate, row[0][2:]]) for row in found]
            for row in compared:
                if row.metric != "precision@5":
                    expected = [f"{comparison_mark(row)} {row.metric}", signed(row.difference) + open_labels_mark(row)]
                    assert expected in [[each[0], each[2]] for each in found]

    def test_the_first_words_of_a_verdict_stand_apart(self, data: PageData) -> None:
        row = dataclasses.replace(data.outcome.main[0], mde=0.25, size=None)
        for conclusion, beginning in ((Verdict.UNDECIDED, " (MDE 0.250); a loss of "), (Verdict.IDENTICAL, "; a loss")):
            first, rest = split_verdict(dataclasses.replace(row, conclusion=conclusion))
            assert first == conclusion.value and rest.startswith(beginning)

    def test_a_card_colours_what_a_metric_gained_or_lost(self, data: PageData, text: str) -> None:
        """By hand: a guardrail's has none, even where it holds at a loss, or fails at a gain."""
        row = data.outcome.main[0]
        for family, conclusion, expected in (
            (PRIMARY, Verdict.IMPROVED, "improved"),
            (PRIMARY, Verdict.REGRESSED, "regressed"),
            (PRIMARY, Verdict.IDENTICAL, "other"),
            (GUARDRAILS, Verdict.NOT_WORSE, ""),
            (GUARDRAILS, Verdict.MAY_BE_WORSE, ""),
            (GUARDRAILS, Verdict.WORSE, ""),
        ):
            made = dataclasses.replace(row, family=family, conclusion=conclusion)
            assert card_colour(made) == expected
        assert f'<td class="improved">{signed(row.difference)}</td>' in text

    @pytest.mark.slow
    def test_many_candidates_are_grouped(self) -> None:
        """By hand: five candidates, the second alone is not to be shipped."""
        outcome = small_outcome(["old", *"abcde"])
        worse = [dataclasses.replace(row, conclusion=Verdict.REGRESSED) for row in outcome.main if row.candidate == "b"]
        others = [row for row in outcome.comparisons if row.candidate != "b"]
        grouped = dataclasses.replace(outcome, comparisons=(*others, *worse))
        assert page.template_functions(grouped)["band"] == [
            ("nothing_changed", list("acde"), ""),
            ("do_not_ship", ["b"], ""),
        ]
        alike = format_outcome_html(small_outcome(["old", *"abcdefg"]))
        assert "<strong>a, b, c, d</strong> and 3 more" in alike

    def test_what_questions_everything_stands_above_the_band(
        self, data: PageData, tmp_path: Path, read: Reader
    ) -> None:
        finding = Finding("rank_disagrees", "warning", "ranks <and> scores disagree", 3, "new")
        doubted = dataclasses.replace(data.outcome, findings=(*data.outcome.findings, finding))
        write_page(tmp_path / "r.html", dataclasses.replace(data, outcome=doubted))
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        words = squeezed(Reader(text).words)
        assert words.index("In doubt: ranks <and> scores disagree") < words.index("do not ship")
        assert text.count(' doubted" id=') == words.count(", in doubt") == 1 and "In doubt" not in squeezed(read.words)

    def test_gates_are_a_table_with_the_failed_ones_first(self, read: Reader) -> None:
        assert read.tables["Gates"][1:] == [
            ["judged <b>", "✗ failed", "<i>too few</i>"],
            ["no regression", "✓ passed", "nothing regressed"],
        ]

    def test_every_number_of_a_metric_is_the_outcome_s(self, data: PageData, read: Reader) -> None:
        for metric in data.outcome.metrics:
            named = ", ".join([metric.name, *describe_metric_role(data.outcome, metric.name)])
            _, *rows = read.tables[f"{named} · definition {metric.hash}"]
            expected = [
                [system.system_id]
                + ([signed(row.difference), format_interval(row)] if row else [""] * 2)
                + [format_plain(system.mean), "", format_probability(row.p_adjusted) if row else ""]
                + ([f"{comparison_mark(row)} {format_verdict(row)}"] if row else ["baseline"])
                + [
                    format_wins_ties_losses(row) if row else "",
                    str(system.queries),
                    f"{100 * (system.judged or 0):.0f} %",
                ]
                for system, row in system_rows(data.outcome, metric)
            ]
            assert rows == expected

    def test_the_difference_on_fully_judged_queries_stands_among_the_other_columns(
        self, data: PageData, read: Reader
    ) -> None:
        for metric in data.outcome.metrics:
            head, *rows = read.tables[metric.name]
            place = head.index("queries judged fully")
            told = {row[0]: row[place : place + 2] for row in rows}
            for system, row in system_rows(data.outcome, metric):
                if row and row.labels:
                    expected = [str(row.labels.full_queries), fully_judged_difference(row.labels)]
                    assert told[system.system_id] == expected

    def test_every_number_of_a_slice_is_the_outcome_s(self, data: PageData, read: Reader) -> None:
        for metric in ("ndcg@10", "dcg@5"):
            (head, *rows) = read.tables[f"{metric}: difference from old; choose one for its interval and verdict"]
            found = {(row.slice, row.candidate): row for row in data.outcome.slices if row.metric == metric}
            assert len(found) == (len(head) - 1) * len(rows) > 0
            for name, *cells in rows:
                for candidate, cell in zip(head[1:], cells, strict=True):
                    row = found[name.removeprefix("device "), candidate]
                    counts = format_wins_ties_losses(row)
                    told = f"{format_interval(row)}, {row.verdict}, baseline "
                    told += f"{format_plain(row.baseline_mean)}, adjusted p {format_probability(row.p_adjusted)}, "
                    first = f"{comparison_mark(row)} {signed(row.difference)} {row.queries} queries"
                    assert cell == f"{first} {told}{counts} won / equal / lost"

    def test_findings_definitions_inputs_and_configuration(self, data: PageData, read: Reader) -> None:
        words = squeezed(read.words)
        assert all(squeezed([finding.message]) in words for finding in data.outcome.findings)
        assert all(f"({metric.hash}): measure {metric.measure}" in words for metric in data.outcome.metrics)
        assert ["judgments", "judgments", "<qrels>", "9", "ab12"] in read.tables["Inputs"]
        assert "smallest_effect: ndcg@10: 0.01" in words
        assert "format: null" not in words

    def test_what_compare_has_is_enough(self, data: PageData, tmp_path: Path) -> None:
        write_page(tmp_path / "r.html", dataclasses.replace(data, about=ABOUT | {"inputs": []}, timeline=None))
        read = Reader((tmp_path / "r.html").read_text(encoding="utf-8"))
        assert "finished 2026-11-19 02:01 UTC" in squeezed(read.words)
        assert "Configuration" not in squeezed(read.words)

    def test_one_system_alone(self, tmp_path: Path) -> None:
        scores = {"system_id": ["old"], "query_id": ["q0"], "metric": ["ndcg@10"], "value": [1.0]}
        rankings = {"system_id": ["old"], "query_id": ["q0"], "rank": [1], "doc_id": ["a"], "grade": [1.0]}
        queries = pa.table({"query_id": ["q0"], "text": pa.array([None], pa.string())})
        alone = PageData(small_outcome(["old"]), ABOUT | {"inputs": []}, queries, pa.table(scores), pa.table(rankings))
        write_page(tmp_path / "r.html", alone)
        assert "nothing to compare it with" in (tmp_path / "r.html").read_text(encoding="utf-8")


class TestInert:
    def test_no_text_from_data_becomes_markup(self, text: str, read: Reader) -> None:
        assert [tag for tag, _ in read.tags].count("script") == 2
        assert not {"img", "b", "i"} & {tag for tag, _ in read.tags}
        assert not [attributes for _, attributes in read.tags if any(name.startswith("on") for name in attributes)]
        for hostile in (HOSTILE_QUERY, HOSTILE_TEXT, HOSTILE_DOC, HOSTILE_SYSTEM, SLICES[1]):
            assert hostile not in text
        assert HOSTILE_SYSTEM in squeezed(read.words)

    def test_nothing_is_loaded(self, text: str, read: Reader) -> None:
        for tag, attributes in read.tags:
            assert tag not in ("link", "iframe", "object", "embed", "base", "form")
            assert not {"src", "srcset", "action", "data", "poster", "xlink:href"} & attributes.keys()
            assert (attributes.get("href") or "#").startswith("#")
        style = (page.TEMPLATES / "page.css").read_text(encoding="utf-8")
        assert not re.search(r"url\(|@import|https?:", style)
        script = page.page_script()
        assert not re.search(
            r"https?:(?!//www\.w3\.org/2000/svg\")|\bimport\b|\bfetch\(|XMLHttpRequest|innerHTML|\beval\b", script
        )

    def test_the_policy_allows_its_own_script_alone(self, read: Reader) -> None:
        policies = [row["content"] or "" for tag, row in read.tags if row.get("http-equiv")]
        assert len(policies) == 1
        assert policies[0].startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe-eval" not in policies[0] and policies[0].count("'sha256-") == 1
        assert "'unsafe-inline'" not in policies[0].partition("style-src")[0]


class TestBlock:
    def test_values_are_the_scores(self, data: PageData, text: str) -> None:
        block = block_of(text)
        assert block["systems"] == ["old", "new", HOSTILE_SYSTEM]
        for row in data.scores.to_pylist():
            columns = block["values"][block["metrics"].index(row["metric"])]
            value = columns[block["systems"].index(row["system_id"])][block["queries"]["id"].index(row["query_id"])]
            assert value == pytest.approx(row["value"], abs=5e-11)

    def test_comparisons_are_the_outcome_s(self, data: PageData, text: str) -> None:
        found = {(row["metric"], row["candidate"]): row for row in block_of(text)["comparisons"]}
        assert len(found) == len(data.outcome.main) == 8
        for row in data.outcome.main:
            kept = found[row.metric, row.candidate]
            assert (kept["difference"], kept["queries"]) == (row.difference, row.queries)
            assert kept["counts"] == format_wins_ties_losses(row)

    def test_rankings_with_grades(self, text: str) -> None:
        block = block_of(text)
        docs, grades, rankings, _, rbo = block["rankings"][block["queries"]["id"].index("q01")]
        assert [docs[place] for place in rankings[0]] == list(OLD)
        assert [docs[place] for place in rankings[1]] == list(NEW)
        assert dict(zip(docs, grades, strict=True)) == {"a": 0, "b": 1, "c": 3, "d": None}
        assert rbo[:2] == [None, round(rank_biased_overlap(OLD, NEW), 4)]
        assert (
            block["depth"] == 10 and max(len(ranking) for _, _, each, *_ in block["rankings"] for ranking in each) == 10
        )
        assert dict(block["gains"])[3.0] == 3.0

    def test_rankings_follow_the_first_metric(self, tmp_path: Path) -> None:
        metrics = ["ndcg(ties=doc_id_asc, gain=exponential, unjudged=condense)@2", "ndcg@10"]
        rankings = {"old": {"q": {"a": 1.0, "x": 1.0, "b": 1.0}}}
        evaluation = write_evaluation(tmp_path, {"q": {"a": 2, "b": 2}}, rankings, metrics=metrics)
        with DuckDBEngine() as engine:
            outcome = evaluate(evaluation, engine)[0]
            rows = gather_page_data(engine, outcome, ABOUT).rankings.to_pylist()
        assert [(row["rank"], row["doc_id"], row["gain"]) for row in rows] == [(1, "a", 3.0), (2, "b", 3.0)]

    def test_relevant_documents_that_are_not_shown(self, tmp_path: Path) -> None:
        """By hand, with ties: of ten that are shown e03 … e12, so that e02 has rank 11 and e01 rank 12."""
        relevant = {"e01": 1, "e02": 3, "e05": 2, "lost": 2, "bad": 0}
        tied = {f"e{index:02d}": 1.0 for index in range(1, 13)}
        evaluation = write_evaluation(tmp_path, {"q": relevant}, {"old": {"q": tied}, "new": {"q": ["lost"]}})
        with DuckDBEngine() as engine:
            outcome = evaluate(evaluation, engine)[0]
            found_page = gather_page_data(engine, outcome, ABOUT | {"inputs": []})
        found = {(row["system_id"], row["doc_id"]): row["rank"] for row in found_page.missed.to_pylist()}
        new = {("new", "e01"): None, ("new", "e02"): None, ("new", "e05"): None}
        assert found == {("old", "e02"): 11, ("old", "lost"): None, ("old", "e01"): 12} | new
        assert {(row["system_id"], row["missed"]) for row in found_page.missed.to_pylist()} == {("old", 3), ("new", 3)}
        docs, _, _, missed, _ = block_of(page.render_page(found_page)).get("rankings")[0]
        assert [[count, [[docs[place], rank] for place, rank in rows]] for count, rows in missed] == [
            [3, [["e02", 11], ["lost", None], ["e01", 12]]],
            [3, [["e02", None], ["e05", None], ["e01", None]]],
        ]

    def test_titles_and_addresses(self, data: PageData) -> None:
        """An address that is none of the web is no link."""
        rows = [
            {"doc_id": "a", "title": "A <b>", "url": "https://example.org/a"},
            {"doc_id": "b", "title": None, "url": "HTTP://example.org/b"},
            {"doc_id": "c", "title": "C", "url": "javascript:alert(1)"},
            {"doc_id": "d", "title": None, "url": "data:text/html,x"},
        ]
        named = dataclasses.replace(data, documents=pa.Table.from_pylist(rows, schema=DOCUMENT.schema))
        text = page.render_page(named)
        block = block_of(text)
        docs, *_ = block["rankings"][block["queries"]["id"].index("q01")]
        assert sorted(docs, key=str) == [
            ["a", "A <b>", "https://example.org/a"],
            ["b", None, "HTTP://example.org/b"],
            ["c", "C", None],
            "d",
        ]
        assert "Titles or addresses are known of 4 of the 19 documents here." in text

    def test_the_same_evaluation_gives_the_same_bytes(self, data: PageData, text: str) -> None:
        assert page.render_page(data) == text


class TestInputs:
    def test_what_has_many_rows_has_no_digest_where_nothing_is_kept(self, tmp_path: Path) -> None:
        with DuckDBEngine() as engine:
            store = evaluate(small(tmp_path, queries={"file": "queries.tsv"}), engine)[1]
        digests = {row["name"]: row["digest"] for row in store.describe_inputs(digested=50)}
        assert digests["judgments.qrels"] is None and digests["queries.tsv"]

    def test_documents_that_are_gone_cost_their_titles_alone(self, tmp_path: Path) -> None:
        evaluation = small(tmp_path, documents={"file": "documents.tsv"})
        with DuckDBEngine() as engine:
            outcome = evaluate(evaluation, engine)[0]
            (tmp_path / "inputs" / "documents.tsv").unlink()
            about = ABOUT | {"inputs": []}
            found = gather_page_data(
                engine, outcome, about, documents=documents_source(evaluation), can_do_without=True
            )
            with pytest.raises(InputError, match="there is no such file"):
                gather_page_data(engine, outcome, about, documents=documents_source(evaluation))
        text = page.render_page(found)
        assert "Titles and addresses of documents are missing: " in text and "documents.tsv: there is no such" in text

    def test_documents_that_cannot_be_read_are_refused_before_anything_is_write_table(self, tmp_path: Path) -> None:
        (tmp_path / "d.csv").write_text("key,title\n")
        files = ["--judgments", str(DATA / "judgments.qrels"), "--system", f"old={DATA / 'old.run'}"]
        outputs = ["--json", str(tmp_path / "r.json"), "--report", str(tmp_path / "r.html")]
        found = invoke(["compare", *files, "--documents", str(tmp_path / "d.csv"), *outputs])
        assert found.exit_code == 2 and "there is no column 'doc_id'" in found.output
        assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def size_of_little(folder: Path) -> int:
    """Bytes of a page of next to nothing: scripts and style."""
    write_page(folder / "little.html", large(2, results=1))
    return (folder / "little.html").stat().st_size


@pytest.mark.slow
class TestSize:
    def test_rankings_with_small_differences_are_left_out(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(page, "LARGEST", size_of_little(tmp_path) + 300_000)
        path = tmp_path / "r.html"
        write_page(path, large(1_000, digits=20))
        assert 0.9 * page.LARGEST < path.stat().st_size < page.LARGEST
        text = path.read_text(encoding="utf-8")
        block = block_of(text)
        kept = [index for index, ranking in enumerate(block["rankings"]) if ranking]
        assert len(block["queries"]["id"]) == 1_000 and 100 < len(kept) < 1_000
        assert f"The rankings of {1_000 - len(kept)} queries, those with the smallest differences" in text
        chosen = set(kept)
        columns = block["values"][0]
        largest = [max(abs(column[index] - columns[0][index]) for column in columns) for index in range(1_000)]
        assert min(largest[place] for place in chosen) >= max(
            size for index, size in enumerate(largest) if index not in chosen
        )

    def test_queries_are_left_out_last(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(page, "LARGEST", size_of_little(tmp_path) + 30_000)
        write_page(tmp_path / "r.html", large(1_500, results=1))
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        block = block_of(text)
        count = len(block["queries"]["id"])
        assert 0 < count < 1_500 and block["rankings"] == []
        assert all(len(column) == count for columns in block["values"] for column in columns)
        assert f"{1_500 - count} queries, those with the smallest differences" in text


@pytest.mark.parametrize("limit", [-1, 0, 100])
def test_a_page_that_cannot_be_small_enough_ends(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"queries": {"id": list(map(str, range(9)))}, "values": [[[0.1] * 9] * 2], "systems": []}
    monkeypatch.setattr(page_data, "script_data", lambda data: dict(content) | {"baseline": 0})
    monkeypatch.setattr(page_data, "encode_rankings", lambda *_: [[1]] * 9)
    block, left_out = page_data.fit_block(None, limit)  # type: ignore[arg-type]
    assert left_out["queries"] == 9
    assert len(block) > limit


class TestFigures:
    def test_have_words_for_those_who_cannot_see_them(self, read: Reader) -> None:
        figures = [row for tag, row in read.tags if tag == "figure"]
        assert len(figures) == 3
        ids = {row["id"] for _, row in read.tags if "id" in row}
        assert all({row["aria-labelledby"], row["aria-describedby"]} <= ids for row in figures)
        strips = [row for tag, row in read.tags if tag == "svg"]
        assert strips and all((row["aria-label"] or "").startswith("interval ") for row in strips)


def test_a_small_page_is_small(text: str) -> None:
    assert len(text.encode()) < CEILINGS["page"]["bytes"]


def test_a_page_is_whole_or_not_there(data: PageData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("before", encoding="utf-8")
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_page(path, data)
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]


def test_the_largest_differences_of_any_candidate_stay_up_or_down() -> None:
    """By hand: 0, 0.5 down, 0.3 up, not scored, 0.5 up of the second candidate."""
    values = [[0.5, 0.9, 0.4, None, 0.1], [0.5, 0.4, 0.7, 0.2, None], [0.5, 0.9, 0.4, 0.8, 0.6]]
    assert query_indices_by_difference({"values": [values, []], "baseline": 0}) == [1, 4, 2, 0, 3]
