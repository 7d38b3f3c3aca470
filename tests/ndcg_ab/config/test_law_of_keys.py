"""A key says once, in its model, what it is: every reader has a dummy key and a dummy source that are added here."""

import ast
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import Field, model_validator

from ndcg_ab.config.loading import schema
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.keys import known_keys, may_hold_secret
from ndcg_ab.config.loading.templates import resolve_templates
from ndcg_ab.config.loading.yaml_files import read_yaml
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import GivenFile, SourceModel
from ndcg_ab.config.model.inputs.judgments import JUDGMENT_KINDS, JudgmentSource
from ndcg_ab.config.model.inputs.sources import KINDS, System
from ndcg_ab.config.model.keys import Option, SecretText, Trait, options_of, with_keys_of
from ndcg_ab.config.options import from_options
from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.console import local_inputs
from ndcg_ab.flows.cli.options import make_option, parameter_type
from ndcg_ab.history.database import configuration_key
from ndcg_ab.sources.registry import SOURCES, make_source
from tests.paths import ROOT
from tests.sentences import refusal_text
from tests.test_docs import keys as keys_of_documentation


class ShelfSource(SourceModel):
    """A kind of place that the product does not know."""

    shelf: GivenFile = Field(description="The shelf.")
    label: Annotated[str, Trait.DATED] = Field("none", description="A text with dates, and a default.")
    boards: int = Field(10, ge=1, le=99, description="A number, whose default is not nothing.")
    lock: Annotated[SecretText | None, Trait.LATE] = Field(None, description="What may be a secret.")

    @model_validator(mode="after")
    def _fits(self) -> "ShelfSource":
        if self.boards == 13:
            raise ValueError("boards = 13: no shelf has so many")
        return self


WideSystem: Any = with_keys_of(KINDS | {"shelf": ShelfSource})(System)
WideJudgments: Any = with_keys_of(JUDGMENT_KINDS | {"shelf": ShelfSource})(JudgmentSource)


class WideEvaluation(Evaluation):
    """With a dummy key, one that changes no result, and a path."""

    judgments: WideJudgments | None = Field(None, description="The judgments.")
    systems: list[WideSystem] = Field(default_factory=list, description="The systems.")
    lantern: Annotated[int, Option("--lantern", "compared", "Metrics", "N")] = Field(
        3, strict=True, ge=1, description="The dummy key."
    )
    ledger: Annotated[Path | None, Trait.PATH, Trait.OPERATIONAL] = Field(None, description="A dummy path.")


