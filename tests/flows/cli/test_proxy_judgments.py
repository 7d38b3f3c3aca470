"""A few careful judgments and many proxy ones: what is corrected, what stays as it is, what is refused and noticed."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndcg_ab
from ndcg_core.statistics.estimates.prediction_powered import correct_difference
from ndcg_core.statistics.verdicts.comparison import Column
from ndcg_core.statistics.verdicts.record import ProxyCorrected
from tests.asked import asked_for, digests
from tests.commands import compare_command, invoke, read_json
from tests.inputs import write_judgments, write_rankings
from tests.small_evaluation import pull_inputs

CAREFUL, EVERY = 80, 800
IDS = [f"{number // 4:03d}_{number % 4}" for number in range(EVERY)]


@dataclasses.dataclass(frozen=True)
class Case:
    """Where the files are, and the differences in the reciprocal rank, worked out here, of all IDS.

    careful: the ids of the queries that are judged carefully.
    """

    folder: Path
    exact: np.ndarray
    cheap: np.ndarray
    careful: tuple[str, ...]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Two documents a query, one of them relevant; the proxy judgments take the wrong one for it in one of eight."""
    rng = np.random.default_rng(8)
    folder = tmp_path_factory.mktemp("cheap")
    orders = {name: rng.random(EVERY) < share for name, share in (("old", 0.5), ("new", 0.65))}
    wrong = rng.random(EVERY) < 1 / 8
    placed = {name: ["ab" if is_right else "ba" for is_right in right] for name, right in orders.items()}
    write_rankings(folder, {name: dict(zip(IDS, each, strict=True)) for name, each in placed.items()})
    careful = tuple(IDS[place] for place in np.sort(rng.permutation(EVERY)[:CAREFUL]))
    cheap = [f"{query} 0 {'b' if is_wrong else 'a'} 1\n" for query, is_wrong in zip(IDS, wrong, strict=True)]
    write_judgments(folder / "qrels", {query: {"a": 1} for query in careful})
    (folder / "cheap").write_text("".join(cheap))
    (folder / "few").write_text("".join(line for line in cheap if line.split()[0] in careful))
    (folder / "others").write_text("".join(line for line in cheap if line.split()[0] != careful[3]))
    (folder / "twice").write_text("".join(cheap) + f"{IDS[0]} 0 a 0\n{IDS[0]} 0 b 0\n")
    won = [query for index, query in enumerate(IDS) if orders["new"][index] and not orders["old"][index]]
    (folder / "won").write_text("".join(f"{query} 0 a {1 + (query == won[0])}\n" for query in won[:CAREFUL]))
    exact = (orders["new"].astype(float) - orders["old"]) / 2
    return Case(folder, exact, np.where(wrong, -exact, exact), careful)


def command(case: Case, *options: str, judgments: str = "qrels") -> list[str]:
    return compare_command(case.folder, "--metric", "rr", *options, judgments=judgments)


def content(case: Case, *options: str, judgments: str = "qrels") -> dict[str, Any]:
    made: dict[str, Any] = read_json(command(case, *options, judgments=judgments))
    return made


PROXY = ("--cheap-judgments", "{}/cheap")


@pytest.fixture(scope="module")
def found(case: Case) -> dict[str, Any]:
    return content(case, *PROXY)


def column(case: Case, careful: bool, clusters: bool = False) -> Column:
    ids = case.careful if careful else tuple(IDS)
    values = dict(zip(IDS, case.exact if careful else case.cheap, strict=True))
    names = tuple(query.split("_")[0] for query in ids) if clusters else None
    return Column("old", "new", "rr", ids, [values[query] for query in ids], clusters=names)


def approx_record(corrected: ProxyCorrected) -> dict[str, Any]:
    return {
        name: None if value is None else pytest.approx(value, rel=1e-9)
        for name, value in dataclasses.asdict(corrected).items()
    }


@pytest.mark.parametrize("clusters", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["queries", "clusters"])
def test_the_difference_is_corrected_by_values_worked_out_by_hand(
    case: Case, found: dict[str, Any], clusters: bool
) -> None:
    made = content(case, *PROXY, "--cluster-prefix", "_") if clusters else found
    expected = correct_difference(column(case, True, clusters), column(case, False, clusters), case.careful, 0.05)
    assert expected is not None
    assert made["comparisons"][0]["cheap"] == approx_record(expected)
    assert (expected.careful_queries, expected.cheap_queries) == (CAREFUL, EVERY)
    assert expected.saved > 0.5 * CAREFUL


