"""What follows an arrow in a message works when it is pasted; other remedies are named."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from ndcg_ab.flows.cli.console import program_name
from ndcg_ab.studies.first_configuration import write_example
from tests.commands import invoke
from tests.repeated import mostly_slow

ALL = "judgments.qrels old.run new.run"
CONFIG = "name: t\njudgments: judgments.qrels\nsystems:\n- name: old\n  file: old.run\n"
FILES = {
    "binary.run": bytes(range(256)) * 4,
    "empty.run": b"",
    "c.yaml": CONFIG.encode(),
    "indented.yaml": CONFIG.replace("  file", "   file").encode(),
    "nothing.yaml": b"",
    "zero.qrels": b"bread 0 bread-guide 0\n",
    "o.csv": b"qid,doc_id,points\nbread,bread-guide,1\n",
    "clicks.csv": b"query,doc_id,place,impressions,clicks\nbread,d1,1,5,2\nbread,d2,2,5,1\n",
    "ids.txt": b"bread\nbutter\n",
    "wide.csv": b"query_id,old,new\nbread,0.5,0.7\nbutter,0.25,0.5\n",
    "docs.txt": b"doc_id\nbread-guide\n",
    "beir.tsv": b"query_id\tdoc_id\tscore\nbread\tbread-guide\t1\nbread\tbread-shop\t0\nbutter\tbutter-guide\t2\n",
    "fractions.json": b'{"bread": {"bread-guide": 1.5, "bread-shop": 0.5}, "butter": {"butter-guide": 2.5}}',
}
CASES = {  # a command beside the example's files -> what its message says; what follows an arrow is run
    f"compare {ALL} -m ndcg@5": f"ndcg-ab compare {ALL} --metric ndcg@5",
    f"compare {ALL} -k5": f"ndcg-ab compare {ALL} --metric ndcg@5",
    f"compare {ALL} -v": f"ndcg-ab compare {ALL} --details",
    f"compare {ALL} --effect 0.01": f"ndcg-ab compare {ALL} --smallest-effect 0.01",
    f"compare {ALL} --basline old": f"ndcg-ab compare {ALL} --baseline old",
    f"compare {ALL} duplicates=first": f"ndcg-ab compare {ALL} --duplicates first",
    f"compare {ALL} -n 5": "-n: is no option of compare → ndcg-ab compare --help-all",
    f"compare {ALL} --queries ids.txt": "sed '1i query_id' ids.txt > ids.tsv",
    f"compare {ALL} --documents docs.txt": "cp docs.txt docs.tsv",
    "compare judgments.qrels old.run binary.run": "it holds binary data: name the text that it was made of",
    "compare judgments.qrels old.run empty.run": "empty.run: the file is empty: write it again, or leave it out",
    "compare judgments.qrels old.run twice.run": "say --duplicates first (duplicates=first, of the system)",
    "compare two.qrels old.run new.run": "awk '!seen[$1 FS $3]++' FILE > NEW keeps the first",
    "check binary.run": "binary.run: holds no line of text: it holds binary data",
    "check": "ndcg-ab check JUDGMENTS BASELINE CANDIDATE",
    "check indented.yaml": "indent it by 2 spaces, not by 3",
    "clicks judgments.qrels": "this looks like judgments (TREC judgments) → ndcg-ab compare judgments.qrels BASELINE",
    "clicks old.run": "→ ndcg-ab compare JUDGMENTS old.run",
    f"compare {ALL} --json - --markdown -": "only one of them can be written here; name a file for the other",
    "clicks": "clicks: EVENTS is missing → ndcg-ab clicks events.jsonl",
    "explain judgments.qrels new.run --query pastas": "has no judgments in judgments.qrels; did you mean 'pasta'?",
    "explain judgments.qrels new.run": "--query: is missing (they judge 20 queries, such as 'bread')",
    "explain judgments.qrels new.run --query 'bread recipe' --queries queries.tsv": "say --query bread",
    f"history {ALL}": f"history judgments.qrels: takes a configuration, and this is data → ndcg-ab compare {ALL}",
    "power": "exactly one of them is needed: --deviation 0.1, or --scores and what compare --per-query FILE wrote",
    "power --effect": "--effect: needs a value → ndcg-ab power --effect E",
    "power scores.csv": "→ ndcg-ab power --scores scores.csv",
    "publish . --set name=x": "--set: goes with a configuration",
    "sensitivity judgments.qrels old.run": "old.run: is the only ranking; at least 2 systems are needed; add a second",
    "judge-next judgments.qrels old.run": "at least 2 systems are needed; add a second FILE",
    "draw old.run": "old.run: is the only ranking; at least 2 systems are needed; add a second FILE",
    f"sensitivity {ALL} --gain binry": "did you mean 'binary'?",
    f"sensitivity {ALL} --picture x.jpeg": "--picture x.jpeg: must end in .svg",
    "run": "run: CONFIG is missing → ndcg-ab run c.yaml",
    "run judgments.qrels": "or for a configuration: ndcg-ab init judgments.qrels BASELINE CANDIDATE",
    ALL: f"judgments.qrels: is no command → ndcg-ab compare {ALL}",
    "version": "→ ndcg-ab --version",
    "compare beir.tsv old.run new.run --quiet": "",  # judgments, although each could be a ranking
    "compare fractions.json old.run new.run --quiet": "",
    "compare old.run judgments.qrels new.run --gate": f"judgments come first → ndcg-ab compare {ALL} --gate",
    "explain new.run judgments.qrels --query pasta": "→ ndcg-ab explain judgments.qrels new.run --query pasta",
    "explain wide.csv new.run --query bread": "values are compared without judgments → ndcg-ab compare --scores wide.c",
    "judge-next old.run new.run": "and judgments come first → ndcg-ab judge-next JUDGMENTS old.run new.run",
    "compare 'judgments.qrels old.run new.run'": f"its parts are → ndcg-ab compare {ALL}",
    "compare judgments.qrels,old.run,new.run --quiet": f"→ ndcg-ab compare {ALL} --quiet",
    "check c.yaml judgments.qrels": "goes without a configuration, which names files → ndcg-ab check c.yaml",
    "judgments judgments.qrels two.qrels old.run": "old.run: is the only ranking; at least 2 systems are needed; add",
    "power 0.1": "→ ndcg-ab power --deviation 0.1",
    "clicks old.run new.run": "new.run: is more than clicks takes → ndcg-ab clicks EVENTS",
    "clicks judgments.qrels clicks.csv --floor 3": "→ ndcg-ab clicks EVENTS --floor 3",
    "clicks queries.tsv": "say --columns action_name=COLUMN",
    "run nothing.yaml": "→ ndcg-ab init JUDGMENTS BASELINE CANDIDATE --force --output-file nothing.yaml",
    "compare zero.qrels old.run new.run": "zero.qrels: no query can be scored",
    "sensitivity zero.qrels old.run new.run": "zero.qrels: no query can be scored",
    f"compare {ALL} --queries documents.tsv": "doc_id, title, url): give documents with --documents documents.tsv",
    f"compare {ALL} o.csv --columns query_id=qid,score=points": r"sed '1s/\bqid\b/query_id/; 1s/\bpoints\b/sc",
    "clicks clicks.csv": "or set a lower floor, such as --floor 5",
    f"power {ALL}": f"→ ndcg-ab compare {ALL} --per-query values.csv && ndcg-ab power --scores values.csv",
    f"power --scores {ALL} --effect 0.02": "values.csv && ndcg-ab power --scores values.csv --effect 0.02",
    f"draw {ALL} --queries queries.tsv": "→ ndcg-ab draw old.run new.run --queries queries.tsv --judgments judg",
    "compare judgments.qrels old.run new": "new: there is no such file; did you mean new.run?",
    "draw old.run new --queries queries.tsv": "new: there is no such file; did you mean new.run?",
    f"compare {ALL} --gate foo": f"--gate foo: is neither proof nor a file → ndcg-ab compare {ALL} --gate",
    f"compare {ALL} --quiet=yes": f"--quiet: takes no value → ndcg-ab compare {ALL} --quiet",
    f"compar {ALL}": f"compar: is no command → ndcg-ab compare {ALL}",
    "help compre": "compre: is no command → ndcg-ab help compare",
    "zzz": "zzz: is no command → ndcg-ab --help",
    "--versoin": "--versoin: is no option → ndcg-ab --version",
    "sql ndcg@10 --dialect postgres": "→ ndcg-ab sql --metric ndcg@10 --dialect postgres",
    "terms foo": "foo: is more than terms takes → ndcg-ab terms",
    "help metrics --jsn -": "--jsn: is no option of metrics → ndcg-ab metrics --json -",
    "run c.yaml --metric ndcg@5 --metric rr": "of run → ndcg-ab run c.yaml --set 'metrics=[ndcg@5, rr]'",
    "check c.yaml --smallest-effect 0.02": "→ ndcg-ab check c.yaml --set statistics.smallest_effect=0.02",
    "history c.yaml -n 0": "-n 0: must be at least 1 → ndcg-ab history c.yaml -n 1",
}


# What is not run of a remedy: values to fill in, files of the reader, an evaluation that has to be made first.
UNREADY = ("JUDGMENTS", "BASELINE", " E", "EVENTS", "scores.csv", "events", " run ", "history")


@pytest.mark.first_case
@pytest.mark.parametrize("command", ["compare few.qrels 'new a.run' old.run --metric ndcg@5", "run c.yaml"])
def test_the_screen_hands_over_judge_next_with_the_inputs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a narrow terminal the command goes on in lines that a shell joins."""
    texts = {path.name: path.read_text() for path in write_example(tmp_path)}
    monkeypatch.chdir(tmp_path)
    Path("few.qrels").write_text("".join(f"{line}\n" for line in texts["judgments.qrels"].splitlines()[::9]))
    Path("new a.run").write_text(texts["new.run"])
    Path("c.yaml").write_text(CONFIG.replace("judgments.qrels", "few.qrels") + "- {name: new, file: new a.run}\n")
    given = shlex.split(command)
    shown = invoke([*given, "--details"], env={"COLUMNS": "60"}).stdout
    remedy = re.search(r"→ (\S+ judge-next (?:.*\\\n)*.*)", shown)
    assert remedy, shown
    words = shlex.split(remedy[1].replace("\\\n", " "))[1:]
    assert words == ["judge-next", *given[1:]]
    assert invoke(words).exit_code == 0


@pytest.mark.parametrize("command", mostly_slow(CASES, kept=[*CASES][::5]))
def test_a_remedy_works(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {path.name: path.read_text() for path in write_example(tmp_path)}
    (tmp_path / "twice.run").write_text(texts["new.run"] + texts["new.run"].partition("\n")[0])
    (tmp_path / "two.qrels").write_text(texts["judgments.qrels"] + "bread 0 bread-guide 3\n")
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    found = invoke(shlex.split(command))
    said = re.sub(r"(?m)^ *\d+\.\d s  .*\n", "", found.stderr).replace(program_name(), "ndcg-ab")  # without progress
    if not CASES[command]:
        assert (found.exit_code, said) == (0, "")
        return
    assert (found.exit_code, said.count("\n")) == (2, 1) and CASES[command] in said, said
    remedy = said.rpartition("→ ")[2].partition(", or for")[0] if "→ ndcg-ab" in said else ""
    if remedy and not any(word in remedy for word in UNREADY):
        for each in remedy.split(" && "):
            again = invoke(shlex.split(each)[1:])
            assert again.exit_code == 0, (each, again.output)
    elif "→" in said and not remedy:
        subprocess.run(said.rpartition("→ ")[2], shell=True, check=True)
