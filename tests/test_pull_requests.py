"""docs/pull-requests.md, run as printed: the repository of a stranger, who has a folder `flows` as well."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.paths import DATA, ROOT

PAGE = (ROOT / "docs" / "pull-requests.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = ".github/workflows/ranking.yml"


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(FILES[WORKFLOW])["jobs"]["ranking"]["steps"]
    return found


def test_the_page_has_the_files_that_it_speaks_of() -> None:
    assert set(FILES) == {"flows/ranker.py", "tests/test_ranking.py", WORKFLOW}
    (tree,) = re.findall(r"```text\n(data/.*?)```", PAGE, flags=re.DOTALL)
    there = {line.split()[0] for line in tree.splitlines()}
    assert set(FILES) < there


def test_the_workflow_installs_what_the_page_says() -> None:
    (commands,) = re.findall(r"```console\n(\$ pip .*?)```", PAGE, flags=re.DOTALL)
    installing = [step["run"] for step in steps() if "pip install" in step.get("run", "")]
    assert [f"$ {line.removesuffix(' pytest')}" for line in installing] == commands.splitlines()


def commands() -> Iterator[tuple[str, dict[str, str]]]:
    """What the workflow runs but installations, with its variables; the commands of the action where it is used."""
    for step in steps():
        if "run" in step and "pip install" not in step["run"]:
            yield step["run"], {}
        elif "ndcg-ab@" in step.get("uses", ""):
            given = {name: each.get("default") for name, each in ACTION["inputs"].items()} | step["with"]
            assert given.keys() == ACTION["inputs"].keys() and None not in given.values()
            for each in ACTION["runs"]["steps"]:
                if "env" in each:
                    values = {name: str(given[text[11:-3]]) for name, text in each["env"].items()}
                    yield each["run"], values


class Stranger:
    """A git repository with the files of the page; what is fetched and compared with is its branch main."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "data").mkdir()
        shutil.copy(DATA / "judgments.qrels", folder / "data")

    def ranks_like(self, run: str) -> None:
        scores: dict[str, dict[str, float]] = {}
        for line in (DATA / run).read_text().splitlines():
            query_id, _, doc_id, _, score, _ = line.split()
            scores.setdefault(query_id, {})[doc_id] = float(score)
        (self.folder / "data" / "scores.json").write_text(json.dumps(scores))

    def shell(self, command: str, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """As a runner of GitHub does it: every line must succeed."""
        own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "GITHUB_BASE_REF": "main"}
        own |= {
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_OUTPUT": str(self.folder / "output.txt"),
        }
        own |= {"RUNNER_TEMP": str(self.folder)} | (more or {})
        for role in ("AUTHOR", "COMMITTER"):
            own |= {f"GIT_{role}_NAME": "stranger", f"GIT_{role}_EMAIL": "stranger@example.org"}
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
        return subprocess.run(
            words, cwd=self.folder, env=os.environ | own, capture_output=True, text=True, timeout=120, check=False
        )

    def workflow(self) -> tuple[list[int], str]:
        """The exit codes of the workflow's own commands, and what they print."""
        done = [self.shell(command, more) for command, more in commands()]
        return [each.returncode for each in done], "".join(each.stdout for each in done)


@pytest.mark.slow
def test_everything_works_as_printed(tmp_path: Path) -> None:
    stranger = Stranger(tmp_path)
    stranger.ranks_like("new.run")
    (commands,) = re.findall(r"```console\n(\$ python -m pytest.*?)```", PAGE, flags=re.DOTALL)
    printed_commands = [line.removeprefix("$ ") for line in commands.splitlines()]
    for line in ("git init -q -b main .", "git remote add origin .", *printed_commands, "git commit -qm baseline"):
        done = stranger.shell(line)
        assert done.returncode == 0, done.stdout + done.stderr
    codes, told = stranger.workflow()
    assert codes == [0, 0, 0], told
    assert (tmp_path / "ndcg-ab-comment.md").read_text().startswith("### = nothing changed: new\n")

    stranger.ranks_like("old.run")
    codes, told = stranger.workflow()
    assert codes == [1, 0, 1], told
    (printed,) = re.findall(r"```text\n(E .*?)```", PAGE, flags=re.DOTALL)
    for line in printed.splitlines():
        assert line.rstrip("…").rstrip() in told, told
    assert (tmp_path / "output.txt").read_text() == "code=0\ncode=1\n"
    comment = (tmp_path / "ndcg-ab-comment.md").read_text()
    assert comment.startswith("### ? judge more results: new\n")
    assert (tmp_path / "summary.md").read_text().endswith(comment)


