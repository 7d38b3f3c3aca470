"""The mistakes that people really make: each is answered with what to write instead, and exit code 2."""

import bz2
import gzip
import io
import lzma
import re
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.commands import invoke
from tests.ndcg_ab.sources.files.test_bad_input import JUDGMENTS as BAD_JUDGMENTS
from tests.paths import DATA

QRELS, RUN, QUERIES = (str(DATA / name) for name in ("judgments.qrels", "old.run", "queries.tsv"))
# What a remedy leaves to whoever reads it, and what readers may fill in: one of these has to work.
PLACEHOLDERS = {
    "--queries FILE": [f"--queries {QUERIES}"],
    "--scores FILE": [f"--scores {RUN}"],
    "FILE": [RUN],
    "FORMAT": ["trec", "csv", "tsv", "jsonl"],
    "COLUMN": ["x"],
    "NAME": ["other"],
    "NUMBER": ["1"],
}


class Mistake(NamedTuple):
    """options: beside good judgments and the good ranking `old`. files: what is written first; {} is their folder.

    said: what must stand in the message. judgments: another file of them. command: instead of all of that.
    """

    said: list[str]
    options: str = ""
    files: Mapping[str, str | bytes] = MappingProxyType({})
    judgments: str = QRELS
    command: str | Sequence[str] = ""


def metric(text: str, *said: str) -> Mistake:
    return Mistake(list(said), f"--metric {text}")


def config(text: str, *said: str) -> Mistake:
    """What a configuration adds to a name, judgments and systems, which it replaces where it has them."""
    keys = {"name": "name: t", "judgments": f"judgments: {QRELS}", "systems": f"systems: [{{name: a, file: {RUN}}}]"}
    keys = {key: line for key, line in keys.items() if not text.startswith(key + ":")}
    return Mistake(list(said), files={"c.yaml": "\n".join([*keys.values(), text])}, command="check {}/c.yaml")


def judged(name: str, content: str | bytes, *said: str) -> Mistake:
    return Mistake(list(said), files={name: content}, judgments=f"{{}}/{name}")


def ranked(name: str, content: str | bytes, *said: str, options: str = "") -> Mistake:
    return Mistake(list(said), f"--system new={{}}/{name} {options}", files={name: content})


def packed(pack: Callable[[bytes], bytes], remedy: str) -> Mistake:
    content = pack(pack(Path(QRELS).read_bytes()))
    return judged("j.qrels", content, "holds a packed file", f"unpack it: {remedy} {{}}/j.qrels > NEW")


