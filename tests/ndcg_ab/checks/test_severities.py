"""How grave findings are: `strict`, `findings`, and their options."""

from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.checks.ranking_checks import REMARKS, findings_from_pulled
from ndcg_ab.errors import InputError
from ndcg_ab.finding_codes import CODES, check_severities
from ndcg_ab.report.doubts import finding_lines
from ndcg_ab.sources.base import Remark, with_remarks
from tests.commands import invoke
from tests.laboratory import in_order, pulled_ranking
from tests.paths import DATA, ROOT

JUDGMENTS = {"q1": {"a": 1}, "q2": {"a": 1}}
SYSTEMS = {"old": {"q1": {"a": 2.0}, "q2": {"a": 2.0}}, "new": {"q1": {"b": 2.0, "a": 1.0}}}
CODES_THERE = {"unanswered_query", "few_queries", "few_judged", "judged_differs", "different_depths"}


def severities(**settings: object) -> dict[str, str]:
    found = ndcg_ab.compare(JUDGMENTS, SYSTEMS, resamples=100, threads=1, **settings).findings
    return {finding.code: finding.severity for finding in found}


def test_strict_names_all_warnings_and_one_code_may_be_an_error() -> None:
    with pytest.raises(InputError) as error:
        severities(strict=True)
    assert {code for code in CODES if f"[{code}]" in str(error.value)} == CODES_THERE
    assert "strict makes warnings errors; to go on all the same: --finding" in str(error.value)
    with pytest.raises(
        InputError, match=r"returned nothing for 1 of the judged queries.*\[unanswered_query\]"
    ) as error:
        severities(findings={"unanswered_query": "error"})
    assert "few_judged" not in str(error.value)


def test_a_code_that_is_set_is_no_error_when_strict() -> None:
    chosen = dict(zip(sorted(CODES_THERE), ("note", "ignore", "warning", "note", "ignore"), strict=True))
    expected = {code: "ignored" if severity == "ignore" else severity for code, severity in chosen.items()}
    assert severities(strict=True, findings=chosen) == expected


def test_a_configuration_is_checked_as_strictly_as_asked(tmp_path: Path) -> None:
    (tmp_path / "judgments.qrels").write_text("bread 0 bread-guide 1\n")
    config = tmp_path / "c.yaml"
    systems = "".join(f"- {{name: {name}, file: {DATA / name}.run}}\n" for name in ("old", "new"))
    config.write_text(f"name: c\njudgments: judgments.qrels\nsystems:\n{systems}")
    assert [invoke(["check", str(config), *more]).exit_code for more in ([], ["--strict"])] == [0, 2]


def test_an_ignored_finding_is_counted() -> None:
    found = ndcg_ab.compare(
        JUDGMENTS, SYSTEMS, findings={"few_judged": "ignore", "few_queries": "ignore"}, resamples=100, threads=1
    )
    (line,) = (line.text for line in finding_lines(found._outcome) if "ignored" in line.text)
    text = f"{found}\n{line}"
    assert "2 findings are ignored, as the configuration says" in " ".join(text.split())
    assert "was its ranking cut" not in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["few_judge=note"], "--finding: 'few_judge': is no code of a finding; did you mean 'few_judged'?"),
        (["few_judged=fatal"], "--finding: few_judged = 'fatal': must be one of error, warning, note, ignore"),
        (["few_judged"], "--finding 'few_judged': must be CODE=SEVERITY; such as few_judged=ignore"),
        (["few_judged=note", "few_judged=error"], "--finding 'few_judged=error': few_judged is named twice"),
        (["missing_rank=note"], "missing_rank = 'note': is always an error"),
    ],
)
def test_what_is_no_severity_of_a_code(options: list[str], words: str) -> None:
    command = ["compare", "--judgments", "q", "--system", "a=b"]
    found = invoke([*command, *(word for option in options for word in ("--finding", option))])
    assert found.exit_code == 2
    assert words in found.stderr


def test_what_a_source_noticed_is_a_finding() -> None:
    pulled = pulled_ranking("new", {"q": in_order("a")})
    remarks = [Remark(code, 2, (f"new.run, line 7: {code}",)) for code in REMARKS]
    table = with_remarks(pulled.table, remarks)
    found = list(findings_from_pulled("new", type(pulled)(table, pulled.layout, pulled.source), "new"))
    assert [(row.code, row.count, row.severity) for row in found] == [
        (code, 2, CODES[code].severity) for code in REMARKS
    ]
    assert found[0].examples == ("new.run, line 7: several_tags",)
    assert "(such as new.run, line 7: several_tags)" in found[0].message


def test_every_code_that_is_used_is_known() -> None:
    assert check_severities(dict.fromkeys(CODES, "error")) == dict.fromkeys(CODES, "error")
    paths = [path for path in (ROOT / "ndcg_ab").rglob("*.py") if path.name != "finding_codes.py"]
    text = "".join(path.read_text() for path in paths)
    sql = "".join((ROOT / "sql" / "1_check" / name).read_text() for name in ("180_finding.sql", "150_odd_answer.sql"))
    raised = {"contradicting_judgment", "refused_grade", "unknown_gain", "missing_rank"}
    assert not [code for code in CODES if f'"{code}"' not in text and f"'{code}'" not in sql and code not in raised]


@pytest.mark.slow
def test_the_entry_of_a_code() -> None:
    found = invoke(["findings", "few_judged"])
    assert CODES["few_judged"].advice.split(",")[0] in " ".join(found.stdout.split())
    assert all(code in invoke(["findings"]).stdout for code in CODES)
    found = invoke(["findings", "fewjudged"])
    assert (found.exit_code, "did you mean 'few_judged'?" in found.stderr) == (2, True)