BOT, OLD = "github-actions[bot]", "<!-- ndcg-ab -->\n### old"
COMMENTS: dict[str, tuple[list[tuple[str | None, str | None]], str]] = {  # (author, text) -> what is done
    "none": ([], "create 7"),
    "others'": ([("ann", "Nice!"), (BOT, "> <!-- ndcg-ab --> quoted")], "create 7"),
    "others' with its mark": ([("ann", OLD), ("github-actions", OLD), ("other[bot]", OLD), (None, OLD)], "create 7"),
    "its own": ([("ann", "Nice!"), (BOT, OLD)], "update 1"),
    "its own after another's with its mark": ([("ann", OLD), (BOT, None), (BOT, OLD)], "update 2"),
}
PROGRAM = """
const there = JSON.parse(process.argv[1]).map(([login, body], id) => ({ id, body, user: login && { login } }))
const told = what => console.log(JSON.stringify(what))
const issues = {
  listComments: 'list',
  createComment: made => told([`create ${made.issue_number}`, made.repo, made.body]),
  updateComment: made => told([`update ${made.comment_id}`, made.repo, made.body]),
}
const github = { rest: { issues }, paginate: async (what, about) => about.issue_number === 7 ? there : [] }
const context = { repo: { owner: 'o', repo: 'r' }, issue: { number: 7 } }
const Script = Object.getPrototypeOf(async () => {}).constructor
new Script('github', 'context', 'require', process.argv[2])(github, context, require)
"""


@pytest.mark.first_case
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which GitHub runs the script with")
@pytest.mark.parametrize("name", COMMENTS)
def test_the_comment_is_written_once_and_then_changed(name: str, tmp_path: Path) -> None:
    there, done = COMMENTS[name]
    (script,) = (step["with"]["script"] for step in ACTION["runs"]["steps"] if "script" in step.get("with", {}))
    (tmp_path / "ndcg-ab-comment.md").write_text("### new")
    words = ["node", "-e", PROGRAM, json.dumps(there), script]
    own = os.environ | {"RUNNER_TEMP": str(tmp_path)}
    found = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=60, check=True)
    assert [json.loads(line) for line in found.stdout.splitlines()] == [[done, "r", "<!-- ndcg-ab -->\n### new"]]


OPTION = "begins with '-' and must be a file"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"JUDGMENTS": "--help"}, f"'--help' {OPTION}"),
        ({"JUDGMENTS": "--json=hacked"}, f"'--json=hacked' {OPTION}"),
        ({"JUDGMENTS": "-"}, f"'-' {OPTION}"),
        ({"SYSTEMS": "a.run\n--json=hacked"}, f"'--json=hacked' {OPTION}"),
        ({"SYSTEMS": "a.run\n  --quiet"}, f"'  --quiet' {OPTION}"),
        ({"GATE": "hard"}, "gate: 'hard' is none of harm, proof, none"),
        ({"SYSTEMS": "$(touch hacked)\n; touch hacked"}, "there is no such file"),
        ({"OPTIONS": "--metric ndcg@5;touch hacked"}, "ndcg@5;touch"),
    ],
)
def test_the_action_refuses_and_runs_nothing_else(given: dict[str, str], said: str, tmp_path: Path) -> None:
    (command,) = (step["run"] for step in ACTION["runs"]["steps"] if "env" in step)
    stranger = Stranger(tmp_path)
    usual = {"JUDGMENTS": "data/judgments.qrels", "SYSTEMS": "a.run\nb.run", "OPTIONS": "", "GATE": "harm"}
    done = stranger.shell(command, usual | given)
    assert done.returncode == 2 and said in done.stderr
    assert not (tmp_path / "hacked").exists() and not (tmp_path / "summary.md").exists()


def test_the_action_gives_files_after_its_options(tmp_path: Path) -> None:
    (command,) = (step["run"] for step in ACTION["runs"]["steps"] if "env" in step)
    stranger = Stranger(tmp_path)
    (tmp_path / "ndcg-ab").write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$RUNNER_TEMP/words"\n')
    (tmp_path / "ndcg-ab").chmod(0o755)
    given = {"JUDGMENTS": "a b.qrels", "SYSTEMS": "a.run\n\nb=-x.run", "OPTIONS": "--metric rr", "GATE": "proof"}
    done = stranger.shell(command, given | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    options = ["compare", "--metric", "rr", "--gate", "proof", "--markdown", f"{tmp_path}/ndcg-ab-comment.md"]
    assert (tmp_path / "words").read_text().splitlines() == [*options, "--", "a b.qrels", "a.run", "b=-x.run"]


def test_the_action_installs_the_pinned_packages_of_its_folder(tmp_path: Path) -> None:
    command = next(step["run"] for step in ACTION["runs"]["steps"] if "pip install" in step.get("run", ""))
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$RUNNER_TEMP/words"\n')
    (tmp_path / "python").chmod(0o755)
    own = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "GITHUB_ACTION_PATH": str(ROOT)}
    assert Stranger(tmp_path).shell(command, own).returncode == 0
    words = (tmp_path / "words").read_text().splitlines()
    assert words == ["-m", "pip", "install", "--quiet", "--constraint", f"{ROOT}/constraints.txt", str(ROOT)]
    assert (ROOT / "constraints.txt").is_file()
