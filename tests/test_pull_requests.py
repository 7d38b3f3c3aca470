"""docs/pull-requests.md, run as printed: the repository of a stranger, who has a folder `flows` as well."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.places import DATA, ROOT

PAGE = (ROOT / "docs" / "pull-requests.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))
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

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        """As a runner of GitHub does it: every line must succeed."""
        own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "GITHUB_BASE_REF": "main"}
        own |= {"GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
        for role in ("AUTHOR", "COMMITTER"):
            own |= {f"GIT_{role}_NAME": "stranger", f"GIT_{role}_EMAIL": "stranger@example.org"}
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
        return subprocess.run(
            words, cwd=self.folder, env=os.environ | own, capture_output=True, text=True, timeout=120, check=False
        )

    def workflow(self) -> tuple[list[int], str]:
        """The exit codes of the workflow's own commands, and what they print."""
        commands = [step["run"] for step in steps() if "run" in step and "pip install" not in step["run"]]
        done = [self.shell(command) for command in commands]
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
    assert (tmp_path / "comment.md").read_text().startswith("### = nothing changed: new\n")

    stranger.ranks_like("old.run")
    codes, told = stranger.workflow()
    assert codes == [1, 1, 0], told
    (printed,) = re.findall(r"```text\n(E .*?)```", PAGE, flags=re.DOTALL)
    for line in printed.splitlines():
        assert line.rstrip("…").rstrip() in told, told
    comment = (tmp_path / "comment.md").read_text()
    assert comment.startswith("### ✗ do not ship: new\n")
    assert (tmp_path / "summary.md").read_text().endswith(comment)


COMMENTS: dict[str, tuple[list[str], str]] = {  # comments that are there -> what is done
    "none": ([], "create 7"),
    "others'": (["Nice!", "> <!-- ndcg-ab --> quoted"], "create 7"),
    "its own": (["Nice!", "<!-- ndcg-ab -->\n### old"], "update 1"),
}
PROGRAM = """
const there = JSON.parse(process.argv[1]).map((body, id) => ({ id, body }))
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


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which GitHub runs the script with")
@pytest.mark.parametrize("name", COMMENTS)
def test_the_comment_is_written_once_and_then_changed(name: str, tmp_path: Path) -> None:
    there, done = COMMENTS[name]
    (script,) = (step["with"]["script"] for step in steps() if "script" in step.get("with", {}))
    (tmp_path / "comment.md").write_text("### new")
    words = ["node", "-e", PROGRAM, json.dumps(there), script]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert [json.loads(line) for line in found.stdout.splitlines()] == [[done, "r", "<!-- ndcg-ab -->\n### new"]]
