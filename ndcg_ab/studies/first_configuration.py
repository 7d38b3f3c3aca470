"""Recognise unnamed files to write a first configuration (`ndcg-ab init`) or check them (`ndcg-ab check FILE …`).

A written configuration includes commented-out keys that may be useful next. Files to check need not include judgments.
"""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from ndcg_ab.checks.data_checks import check_rankings_alone
from ndcg_ab.config.loading.layers import fill_in_content
from ndcg_ab.config.loading.templates import is_folder_or_pattern, resolve_templates
from ndcg_ab.config.loading.yaml_files import parse_yaml
from ndcg_ab.config.model.evaluation import NAME, Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.config.options.from_options import validate_evaluation
from ndcg_ab.config.options.positional import NamedFile, distinct_names
from ndcg_ab.deadlines import Say
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.files import CONFIGURATIONS, name_path_in_errors, resolve_path, write_text
from ndcg_ab.pipeline.stages import check_only
from ndcg_ab.results.codec import encode, json_text
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources.files.file import refuse_unreadable_file
from ndcg_ab.sources.files.parts import local_parts
from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING
from ndcg_ab.sources.forms.recognition import OPTIONS, recognise_file, refuse_unknown_form
from ndcg_ab.sources.registry import split_by_system

FEW = "few-judgments.qrels"  # of the example: judgments that do not settle the comparison
EXAMPLE = ("documents.tsv", "judgments.qrels", "new.run", "old.run", "queries.tsv")
MORE = {"judgments.qrels": "stories.qrels", "new.run": "tofu.run"}  # what the example has and the tests do not
SCHEMA_FILE = "ndcg-ab.schema.json"
WEIGHTED = "queries weigh as their column weight says; `statistics: {weighted: false}` ignores it"


def write_example(folder: Path) -> list[Path]:
    """Write the example's files into a folder, and return their paths; raise InputError if a file exists already."""
    package = Path(__file__).parent.parent
    # in a checkout the example is among the tests
    source = package / "example" if (package / "example").is_dir() else package.parent / "tests" / "data"
    texts = {name: (source / name).read_text(encoding="utf-8") for name in EXAMPLE}
    texts[FEW] = texts["judgments.qrels"]
    for name, more in MORE.items():
        texts[name] += (source / more).read_text(encoding="utf-8")
    taken = next((folder / name for name in sorted(texts) if (folder / name).exists()), None)
    if taken is not None or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{taken or folder}: is there already; name another folder, or take it away")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in sorted(texts)]


@dataclasses.dataclass(frozen=True)
class InputFiles:
    """The files of an evaluation, which options named or whose content was recognised.

    judgments, queries: None if there is no such file. systems: system -> ranking file, the baseline first. grades: word
    -> number, for grades that are written as words.
    """

    judgments: Path | None
    systems: Mapping[str, Path]
    queries: Path | None = None
    grades: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def describe_files(self) -> list[str]:
        """Return one line per file: its path and its role (judgments, ranking of a system, queries)."""
        lines = [f"{self.judgments}: judgments"] if self.judgments else []
        baseline, *_ = self.systems
        for name, path in self.systems.items():
            lines.append(f"{path}: ranking of {name}" + (", the baseline" if name == baseline else ""))
        return lines + ([f"{self.queries}: queries"] if self.queries else [])


def guess_inputs(
    files: Sequence[Path],
    judgments: Path | None,
    systems: Mapping[str, Path],
    queries: Path | None,
    *,
    needs_judgments: bool = True,
) -> InputFiles:
    """Find out by their content which files are judgments, rankings and queries.

    files: the files to recognise. judgments, systems, queries: files whose role an option names; systems: system ->
    file. Raises InputError if the form of a file is unknown, if two files are judgments or queries, or if there is no
    ranking. needs_judgments: whether to raise InputError if there are no judgments, too.
    """
    single = {kind: path for kind, path in ((JUDGMENTS, judgments), (QUERIES, queries)) if path}
    for kind, path in (*single.items(), *((RANKING, path) for path in systems.values())):
        recognise_kind(path, kind)
    rankings: list[Path] = []
    for path in files:
        kind = recognise_kind(path) or refuse_unknown_form(path)
        if kind == RANKING:
            if path in (*rankings, *systems.values()):
                raise InputError(f"{path}: is given twice; each system has a ranking of its own")
            rankings.append(path)
        elif kind not in (JUDGMENTS, QUERIES):
            raise InputError(f"{path}: looks like {kind}, which are read by {OPTIONS[kind]}")
        elif kind in single:
            raise InputError(f"{path}: looks like {kind}, as {single[kind]} does; one file is needed")
        else:
            single[kind] = path
    names = distinct_names([*map(str, rankings)], [*systems])
    spread = split_by_system(list(map(NamedFile, names, map(str, rankings))))
    by_system = {**systems, **{each.name: Path(each.file) for each in spread}}
    if needs_judgments and JUDGMENTS not in single:
        raise InputError("no judgments: name them with --judgments FILE")
    if not by_system:
        raise InputError("no ranking: name one for each system with --system NAME=FILE")
    return InputFiles(single.get(JUDGMENTS), by_system, single.get(QUERIES))


def recognise_kind(path: Path, kind: str | None = None) -> str | None:
    """Return the kind of content of a file, such as `ranking`, or None if its form is unknown.

    kind: the role of the file; None if it is to be found out. Raises InputError if the file is missing or empty.
    """
    first = path
    if kind == RANKING and is_folder_or_pattern(path):
        first = local_parts(FileSource(file=path, parts=True), path, Path())[0].path
    refuse_unreadable_file(first)
    reading = recognise_file(first, kind)
    return reading.kind if reading else None


