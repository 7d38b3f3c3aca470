"""Documentation that is run: commands, configurations, options, links."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

import ndcg_ab
from ndcg_ab import evaluate
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.keys import EXTENDS
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.redaction import find_plain_secrets, secrets_in
from ndcg_ab.flows.cli.app import app
from ndcg_ab.studies.first_configuration import write_example
from tests.ceilings import CEILINGS
from tests.commands import invoke
from tests.paths import ROOT, load_script
from tests.repeated import mostly_slow

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *TUTORIALS,
    ROOT / "configs" / "demo.md",
]
COMMANDS = typer.main.get_command(app).commands


def console_commands(page: Path) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def printed_in(page: Path) -> list[tuple[str, str]]:
    """The commands of a page whose output stands below them, with it."""
    blocks = re.findall(r"```console\n\$ (ndcg-ab .*)\n((?:(?!\$ |```).*\n)+)```", page.read_text(encoding="utf-8"))
    return [(command, output) for command, output in blocks if output.strip()]


PRINTED = ["README.md", "docs/index.md", "docs/tutorials/first-comparison.md", "docs/judging.md", "docs/clicks.md"]
PRINTED_SLOW = ["docs/costs.md", "docs/draw.md"]
COMPARED = {command for page in (*PRINTED, *PRINTED_SLOW) for command, _ in printed_in(ROOT / page)}
EXAMPLES = [
    (page.name, command)
    for page in PAGES
    for command in dict.fromkeys(console_commands(page))
    if command.startswith("ndcg-ab") and not re.search(" (run|history) ", command)  # nights have tests of their own
    if command not in COMPARED  # whose output is held to what is printed
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the documentation's commands work: beside the checkout's files, and the example's."""
    for name in ("configs", "docs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    write_example(tmp_path / "example")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command"), EXAMPLES)
def test_commands_in_the_documentation_work(page: str, command: str, place: Path) -> None:
    if command == "ndcg-ab example":
        shutil.rmtree(place / "example")
    if command.endswith(" clicks.csv") and " clicks " not in command:  # what the command above it wrote
        (place / "clicks.csv").write_text("query_id,doc_id,grade\nq01,csv,3\n")
    if command.endswith(" drawn.tsv") and " draw " not in command:
        (place / "drawn.tsv").write_text("query_id\tprobability\nq03\t0.5\nq05\t0.5\nq06\t\n")
    found = invoke(shlex.split(command)[1:])
    assert found.exit_code == 0, found.output