def zipped(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.write(QRELS, name)
    return content.getvalue()


MISTAKES: dict[str, Mistake] = {
    "? in output": config("output: a?b/out", "output = 'a?b/out': holds a '?'", "name another folder"),
    # names of metrics
    "SDCG@10 of ir_measures": metric("SDCG@10", "--metric: metric 'SDCG@10': ir_measures", "it needs max_rel"),
    "explain of ir_measures": Mistake(
        ["metric 'SetP': ir_measures", "how is not known here"],
        command=f"explain --judgments {QRELS} --system a={RUN} --query bread --metric SetP",
    ),
    "sql of ir_measures": Mistake(
        ["metric 'SetP': is computed by ir_measures, and cannot be said in SQL"],
        command="sql --metric SetP --dialect duckdb",
    ),
    "metrics of ir_measures": Mistake(["metric 'SetP': is computed by ir_measures"], command="metrics SetP"),
    "f1@5": metric("f1@5", "F1 is not computed here"),
    "two metrics in one": metric("ndcg@10,rr@10", "give each by itself: --metric ndcg@10 --metric rr@10"),
    "two with choices": metric("ndcg(gain=binary,ties=given)@5,rr", "'ndcg(gain=binary,ties=given)@5' --metric rr"),
    "two metrics with a space": Mistake(
        ["give each by itself: --metric ndcg@10 --metric rr@10"],
        command=["compare", "--judgments", QRELS, "--system", f"old={RUN}", "--metric", "ndcg@10 rr@10"],
    ),
    "two cutoffs in one": Mistake(["names 2 metrics, ndcg@5 and ndcg@10: give each"], command="metrics ndcg@5,10"),
    "two guardrails in one": Mistake(["names 2 metrics, recall@10 and rr: give"], "--guardrail recall@10,rr=0.02"),
    "the primary metric as a guardrail": Mistake(
        ["ndcg@10: is the primary metric where no other is given", "give another primary metric with `--metric`"],
        "--guardrail ndcg@10=0.02",
    ),
    "an effect of a metric that is none": Mistake(
        ["--smallest-effect: ndcg@5: is none", "`--metric ndcg@5` or `--secondary ndcg@5`"],
        "--smallest-effect ndcg@5=0.01",
    ),
    "a gate on slices without slices": Mistake(
        ["--require slice_regression: there are no slices", "name attributes with `--slice`"],
        "--require slice_regression=0.05",
    ),
    "a requirement in a word": Mistake(["--require judged = 'many': must be a number"], "--require judged=many"),
    "a requirement without a value": Mistake(["--require 'judged': must be judged=NUMBER"], "--require judged"),
    "a requirement misspelt": Mistake(["--require", "jugded"], "--require jugded=0.8"),
    # numbers
    "80 as a share": Mistake(["--require judged = 80: must be 1.0 or less; did you mean 0.8?"], "--require judged=80"),
    "a slice's loss < 0": Mistake(["--require slice_regression = -1: must"], "--require slice_regression=-1"),
    "a share of 80 % in YAML": config(
        "gate: {judged: 80%}", "gate.judged = '80%': must be a number; did you mean 0.8?"
    ),
    "effect 1%": Mistake(
        ["--effect '1%': must be a number; say --effect 0.01"], command="power --deviation 0.1 --effect 1%"
    ),
    "resamples in thousands": Mistake(["--resamples '10k': must be a whole number"], "--resamples 10k"),
    "a cutoff of 0": Mistake(
        ["--cutoff = 0: must be"], command=f"sensitivity --judgments {QRELS} --system old={RUN} --cutoff 0"
    ),
    "an effect with a comma": Mistake(["must be a number above 0; write 0.01"], "--smallest-effect 0,01"),
    "an effect below 0": Mistake(["must be a number above 0; write 0.02"], "--smallest-effect -0.02"),
    "a margin in per cent": Mistake(["'2%': must be a number above 0; write 0.02"], "--guardrail recall@100=2%"),
    "a margin without a number": Mistake(["say --guardrail recall@100=0.01 for"], "--guardrail recall@100"),
    "alpha as a percentage": Mistake(["--alpha = 5: must be below 0.5; did you mean 0.05?"], "--alpha 5"),
    "a confidence with a sign": Mistake(["must be a number; did you mean 0.05?"], "--alpha 95%"),
    # systems, queries, outputs
    "a system in two words": Mistake(["say --system new=new.run"], "--system new new.run"),
    "a configuration for files": Mistake(["say ndcg-ab run de.yaml"], command="compare de.yaml"),
    "values as JSON": Mistake(["--per-query {}/x.json: must end in .csv, .parquet or .pq"], "--per-query {}/x.json"),
    "no such attribute": Mistake(
        ["no column 'langauge' to slice by (columns: language, kind); did you mean 'language'?"],
        f"--slice langauge --queries {QUERIES}",
    ),
    "two attributes in one": Mistake(["give each column by itself"], f"--slice language,kind --queries {QUERIES}"),
    "slice by weigth": Mistake(
        ["no column 'weigth' to slice by (columns: language, kind)"], f"--slice weigth --queries {QUERIES}"
    ),
    "JSON into no folder": Mistake(["there is no directory", "make it: mkdir -p {}/none"], "--json {}/none/out.json"),
    "no such format": Mistake(["--format = 'trec_run': must be 'trec'", "did you mean 'trec'?"], "--format trec_run"),
    # columns
    "a column nobody can guess": judged("j.csv", "qid,url,x\nq1,a,1\n", "say --judgments-columns grade=COLUMN"),
    "a column's name before its field": ranked(
        "r.csv", "query_id,doc_id,relevance\nq1,a,1\n", "say score=relevance", options="--columns relevance=score"
    ),
    "wide": ranked("r.csv", ",".join(f"c{at}" for at in range(40)) + "\n" + ",".join("1" * 40) + "\n", "c10, c11, …)"),
    # one thing for another
    "gzip of gzip": packed(gzip.compress, "gunzip -c <"),
    "xz of xz": packed(lzma.compress, "unxz -c <"),
    "bzip2 of bzip2": packed(bz2.compress, "bunzip2 -c <"),
    "a ZIP file of two files": judged("j.zip", zipped("j.qrels", "k.qrels"), "unpack it", "unzip {}/j.zip"),
    "UTF-32": judged("j.csv", "query_id,doc_id,grade\n".encode("utf-32"), "iconv -f UTF-32 -t UTF-8 FILE > NEW"),
    "UTF-16": judged("j.csv", "query_id,doc_id,grade\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8 FILE > NEW"),
    "Latin-1": judged("j", b"q1 0 caf\xe9 1\n", "iconv -f LATIN1 -t UTF-8 FILE > NEW"),
    "a header in a TREC ranking": ranked("r", "qid Q0 docno rank score tag\n", "is a header", "take the line away"),
    "Excel": judged("j.xlsx", b"PK\x03\x04nonsense", "is a spreadsheet", "export its sheet as CSV"),
    "ZIP": judged("j.zip", b"PK\x03\x04nonsense", "{}/j.zip: the ZIP file is broken"),
    "7z": judged("j.7z", b"7z\xbc\xaf\x27\x1cnonsense", "is a 7z archive", "unpack it: 7z x {}/j.7z"),
    "zstd": ranked("r.run.zst", b"\x28\xb5\x2f\xfdnonsense", "{}/r.run.zst: the zstd file is broken"),
    "alike in endings": Mistake(["{}/nope.csv: there is no such file\n"], "--system new={}/nope.csv", {"few.csv": ""}),
    "a folder that is no date": Mistake(
        ["no folder {}/runs/{data} either; {data} means nothing here", "the date as {date}"],
        "--system new={}/runs/{data}/a.run",
    ),
    "date, files": Mistake(["{date:%Y} is the date in a configuration alone"], "--system new={}/runs/{date:%Y}/a.run"),
    "$DATE": Mistake(["has a variable of the environment as ${DATE}"], "--system new={}/runs/$DATE/a.run"),
    "no folder": Mistake(["there is no such file; there is no folder {}/runs either"], "--system new={}/runs/a.run"),
    # values
    "comma scores": ranked("r", "q1 Q0 a 1 2,5 t\n", "score = '2,5': must be a number; write it with a point: 2.5"),
    "grades in words": judged(
        "j",
        "q1 0 a Relevant\n",
        "grade = 'Relevant': must be a number; every word needs a number: --grades Relevant=NUMBER",
    ),
    "is true": judged("j.csv", "query_id,doc_id,grade\nq1,a,true\n", "every word needs a number: --grades true=NUMBER"),
    # configurations
    "a key misspelt": config("metric: [rr]", "key 'metric' is unknown; did you mean 'metrics'?"),
    "one metric, no list": config("metrics: ndcg@10", "metrics = 'ndcg@10': must be a list; write [ndcg@10]"),
    "a list for a text": config("combine: [mean]", "combine: must be 'majority', 'median'"),
    "a list for a name": config("name: [a, b]", "name: must be text; put it in quotes, not in a list"),
    "a mapping": config(f"systems: {{old: {RUN}}}", "systems: must be a list; write each as {name: old, file: FILE}"),
    "files alone": config("systems: [a.csv]", "systems[0] = 'a.csv': must hold keys and values: ", "name, version"),
    "a system's path": config(f"systems: [{{name: a, path: {RUN}}}]", "'systems[0].path' is unknown", "mean 'file'?"),
    "the judgments' path": config("judgments: {path: x.csv}", "'judgments.path' is unknown; did you mean 'file'?"),
    "slices in a word": config("slices: lang", "slices = 'lang': must hold keys and values: by, smallest"),
    "alpha outside of statistics": config("alpha: 0.01", "'alpha' is unknown; did you mean 'statistics.alpha'?"),
    "yml for yaml, in a name": Mistake(["did you mean {}/de.yaml?"], files={"de.yaml": ""}, command="check {}/de.yml"),
    "a date without quotes": config(
        "systems: [{name: a, file: runs/{date}/prod.csv}]",
        "line 3: is not YAML",
        '; put it in quotes: "runs/{date}/prod.csv"',
    ),
    "a tab in YAML": config("statistics:\n\talpha: 0.1", "is not YAML", "indent with spaces, not with tabs"),
    "a slice's share": config("gate: {slice_regression: 2%}", "must be a number; did you mean 0.02?"),
    "a size of no unit": config("retention: {inputs: 10XB}", "retention.inputs = '10XB': must be a size such as 20GB"),
    "a finding of no text": config("findings: {true: ignore}", "'True': is no code of a finding"),
    "hour of 25": config("schedule: {cron: 0 25 * * *}", "no moment fits it: '25' is no hour (0-23), as in 0 2 * * *"),
    "MLflow without http": config("mlflow: {tracking_uri: localhost:5000}", "did you mean http://localhost:5000?"),
    "a tracking server by its number": config("mlflow: {tracking_uri: 127.0.0.1:5000}", "mean http://127.0.0.1:5000?"),
    "a folder for a tracking server": config("mlflow: {tracking_uri: ./mlruns}", "as sqlite:///mlflow.db"),
    "Prefect without http": config("prefect: {api_url: localhost:4200/api}", "did you mean http://localhost:4200/api?"),
    "an output that is a file": config(f"output: {RUN}", "old.run is no folder: name another one"),
    "half a character": config('combine: "\\ud800"', "combine", "must be"),
    "an effect of 400 digits": config(
        f"statistics: {{smallest_effect: {'9' * 400}}}", "line 4: is not YAML: '99999", "is not of the kind 'int'"
    ),
    "threads without end": config(f"resources: {{threads: {'9' * 30}}}", "must be 10000 or less"),
    "a limit without end": config("prefect: {timeout_seconds: .inf}", "must be a number, and finite"),
    "a gain of no grade": config("metrics: ['ndcg(gain={1:1})@5']", "its gain table has no entry for grade 2"),
    "a name that is no UTF-8": ranked("r\udcff.run", "", "r\\udcff.run", "is no UTF-8 text: rename it"),
    "99 typos": config("\n".join(f"metrik{at}: 1" for at in range(99)), "key 'metrik3' is unknown", "more such lines"),
    "a score of 400 digits": ranked("r", f"q1 Q0 a 1 {'9' * 400} t\n", "score = '99999", "…: must be a finite number"),
    "alpha of 95": config("statistics: {alpha: 0.95}", "must be below 0.5; did you mean 0.05?"),
}

SQL = {  # options of `ndcg-ab sql`
    "oracle": "--dialect = 'oracle': must be one of duckdb, postgres, spark,",
    "postgre": "did you mean 'postgres'?",
    "sqlite --metric ndcg(preset=trec_eval-9)@10": "score_precision = float32 cannot be said in SQLite",
    "duckdb --metric ndcg@10 --metric rr": "--metric is given 2 times ('ndcg@10', 'rr'): one query computes one metric",
    "duckdb --system a=t --system a=u": "--system 'a=u': a is named twice",
    "duckdb --system t": "--system 't': must be NAME=TABLE, such as new=search.ranking_new",
    "duckdb --columns rank=r": "--columns rank=r: the query orders by scores, and does not read it",
    "duckdb --system a=t --columns system_id=s": "the query has a table for each system",
    "duckdb --columns url": "--columns 'url': must be FIELD=COLUMN",
}
MISTAKES |= {
    f"sql --dialect {options}": Mistake([said], command=f"sql --dialect {options}") for options, said in SQL.items()
}


def write_case(mistake: Mistake, folder: Path) -> list[str]:
    """Write the files of a mistake and return its command."""
    for file, content in mistake.files.items():
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    command: str | Sequence[str] = (
        mistake.command or f"compare --judgments {mistake.judgments} --system old={RUN} {mistake.options}"
    )
    return [part.replace("{}", str(folder)) for part in (command.split() if isinstance(command, str) else command)]


@pytest.mark.parametrize("name", MISTAKES)
def test_it_is_said_what_to_write(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    found = invoke(write_case(mistake, tmp_path))
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    assert found.stderr.startswith("ndcg-ab: ")
    assert found.stderr.count("\n") == 1 or "more such lines" in mistake.said, found.stderr
    assert len(found.stderr) < 3000
    for words in mistake.said:
        assert words.replace("{}", str(tmp_path)) in found.stderr


def with_options(command: list[str], options: list[str], message: str) -> list[str]:
    """Return the command with options in the place of what the message is about, or at its end."""
    name = options[0]
    kept = [part for part in command if not message.startswith(f"ndcg-ab: {part}: is no option")]
    if len(kept) == len(command) and message.startswith(f"ndcg-ab: {name}"):
        at = len(command) - 1 - command[::-1].index(name)
        rest = command[at + 1 :]
        kept = command[:at] + rest[next((index for index, part in enumerate(rest) if part[:2] == "--"), len(rest)) :]
    return [*kept, *options]


def fill_placeholders(remedy: str) -> list[str]:
    """Return a remedy with each of the values that its placeholders may stand for."""
    filled = [remedy]
    for name, values in PLACEHOLDERS.items():
        filled = [re.sub(rf"(?<!\w){name}\b", value, each) for each in filled for value in values]
    return [*dict.fromkeys(filled)]


def apply_remedy(command: list[str], message: str, file: Path) -> list[list[str]]:
    """Return the commands of which one must work after the remedy that a message prints; none if it prints none."""
    asked = r"(?:say(?: which:)?|add|add it with|needs a number:) `?((?:--[a-z-]+ [^\s,;`)]+ ?)+)"
    if found := re.search(asked, message):
        about = "" if found[0].startswith("add --") else message  # added, not in the place of another value
        return [with_options(command, shlex.split(each), about) for each in fill_placeholders(found[1])]
    if found := re.search(r"(iconv .*) FILE > NEW", message):
        content = subprocess.run([*found[1].split(), str(file)], capture_output=True, check=True).stdout
        file.write_bytes(content)
        return [command]
    if found := re.search(r"make it: (mkdir .*)", message):
        subprocess.run(shlex.split(found[1]), check=True)
        return [command]
    if found := re.search(r"unpack it[^:]*: (.*)", message):
        return unpack(command, found[1].replace(" > NEW", ""), file)
    return []


def unpack(command: list[str], remedy: str, file: Path) -> list[list[str]]:
    """Return the command with each file that a shell command unpacks; none if its tool is not here, or finds nothing.

    What it prints goes into a file; what it writes lies in the folder.
    """
    if shutil.which(remedy.split()[0]) is None:
        return []
    before = {*file.parent.iterdir()}
    made = subprocess.run(["bash", "-c", remedy], check=False, cwd=file.parent, capture_output=True)
    new = sorted({*file.parent.iterdir()} - before)
    if not new and made.returncode == 0:
        new = [file.parent / "NEW"]
        new[0].write_bytes(made.stdout)
    return [[part.replace(str(file), str(each)) for part in command] for each in new]


@pytest.mark.slow
def test_a_remedy_that_is_printed_works(tmp_path: Path) -> None:
    """Options and shell commands are applied to the input that caused the message, which does not come again."""
    cases = {**MISTAKES, **{name: judged(*case[:2]) for name, case in BAD_JUDGMENTS.items()}}
    applied = []
    for number, (name, mistake) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = write_case(mistake, folder)
        message = invoke(command).stderr
        changed = apply_remedy(command, message, folder / next(iter(mistake.files), "none"))
        if changed:
            applied.append(name)
            again = [invoke(each).stderr for each in changed]
            cause = message.partition(";")[0].partition(": convert")[0]
            assert not all(cause in each for each in again), (name, message, again)
    assert len(applied) > 25, applied