def evaluation_name(folder: Path) -> str:
    """Return a name for the evaluation, made from the name of `folder`, or "evaluation" if that gives none."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", resolve_path(folder).name).strip("-._")
    return name if re.fullmatch(NAME, name) else "evaluation"


def configuration_text(
    files: InputFiles, folder: Path, name: str, metrics: Sequence[str], *, is_weighted: bool = False
) -> str:
    """Return the text of a configuration in YAML.

    folder: folder of the configuration file, to which the paths are relative. is_weighted: True if the queries have
    weights; then a comment says so.
    """
    assert files.judgments is not None
    systems = [
        f"  - name: {yaml_scalar(system)}\n" + source_yaml(each, folder, "    ")
        for system, each in files.systems.items()
    ]
    queries = "# queries: queries.tsv     # texts, weights, attributes for slices (query_id, text, weight, …)\n"
    if files.queries:
        queries = (f"# {WEIGHTED}\n" if is_weighted else "") + "queries:\n" + source_yaml(files.queries, folder, "  ")
    words = ", ".join(f"{yaml_scalar(word)}: {number:g}" for word, number in files.grades.items())
    grades = f"  grades: {{{words}}}\n" if words else ""
    first = metrics[0]
    return f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
# Every key: configs/example.yaml of ndcg-ab. Paths are relative to this file.

name: {yaml_scalar(name)}

judgments:
{source_yaml(files.judgments, folder, "  ")}{grades}{queries}
systems:                   # the first is the baseline
{"".join(systems)}
metrics: [{", ".join(yaml_scalar(metric) for metric in metrics)}]
# primary_metrics: all     # by default the first decides, and the others describe
# secondary_metrics: [rr]  # shown, and never decisive; then all of metrics decide
# guardrails:              # no candidate may be worse by more than this
#   recall@100: 0.02

# statistics:
#   smallest_effect:       # the smallest difference that is worth shipping
#     {yaml_scalar(first)}: 0.005

# gate:                    # what must hold for the exit code 0
#   no_regression: true
#   judged: 0.5            # least share of judged results

# schedule:                # for ndcg-ab serve and ndcg-ab deploy
#   cron: "0 2 * * *"
#   timezone: Europe/Berlin

output: ndcg-ab-results
"""


def source_yaml(path: Path, folder: Path, indent: str) -> str:
    file = yaml_scalar(os.path.relpath(resolve_path(path), resolve_path(folder)))
    return f"{indent}file: {file}\n" + f"{indent}parts: true\n" * is_folder_or_pattern(path)


def yaml_scalar(text: str) -> str:
    """Return a text as a YAML scalar, in quotes if YAML needs them."""
    plain = text.replace("${", "$${")
    found: str = yaml.safe_dump([plain], default_flow_style=True, width=10**6, allow_unicode=True).strip()
    return found[1:-1]


def read_evaluation(text: str, folder: Path) -> Evaluation:
    """Parse the text of a configuration into an evaluation; raise InputError if it is invalid."""
    content: dict[str, Any] = fill_in_content(parse_yaml(text), "init")
    evaluation = validate_evaluation({**content, "directory": resolve_path(folder)})
    return resolve_templates(evaluation, datetime.now(UTC))


# ---- a check of files


def is_configuration(files: Sequence[Path]) -> bool:
    """Return whether `files` is one configuration file, by its name or content.

    A single file that does not exist counts as a configuration.
    """
    if len(files) != 1 or files[0].suffix.lower() in CONFIGURATIONS:
        return len(files) == 1
    if not files[0].is_file():
        return True
    with name_path_in_errors(files[0]), files[0].open("rb") as file:
        start = file.read(200).decode("utf-8", errors="replace")
    return recognise_file(files[0]) is None and bool(re.match(r"\s*(#|---|[\w-]+:\s)", start))


def check_files(
    files: Sequence[Path],
    judgments: Path | None,
    systems: Mapping[str, Path],
    keys: Mapping[str, Any],
    engine: Engine,
    say: Say,
    words: Mapping[str, float] | None = None,
    duplicates: str | None = None,
) -> tuple[list[Finding], str]:
    """Check files without a configuration; return the findings, and a text about the content of each file.

    files: files whose role is found out. systems: system -> ranking file. keys: other keys of the evaluation -> value:
    metrics, findings, strict, documents. words: word -> number, for grades that are words. duplicates: "first" to count
    the first rank of a repeated document; None: it is refused.
    """
    inputs = guess_inputs(files, judgments, systems, None, needs_judgments=False)
    judged = inputs.judgments or "no judgments"  # a path that is not read
    content: dict[str, Any] = {"name": "check", "judgments": {"file": str(judged), "grades": words}, **keys}
    content["systems"] = [
        {"name": name, "file": str(path), "parts": is_folder_or_pattern(path), "duplicates": duplicates}
        for name, path in inputs.systems.items()
    ]
    if inputs.queries:
        content["queries"] = {"file": str(inputs.queries)}
    evaluation: Evaluation = validate_evaluation(content)
    check = check_only if inputs.judgments else check_rankings_alone
    findings, counts = check(evaluation, engine, say)
    return findings, "\n".join([*inputs.describe_files(), counts])


def checked_to_json(counts: str, findings: Sequence[Finding]) -> str:
    """Return the findings, and the text about the files line by line, as JSON. counts: the text of `check_files`."""
    return json_text({"read": counts.splitlines(), "findings": encode(list(findings))})