@pytest.mark.slow
def test_weights_hold(case: Case, tmp_path: Path) -> None:
    """Those of the queries; where one that is with proxy judgments alone has none, it is named."""
    weights = np.random.default_rng(3).uniform(1, 5, EVERY).round(2)
    rows = [f"{query}\t{weight}\n" for query, weight in zip(IDS, weights, strict=True)]
    (tmp_path / "queries.tsv").write_text("query_id\tweight\n" + "".join(rows))
    made = content(case, *PROXY, "--queries", f"{tmp_path}/queries.tsv")
    known = dict(zip(IDS, weights.tolist(), strict=True))
    columns = [column(case, careful) for careful in (True, False)]
    columns = [dataclasses.replace(each, weights=[known[query] for query in each.query_ids]) for each in columns]
    expected = correct_difference(*columns, case.careful, 0.05)
    assert expected is not None
    assert made["comparisons"][0]["cheap"] == approx_record(expected)
    lacking = next(index for index, query in enumerate(IDS) if query not in case.careful)
    (tmp_path / "queries.tsv").write_text("query_id\tweight\n" + "".join(rows[:lacking] + rows[lacking + 1 :]))
    ended = invoke(command(case, *PROXY, "--queries", f"{tmp_path}/queries.tsv"))
    assert ended.exit_code == 2
    assert f"proxy judgments: queries: 1 judged query has no weight (such as '{IDS[lacking]}'" in ended.output


def test_rankings_are_read_whole(case: Case) -> None:
    """Reduced, they would hold what the careful judgments look at."""
    words = [*command(case, *PROXY)[:-4], "--metric", "precision@1", "--cheap-judgments", f"{case.folder}/cheap"]
    rankings = pull_inputs(asked_for(lambda: invoke(words)), whole=False).rankings
    assert [ranking.reduced for ranking in rankings.values()] == [None, None]


@pytest.mark.slow
def test_nothing_else_is_another(case: Case, found: dict[str, Any]) -> None:
    """Verdicts, decisions, means and findings are those of the careful judgments."""
    plain = content(case)
    assert plain["comparisons"][0].pop("cheap") is None
    assert {**found, "comparisons": [{k: v for k, v in found["comparisons"][0].items() if k != "cheap"}]} == plain


@pytest.mark.slow
def test_it_is_told_below_the_comparison(case: Case) -> None:
    shown = invoke(command(case, *PROXY, "--details", "--markdown", "{}/comment.md", "--report", "{}/page.html"))
    assert shown.exit_code == 0, shown.output
    told = " ".join(shown.stdout.split())
    assert "corrected by 800 queries with proxy judgments: +0." in told
    assert "more queries judged carefully" in told
    note = (
        "careful grades must be unknown to the proxy judge; proxy judgments correct the difference alone, and verdicts"
    )
    assert f"i {note}" in told
    assert ": corrected by 800 queries with proxy judgments" in (case.folder / "comment.md").read_text()
    page = (case.folder / "page.html").read_text()
    assert "corrected by 800 queries with proxy judgments" in page and f": {note}" in page
    assert "proxy judgments</td>" in page, "the inputs"


@pytest.mark.slow
def test_the_estimate_is_from_the_queries_that_the_judge_has_not_seen(case: Case, tmp_path: Path) -> None:
    """The others are in neither part; the ids may be a file, a list, and a key of a configuration."""
    unseen = case.careful[20:]
    (tmp_path / "unseen").write_text("".join(f"{query}\n" for query in unseen))
    made = content(case, *PROXY, "--careful-unseen", f"{tmp_path}/unseen")
    seen = set(case.careful[:20])
    columns = []
    for one in (column(case, True), column(case, False)):
        kept = [index for index, query in enumerate(one.query_ids) if query not in seen]
        ids, values = ([list(each)[place] for place in kept] for each in (one.query_ids, one.differences))
        columns.append(dataclasses.replace(one, query_ids=tuple(ids), differences=values))
    expected = correct_difference(*columns, unseen, 0.05)
    assert expected is not None and expected.careful_queries == CAREFUL - 20 and expected.cheap_queries == EVERY - 20
    expected = dataclasses.replace(expected, seen_queries=20)
    assert made["comparisons"][0]["cheap"] == approx_record(expected)
    runs = {name: str(case.folder / f"{name}.run") for name in ("old", "new")}
    places = {"cheap_judgments": str(case.folder / "cheap"), "metrics": "rr"}
    held = ndcg_ab.compare(str(case.folder / "qrels"), runs, careful_unseen=list(unseen), **places)
    assert json.loads(held.to_json())["comparisons"] == made["comparisons"]


