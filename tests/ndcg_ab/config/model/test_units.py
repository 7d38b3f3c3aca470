"""Differences that a metric cannot have: refused wherever they are named; half of the possible ones are asked about."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import ndcg_ab
from ndcg_ab.config.options.from_options import validate_evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.testing import assert_not_worse
from tests.commands import compare_command, invoke, read_json
from tests.paths import DATA
from tests.sentences import refusal_text

JUDGMENTS, OLD, NEW = DATA / "judgments.qrels", DATA / "old.run", DATA / "new.run"
FILES: dict[str, Any] = {
    "judgments": str(JUDGMENTS),
    "systems": [{"name": "old", "file": str(OLD)}, {"name": "new", "file": str(NEW)}],
}
# keys -> how the refusal begins
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a guardrail": ({"guardrails": {"recall@100": 2}}, "guardrails: recall@100 = 2: must be below 1, since recall@100"),
    "all that is possible": ({"guardrails": {"rr": 1}}, "guardrails: rr = 1: must be below 1, since rr lies between"),
    "a smallest effect": (
        {"statistics": {"smallest_effect": 1}},
        "statistics.smallest_effect = 1: must be below 1, since ndcg@10 lies between 0 and 1; did you mean 0.01?",
    ),
    "of one metric": (
        {"metrics": ["dcg@10", "rr"], "statistics": {"smallest_effect": {"dcg@10": 5, "rr": 5}}},
        "statistics.smallest_effect: rr = 5: must be below 1, since rr lies between 0 and 1; did you mean 0.05?",
    ),
    "of an exploratory one": (
        {"metrics": ["dcg@10"], "secondary_metrics": ["rr"], "statistics": {"smallest_effect": 1}},
        "statistics.smallest_effect = 1: must be below 1, since rr lies",
    ),
    "a gate": ({"gate": {"not_worse": {"ndcg@10": 1}}}, "gate.not_worse: ndcg@10 = 1: must be below 1, since"),
    "a drop": ({"gate": {"no_drop": {"ndcg@10": 3}}}, "gate.no_drop: ndcg@10 = 3: must be below 1, since"),
    "a slice": (
        {"gate": {"slice_regression": 1}, "slices": {"by": ["language"]}, "queries": "queries.tsv"},
        "gate.slice_regression = 1: must be below 1, since",
    ),
    "no share": ({"gate": {"judged": 0}}, "gate.judged = 0: must be above 0"),
    "gains that are counted": (
        {"guardrails": {"cg(gain=binary)@5": 5}},
        "guardrails: cg(gain=binary)@5 = 5: must be below 5, since cg(gain=binary)@5 lies between 0 and 5; did you",
    ),
    "a declared range": (
        {"guardrails": {"dcg@5": 20}, "statistics": {"ranges": {"dcg@5": [0, 10]}}},
        "guardrails: dcg@5 = 20: must be below 10, since dcg@5 lies between 0 and 10; did you mean 0.2?",
    ),
    "a range too wide": (
        {"guardrails": {"rr": 2}, "statistics": {"ranges": {"rr": [0, 100]}}},
        "guardrails: rr = 2: must be below 1, since",
    ),
}


@pytest.mark.parametrize(("keys", "said"), REFUSED.values(), ids=REFUSED)
def test_what_no_difference_reaches_is_refused(keys: dict[str, Any], said: str) -> None:
    assert refusal_text(validate_evaluation, {"name": "units", **FILES, **keys}).startswith(said)


# ---- everywhere


@pytest.mark.slow
def test_compare_asks_about_half_of_it() -> None:
    command = compare_command(DATA, "--guardrail", "recall@5=.5", "--resamples", "100", judgments="judgments.qrels")
    (finding,) = [each for each in read_json(command)["findings"] if each["code"] == "large_difference"]
    assert finding["severity"] == "warning"
    assert finding["message"] == (
        "guardrails: recall@5 = 0.5: is half of the largest possible difference or more, since recall@5 lies between 0"
        " and 1; did you mean 0.005?"
    )
    silenced = invoke([*command, "--finding", "large_difference=ignore"])
    assert silenced.exit_code == 0 and "did you mean" not in silenced.output


def configured(folder: Path, **keys: Any) -> str:
    path = folder / "units.yaml"
    path.write_text(yaml.safe_dump({"name": "units", **FILES, **keys}))
    return str(path)


def test_check_knows_gains_by_their_grades(tmp_path: Path) -> None:
    refused = invoke(["check", configured(tmp_path, guardrails={"dcg@1": 4})])
    assert refused.exit_code == 2  # the highest grade is 3
    said = " ".join(refused.stderr.split())
    assert "guardrails: dcg@1 = 4: must be below 3, since dcg@1 lies between 0 and 3" in said


def test_the_test_helper_warns() -> None:
    with pytest.warns(UserWarning, match=r"ndcg@5 = 0\.5: is half of the largest"):
        assert_not_worse(JUDGMENTS, OLD, NEW, metrics="ndcg@5", margin=0.5, resamples=100)


def scores(folder: Path, factor: float) -> Path:
    path = folder / f"scores{factor:g}.csv"
    lines = [f"{system},q{n},ndcg@10,{factor * (n % 7 + shift) / 8}" for n in range(30) for system, shift in SHIFTS]
    path.write_text("\n".join(["system_id,query_id,metric,value", *lines]) + "\n")
    return path


SHIFTS = (("old", 0.0), ("new", 0.5))


def test_another_tool_s_unit_is_that_of_its_values(tmp_path: Path) -> None:
    shares, percentages = (["--scores", str(scores(tmp_path, factor))] for factor in (1, 100))
    options = ["--smallest-effect", "2", "--resamples", "100"]
    refused = invoke(["compare", *shares, *options])
    assert refused.exit_code == 2
    assert "statistics.smallest_effect = 2: must be below 1" in " ".join(refused.stderr.split())
    taken = invoke(["compare", *percentages, *options])
    assert taken.exit_code == 0, taken.output


def test_power_refuses_and_asks(tmp_path: Path) -> None:
    shares, percentages = (scores(tmp_path, factor) for factor in (1, 100))
    with pytest.raises(InputError, match=r"effects = 1: must be below 1, since ndcg@10 lies between 0 and 1"):
        ndcg_ab.power(shares, effects=1)
    asked = ndcg_ab.power(shares, effects=0.5)
    assert "did you mean 0.005?" in asked.plans[0].questions[0] and "did you mean" in str(asked)
    assert not ndcg_ab.power(shares, effects=0.1).plans[0].questions
    assert ndcg_ab.power(percentages, effects=1).plans