@pytest.mark.first_case
@pytest.mark.parametrize("page", [*PRINTED, *mostly_slow(PRINTED_SLOW, kept=[])])
def test_output_in_the_documentation_is_what_is_printed(
    page: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = printed_in(ROOT / page)
    assert shown
    for command, output in shown:
        found = invoke(shlex.split(command)[1:])
        assert (found.exit_code, found.stdout) == (0, output)


@pytest.mark.slow
def test_the_tutorial_of_the_nights_works(place: Path) -> None:
    """Its configuration, twice, with its change between; a tracker that needs no server."""
    text = (ROOT / "docs" / "tutorials" / "every-night.md").read_text(encoding="utf-8")
    (configuration,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    (place / "shop.yaml").write_text(f"{configuration}tracker: json_lines\n")
    (change,) = re.findall(r"^\$ sed -i 's/(.*?)/(.*?)/' (\S+)$", text, flags=re.MULTILINE)
    printed = []
    for command in [
        line for line in console_commands(ROOT / "docs" / "tutorials" / "every-night.md") if " run " in line
    ]:
        if printed:
            ranking = place / change[2]
            before = ranking.read_text()
            ranking.write_text(before.replace(*change[:2]))
            assert ranking.read_text() != before
        found = invoke(shlex.split(command)[1:])
        assert found.exit_code == 0, found.output
        printed.append(found.stdout)
    assert len(printed) == 2 and "since evaluation 1" in printed[1] and "changed: ranking" in printed[1]


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("java") is None, reason="no Java")
def test_the_tutorial_on_spark_works(place: Path) -> None:
    """Its files and commands as they are printed, each in a process of its own; two minutes, most of them Java's."""
    page = ROOT / "docs" / "tutorials" / "spark.md"
    text = page.read_text(encoding="utf-8")
    for name, content in re.findall(r"`(\w+\.(?:py|yaml))`[^`]*?:\n\n```\w+\n(.*?)```", text, flags=re.DOTALL):
        (place / name).write_text(content)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    ((first, output),) = printed_in(page)
    printed = {}
    for command in [each for each in console_commands(page) if each.startswith(("python ", "ndcg-ab run "))]:
        found = subprocess.run(shlex.split(command), env=environment, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        printed[command] = found.stdout
    for command in (first, "ndcg-ab run catalogue.yaml"):
        assert printed[command].startswith(output)


@pytest.mark.slow
def test_pictures_are_current() -> None:
    """`make pictures` has been run since the answer looks as it does; the corpus is that of one version of Python."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the picture was made with Python 3.11, whose documentation the demo searches")
    pictures = load_script(ROOT / "docs" / "pictures.py")
    drawn = (ROOT / "docs" / "images" / "terminal.svg").read_text(encoding="utf-8")
    shown = pictures.words_in_picture(pictures.draw_terminal(evaluate(ROOT / "configs" / "demo.yaml")))
    # The last digits, and so findings, depend on which modules this machine has.
    told = [
        sorted(re.findall("[a-z]{2,}", text.partition("! ")[0])) for text in (pictures.words_in_picture(drawn), shown)
    ]
    assert told[0] == told[1], "make pictures"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2


def test_the_page_on_python_names_the_commands_that_have_a_function() -> None:
    first = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split("\n\n")[1]
    named = {name for name in re.findall(r"`(\w+)`", first) if name in COMMANDS and name != "run"}
    assert named == {name for name in COMMANDS if name in ndcg_ab.__all__ or f"{name}_query" in ndcg_ab.__all__}


def test_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in console_commands(ROOT / "README.md"):
        if command.startswith("make "):
            assert re.search(rf"^{command.split()[1]}:", makefile, flags=re.MULTILINE), command


def test_the_demo_installs_less_than_the_tests() -> None:
    extras = {}
    for target in ("demo", ".venv/ready"):
        made = ["make", "--dry-run", "--what-if=pyproject.toml", target]
        found = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        extras[target] = set(re.findall(r"--editable \"\.\[(\w+)\]\"", found))
    assert extras == {"demo": {"nightly"}, ".venv/ready": {"test"}}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
    parameters = COMMANDS[name].params
    named = {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
    options = {option for option in named if option.startswith("--")}
    assert set(re.findall(r"`(--[a-z-]+)", section)) == options - {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in {re.sub(r"[^\w-]", "", head.lower().replace(" ", "-")) for head in heads}, target


OF_READERS = {"dbt.md", "pull-requests.md", "python.md"}  # whose examples stand in projects of their own


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in OF_READERS], ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    """But NAME and NNN stand for what is added."""
    tops = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build", "dist"}
    named = re.findall(r"`([\w.*-]+(?:/[\w.*-]+)+/?)`", page.read_text(encoding="utf-8"))
    of_ours = {name for name in named if name.partition("/")[0] in tops and not re.search("NAME|NNN", name)}
    assert {name for name in of_ours if not list(ROOT.glob(name.rstrip("/")))} == set()


def test_the_changes_of_a_version_are_short_and_begin_with_what_to_do() -> None:
    for version in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        assert len(version.splitlines()) <= CEILINGS["changes"]["lines"]
        assert re.findall(r"^\*\*(.+?)\*\*", version, flags=re.MULTILINE)[0] == "What to do"


def keys(model: type, found: set[str]) -> set[str]:
    from ndcg_ab.config.loading.keys import inner_types

    for name, field in model.model_fields.items():
        found.add(name)
        for inner in inner_types(field.annotation):
            if isinstance(inner, type) and hasattr(inner, "model_fields"):
                keys(inner, found)
    return found


def test_the_example_configuration_shows_every_key() -> None:
    path = ROOT / "configs" / "example.yaml"
    text = path.read_text(encoding="utf-8")
    for key in keys(Evaluation, {EXTENDS}) - {"directory"}:
        assert re.search(rf"^[ #-]*{key}:", text, flags=re.MULTILINE), key
    read_config(path)


# A key and its value, in a block or between braces, commented out or not.
PAIR = re.compile(r"([\w-]+): +([^,{}\[\]#\n]+)")


def test_no_example_of_a_configuration_holds_what_looks_like_a_secret() -> None:
    """Who follows an example to the letter is not refused for it."""
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "configs").glob("*.md"), ROOT / "README.md"]
    blocks = {
        f"{page.name} {number}": block
        for page in pages
        for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    }
    assert len(blocks) > 20
    found = {name: list(find_plain_secrets(list(yaml.safe_load_all(block)))) for name, block in blocks.items()}
    for path in (ROOT / "configs").glob("*.yaml"):
        pairs = PAIR.findall(path.read_text(encoding="utf-8"))
        found[path.name] = [key for key, value in pairs if any(secrets_in(key, value.strip("\"' ")))]
    assert {name: keys for name, keys in found.items() if keys} == {}


@pytest.mark.slow
def test_drawings_are_current() -> None:
    """`make docs` has been run since the SQL files and the imports changed."""
    pages: dict[Path, str] = load_script(ROOT / "docs" / "draw.py").render_pages()
    names = ["architecture.md", "findings.md", "glossary.md", "inputs.md", "pipeline.md"]
    assert sorted(path.name for path in pages) == names
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make docs"


def test_every_sql_file_is_in_the_drawing() -> None:
    page = (ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8")
    paths = list((ROOT / "sql").rglob("*.sql"))
    assert paths
    for path in paths:
        assert f"[`{path.name}`](../sql/{path.parent.name}/{path.name})" in page