@pytest.mark.slow
def test_ids_of_unseen_queries_that_are_wrong_are_refused_or_noticed(case: Case, tmp_path: Path) -> None:
    def asked(*ids: str) -> Any:
        (tmp_path / "unseen").write_text("".join(f"{query}\n" for query in ids))
        return invoke(command(case, *PROXY, "--careful-unseen", f"{tmp_path}/unseen"))

    none = asked("nobody")
    assert none.exit_code == 2 and "unseen: names none of the 80 carefully judged queries" in none.output
    some = asked(*case.careful, "nobody")
    assert some.exit_code == 0
    assert "careful_unseen: 1 of its 81 queries is not judged carefully (such as 'nobody'): left out" in some.output
    alone = invoke(command(case, "--careful-unseen", f"{tmp_path}/unseen"))
    assert alone.exit_code == 2
    assert "--careful-unseen: goes with `--cheap-judgments`: give them, too" in alone.output


@pytest.mark.slow
def test_a_query_that_they_cannot_score_counts_and_is_said_to(case: Case) -> None:
    lines = (case.folder / "cheap").read_text().splitlines(keepends=True)
    for count, words in ((1, "1 judged query has no grade above 0"), (2, "2 judged queries have no grade above 0")):
        none = [" ".join([*line.split()[:3], "0\n"]) for line in lines[:count]]
        (case.folder / "none").write_text("".join([*none, *lines[count:]]))
        made = content(case, "--cheap-judgments", "{}/none")
        assert made["comparisons"][0]["cheap"]["cheap_queries"] == EVERY
        (said,) = (each["message"] for each in made["findings"] if "no grade above 0" in each["message"])
        what = "its difference counts" if count == 1 else "their differences count"
        assert said == f"proxy judgments: {words} (such as '{IDS[0]}'): {what} as 0"


@pytest.mark.slow
def test_secondary_metrics_and_guardrails_stay_without(case: Case) -> None:
    made = content(case, *PROXY, "--secondary", "precision@1", "--guardrail", "recall@1=0.1", "--all-pairs")
    assert {row["family"]: row["cheap"] is not None for row in made["comparisons"]} == {
        "primary": True,
        "secondary": False,
        "guardrails": False,
    }


def test_columns_are_those_of_the_judgments(case: Case, tmp_path: Path) -> None:
    for name in ("qrels", "cheap"):
        rows = [line.split() for line in (case.folder / name).read_text().splitlines()]
        text = "".join(f"{query},{doc},{grade}\n" for query, _, doc, grade in rows)
        (tmp_path / f"{name}.txt").write_text("one,two,three\n" + text)
    options = ["--judgments-format", "csv", "--judgments-columns", "query_id=one,doc_id=two,grade=three"]
    words = command(case, "--cheap-judgments", f"{tmp_path}/cheap.txt", *options, judgments=f"{tmp_path}/qrels.txt")
    of_files = asked_for(lambda: invoke(command(case, *PROXY)))
    assert digests(asked_for(lambda: invoke(words))) == digests(of_files)


REFUSED = {
    "a careful query that is without proxy judgments": (
        "{}/others",
        "others: 1 of 80 carefully judged queries has no proxy judgments (such as '",
    ),
    "no other queries": ("{}/few", "few: judges 0 queries beside the 80 that are judged carefully; at least 2 are"),
    "two grades": ("{}/twice", "proxy judgments: {}/twice"),
    "no file": ("{}/nothing", "{}/nothing: there is no such file"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_cannot_correct_is_refused(mistake: str, case: Case) -> None:
    file, said = REFUSED[mistake]
    ended = invoke(command(case, "--json", "{}/never.json", "--cheap-judgments", file))
    assert ended.exit_code == 2
    assert said.replace("{}", str(case.folder)) in ended.output
    assert "Traceback" not in ended.output and not (case.folder / "never.json").exists()


@pytest.mark.slow
def test_careful_queries_that_were_chosen_are_noticed(case: Case, found: dict[str, Any]) -> None:
    assert "careful_not_random" not in {row["code"] for row in found["findings"]}
    made = content(case, *PROXY, judgments="won")
    (told,) = [row for row in made["findings"] if row["code"] == "careful_not_random"]
    assert "carefully judged queries are no random sample of those with proxy judgments" in told["message"]