CONFIG = """
name: t
judgments: {shelf: judged, lock: {file: key.txt}}
systems:
  - {name: old, file: old.run}
  - {name: new, shelf: "shelf-{date}", label: "{date:%Y}", boards: 4, lock: {file: key.txt}}
lantern: 5
ledger: ledger.txt
"""


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every module of the product read the evaluation with the dummies."""
    for name, module in list(sys.modules.items()):
        if name.startswith("ndcg_ab.") and getattr(module, "Evaluation", None) is Evaluation:
            monkeypatch.setattr(module, "Evaluation", WideEvaluation)
    monkeypatch.setattr(schema, "System", WideSystem)
    added = [option for option in options_of(WideEvaluation) if option.key == "lantern"]
    monkeypatch.setattr(from_options, "OPTIONS", (*from_options.OPTIONS, *added))
    monkeypatch.setattr(from_options, "BY_KEY", from_options.BY_KEY | {"lantern": added[0]})
    monkeypatch.setitem(SOURCES, ShelfSource, lambda described, directory: (described, directory))


def read(folder: Path, text: str = CONFIG, *settings: str) -> Any:
    (folder / "c.yaml").write_text(text)
    return read_config(folder / "c.yaml", settings)


def test_it_is_read_beside_sources_that_have_none_of_its_keys(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert [system.kind for system in found.systems] == ["file", "shelf"], "a default is not taken as given"
    assert make_source(found.systems[1].source, tmp_path)[0] == ShelfSource(
        shelf=Path("shelf-{date}"), label="{date:%Y}", boards=4, lock={"file": "key.txt"}
    )
    assert (found.lantern, read(tmp_path, CONFIG, "lantern=7").lantern) == (5, 7)


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("old.run", "old.run, boards: 4", "systems[0]: boards go with shelf, not with file"),
        ("old.run", "old.run, boads: 4", "key 'systems[0].boads' is unknown; did you mean 'boards'?"),
        ("old.run", "old.run, shelf: x", "systems[0]: needs either file, python, database, http, table, extension or"),
        ("boards: 4", "boards: 13", "boards = 13: no shelf has so many"),
        ("boards: 4", "boards: 100", "boards = 100: must be 99 or less"),
        ("lantern: 5", "lantern: 0", "lantern = 0: must be 1 or more"),
    ],
)
def test_what_is_wrong_with_it_is_said_in_a_sentence(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    message = refusal_text(read, tmp_path, CONFIG.replace(right, wrong))
    assert said in message.replace(" = {", ": {")


def test_commands_and_the_python_api_give_it() -> None:
    (option,) = (each for each in from_options.OPTIONS if each.name == "--lantern")
    made = make_option(option)
    assert (parameter_type(option), made.param_decls, made.metavar) == (int | None, ("--lantern",), "N")
    assert (made.help, made.rich_help_panel) == ("The dummy key. (default 3)", "Metrics")
    files: dict[str, Any] = {"judgments": "q", "system": ["a=a.run", "b=b.run"]}
    given: Any = from_options.evaluation_from_options(files | {"lantern": 7})
    assert given.lantern == 7
    systems = [{"name": "a", "file": "a.run"}]
    called: Any = from_options.evaluation_from_arguments({"judgments": "q", "systems": systems, "lantern": 8})
    assert called.lantern == 8
    with pytest.raises(InputError, match=r"^--lantern = 0: must be 1 or more$"):
        from_options.evaluation_from_options(files | {"lantern": 0})
    with pytest.raises(InputError, match=r"^lantern = 0: must be 1 or more$"):
        from_options.evaluation_from_arguments({"judgments": "q", "systems": systems, "lantern": 0})


def test_its_paths_start_from_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "base.yaml").write_text(CONFIG)
    found = read(tmp_path, "extends: base/base.yaml\n")
    base = tmp_path.resolve() / "base"
    assert found.systems[1].shelf == base / "shelf-{date}"
    assert found.systems[1].label == "{date:%Y}", "a text is no path"
    assert (found.judgments.shelf, found.ledger) == (base / "judged", base / "ledger.txt")
    assert found.systems[1].lock == found.judgments.lock == {"file": str(base / "key.txt")}


def test_its_dates_are_written_and_its_file_is_an_input(tmp_path: Path) -> None:
    for name in ("shelf-2026-11-20", "judged", "old.run"):
        (tmp_path / name).write_text("")
    found = resolve_templates(read(tmp_path), datetime(2026, 11, 20, 2, tzinfo=UTC))
    assert (str(found.systems[1].shelf), found.systems[1].label) == ("shelf-2026-11-20", "2026")
    assert set(map(str, local_inputs(found))) == {"judged", "old.run", "shelf-2026-11-20"}
    with pytest.raises(InputError, match=r"systems\[1\]\.label = '\{date:%Q\}': .*'%Q' is no code of a date"):
        read(tmp_path, CONFIG.replace("%Y", "%Q"))


def test_its_secret_is_looked_up_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCK", "pl4in-w0rd")
    found = read(tmp_path, CONFIG.replace("boards: 4, lock: {file: key.txt}", "lock: '${LOCK}'"))
    assert found.systems[1].lock == "${LOCK}"
    assert may_hold_secret(("judgments", "lock")) and not may_hold_secret(("judgments", "label"))
    assert "pl4in" not in found.model_dump_json()


def test_it_counts_for_the_content_key_unless_it_is_operational(tmp_path: Path) -> None:
    texts = (CONFIG, CONFIG.replace("ledger.txt", "other.txt"), CONFIG.replace("shelf: judged", "shelf: other"))
    assert len({configuration_key(read(tmp_path, text)) for text in texts}) == 1
    assert len({configuration_key(read(tmp_path, text)) for text in (CONFIG, CONFIG.replace("lantern: 5", ""))}) == 2


def test_the_schema_has_it_and_the_documentation_must_name_it(tmp_path: Path) -> None:
    assert {"shelf", "label", "boards", "lock", "lantern", "ledger"} <= keys_of_documentation(WideEvaluation, set())
    assert "lantern" in known_keys(())
    made = schema.json_schema()
    read(tmp_path)
    content = json.loads(json.dumps(read_yaml(tmp_path / "c.yaml")))
    assert [each.message for each in jsonschema.Draft202012Validator(made).iter_errors(content)] == []
    assert made["properties"]["lantern"]["description"] == "The dummy key."
    content["systems"][1] |= {"file": "another"}
    assert len(list(jsonschema.Draft202012Validator(made).iter_errors(content))) == 1, "two places"


# ---- no list of keys by hand

# Where keys are named together for what they mean, not for what they are: module -> why.
NAMED_TOGETHER = {"ndcg_ab/api/arguments.py": "what goes with rankings, and not with scores of another tool"}


def lists_of_keys(path: Path) -> Iterator[list[str]]:
    """Yield the tuples, lists and sets of a module that name three keys of an evaluation or more, and nothing else."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            texts = [each.value for each in node.elts if isinstance(each, ast.Constant)]
            if len(texts) == len(node.elts) >= 3 and set(texts) <= set(Evaluation.model_fields):
                yield [str(text) for text in texts]


def test_no_module_but_the_model_lists_keys() -> None:
    found = {}
    for folder in ("ndcg_ab/config", "ndcg_ab/api", "flows"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "config/model" not in str(path) and (lists := list(lists_of_keys(path))):
                found[str(path.relative_to(ROOT))] = lists
    assert found.keys() <= NAMED_TOGETHER.keys(), found
