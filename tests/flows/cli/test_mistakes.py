"""The mistakes that people really make: each is answered with what to write instead, and exit code 2."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from ndcg_ab.flows.cli.app import app
from tests.places import DATA

RUNNER = CliRunner()
QRELS, RUN, QUERIES = (str(DATA / name) for name in ("judgments.qrels", "old.run", "queries.tsv"))


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


MISTAKES: dict[str, Mistake] = {
    # names of metrics
    "P@10": metric("P@10", "--metric: metric 'P@10': is written 'precision@10' here"),
    "P_10 of trec_eval": metric("P_10", "is written 'precision@10' here"),
    "ndcg_cut_10 of trec_eval": metric("ndcg_cut_10", "is written 'ndcg@10' here"),
    "ndcg_cut.10 of trec_eval": metric("ndcg_cut.10", "is written 'ndcg@10' here"),
    "recall_100 of trec_eval": metric("recall_100", "is written 'recall@100' here"),
    "R@100": metric("R@100", "is written 'recall@100' here"),
    "recip_rank": metric("recip_rank", "is written 'rr' here"),
    "MRR@10": metric("MRR@10", "is written 'rr@10' here"),
    "success@1": metric("success@1", "is written 'accuracy@1' here"),
    "hit_rate@5": metric("hit_rate@5", "is written 'accuracy@5' here"),
    "ndcg10": metric("ndcg10", "is written 'ndcg@10' here"),
    "MAP": metric("MAP", "average precision is not computed here; the nearest is 'ndcg'"),
    "map_cut.100": metric("map_cut.100", "average precision is not computed here; the nearest is 'ndcg@100'"),
    "f1@5": metric("f1@5", "F1 is not computed here"),
    "a metric misspelt": metric("ndgc@10", "did you mean 'ndcg'?", "`ndcg-ab metrics`"),
    "two metrics in one": metric("ndcg@10,rr@10", "give each by itself: --metric ndcg@10 --metric rr@10"),
    "two with choices in one": metric(
        "ndcg(gain=binary,ties=given)@5,rr", "'ndcg(gain=binary,ties=given)@5' --metric rr"
    ),
    "two metrics with a space": Mistake(
        ["give each by itself: --metric ndcg@10 --metric rr@10"],
        command=["compare", "--judgments", QRELS, "--system", f"old={RUN}", "--metric", "ndcg@10 rr@10"],
    ),
    # numbers
    "an effect in per cent": Mistake(["say --smallest-effect 0.01"], "--smallest-effect 1%"),
    "an effect with a comma": Mistake(["say --smallest-effect 0.01"], "--smallest-effect 0,01"),
    "an effect below 0": Mistake(["must be a number above 0; say --smallest-effect 0.02"], "--smallest-effect -0.02"),
    "a margin in per cent": Mistake(["say --guardrail recall@100=0.02"], "--guardrail recall@100=2%"),
    "a margin without a number": Mistake(["say --guardrail recall@100=0.01 for"], "--guardrail recall@100"),
    "alpha as a percentage": Mistake(["--alpha = 5.0: must be below 0.5; did you mean 0.05?"], "--alpha 5"),
    "alpha with a sign": Mistake(["--alpha '5%': must be a number; say --alpha 0.05"], "--alpha 5%"),
    "a confidence for alpha": Mistake(["must be below 0.5; did you mean 0.05?"], "--alpha 0.95"),
    "a confidence with a sign": Mistake(["say --alpha 0.05"], "--alpha 95%"),
    # systems, queries, outputs
    "a system without a name": Mistake(
        ["must be NAME=FILE; say --system new=runs/new.run.gz"], "--system runs/new.run.gz"
    ),
    "a system in two words": Mistake(["say --system new=new.run"], "--system new new.run"),
    "a name twice": Mistake(["--system: the name 'old' is given twice"], f"--system old={RUN}"),
    "a baseline misspelt": Mistake(["must be one of the systems (old); did you mean 'old'?"], "--baseline odl"),
    "one system for two": Mistake(
        ["at least 2 systems are needed; add --system NAME=FILE"],
        command=f"sensitivity --judgments {QRELS} --system old={RUN}",
    ),
    "slices without queries": Mistake(["--queries: missing; --slice needs a file of queries"], "--slice language"),
    "no such attribute": Mistake(
        ["no column 'langauge' to slice by (columns: language, kind); did you mean 'language'?"],
        f"--slice langauge --queries {QUERIES}",
    ),
    "JSON into no folder": Mistake(["there is no directory", "make it: mkdir -p {}/none"], "--json {}/none/out.json"),
    "no such format": Mistake(["--format = 'trec_run': must be 'trec'", "did you mean 'trec'?"], "--format trec_run"),
    # columns
    "judgments with columns of their own": judged(
        "j.csv",
        "qid,url,rating\nq1,a,1\n",
        "no column 'query_id' for query_id (columns: qid, url, rating)",
        "did you mean --judgments-columns query_id=qid,doc_id=url,grade=rating"
        " (in a configuration columns: {query_id: qid, doc_id: url, grade: rating})?",
    ),
    "other capitals": judged("j.tsv", "Query ID\tDocId\tRelevance\nq1\ta\t1\n", "'query_id=Query ID,doc_id=DocId,gr"),
    "a ranking with columns of its own": ranked(
        "r.csv", "topic,product_id,sim\nq1,a,1\n", "--columns query_id=topic,doc_id=product_id,score=sim"
    ),
    "only the score is named otherwise": ranked(
        "r.csv", "query_id,doc_id,similarity\nq1,a,1\n", "'rank', or both", "did you mean --columns score=similarity"
    ),
    "positions": ranked("r.csv", "query_id,doc_id,position\nq1,a,1\n", "did you mean --columns rank=position"),
    "a column nobody can guess": judged(
        "j.csv", "qid,url,x\nq1,a,1\n", "else say --judgments-columns query_id=qid,doc_id=url,grade=COLUMN"
    ),
    "keys of their own": judged(
        "j.jsonl", '{"qid": "q1", "doc": "a", "label": 1}', "query_id=qid,doc_id=doc,grade=label"
    ),
    "columns divided by ;": judged(
        "j.csv", "query_id;doc_id;grade\nq1;a;1\n", "first line is divided by ';'", "tr ';' ',' < FILE > NEW.csv"
    ),
    "columns divided by |": judged("j.csv", "query_id|doc_id|grade\nq1|a|1\n", "first line is divided by '|'"),
    "tabs in .csv": judged(
        "j.csv", "query_id\tdoc_id\tgrade\nq1\ta\t1\n", "divided by tabs: say --judgments-format tsv, or name it .tsv"
    ),
    "commas in .tsv": ranked("r.tsv", "query_id,doc_id,score\nq1,a,1\n", "divided by commas: say --format csv, or"),
    "no header": judged(
        "j.csv", "q1,a,1\nq1,b,0\n", "first line (q1, a, 1) is data", "above it: query_id,doc_id,grade"
    ),
    # one thing for another
    "a ranking for judgments": judged(
        "j", "q1 Q0 a 1 2.5 t\n", "this looks like a ranking: are judgments and ranking sw"
    ),
    "judgments for a ranking": ranked(
        "r", "q1 0 a 1\n", "this looks like judgments: are judgments and ranking swapped?"
    ),
    "a ranking for judgments in CSV": judged(
        "j.csv", "query_id,doc_id,score,rank\nq1,a,1,1\n", "no column 'grade'", "this looks like a ranking"
    ),
    "judgments for a ranking in CSV": ranked("r.csv", "query_id,doc_id,grade\nq1,a,1\n", "this looks like judgments"),
    "CSV under another name": judged("j.txt", "query_id,doc_id,grade\nq1,a,1\n", "say which: --judgments-format csv"),
    "TSV under another name": ranked("r.txt", "query_id\tdoc_id\tscore\nq1\ta\t1\n", "say which: --format tsv"),
    "JSON under another name": ranked("r.txt", '{"query_id": "q1"}\n', "say which: --format jsonl"),
    "Parquet under another name": judged(
        "j.dat", b"PAR1\0\0\0\0PAR1", "is a Parquet file: say --judgments-format parquet"
    ),
    "a header in TREC": judged(
        "j", "query_id iter doc_id grade\nq1 0 a 1\n", "line 1", "is a header", "take the line away"
    ),
    "a header in a TREC ranking": ranked("r", "qid Q0 docno rank score tag\n", "is a header", "take the line away"),
    "Excel": judged("j.xlsx", b"PK\x03\x04nonsense", "is a spreadsheet", "export its sheet as CSV"),
    "ZIP": judged("j.zip", b"PK\x03\x04nonsense", "is a ZIP file", "unpack it: unzip {}/j.zip"),
    "zstd": ranked("r.run.zst", b"\x28\xb5\x2f\xfdnonsense", "compressed by zstd", "unpack it: zstd -d {}/r.run.zst"),
    "a name misspelt": Mistake(
        ["there is no such file; did you mean {}/new.run?"], "--system new={}/nwe.run", {"new.run": ""}
    ),
    "a folder": Mistake(
        ["is not a file; name one of its files, such as {}/new.run"], "--system new={}", {"new.run": ""}
    ),
    "judgments misspelt": Mistake(
        ["there is no such file; did you mean {}/qrels?"], files={"qrels": ""}, judgments="{}/qrel"
    ),
    "no such folder": Mistake(
        ["there is no such file; there is no folder {}/runs either"], "--system new={}/runs/a.run"
    ),
    # values
    "scores with commas": ranked(
        "r", "q1 Q0 a 1 2,5 t\n", "score = '2,5': must be a number; write it with a point: 2.5"
    ),
    "grades in words": judged(
        "j", "q1 0 a Relevant\n", "grade = 'Relevant': must be a number; give every word a number"
    ),
    "grades that are true": judged("j.csv", "query_id,doc_id,grade\nq1,a,true\n", "must be a number; write 1 and 0"),
    # configurations
    "a key misspelt": config("metric: [rr]", "key 'metric' is unknown; did you mean 'metrics'?"),
    "one metric, no list": config("metrics: ndcg@10", "metrics = 'ndcg@10': must be a list; write [ndcg@10]"),
    "a list for a text": config("statistics: {interval: [t]}", "statistics.interval: must be 't' or 'bca'"),
    "a list for a name": config("name: [a, b]", "name: must be text; put it in quotes, not in a list"),
    "systems by name": config(
        f"systems: {{old: {RUN}}}", "systems: must be a list; write each as {name: old, file: FILE}"
    ),
    "a tab in YAML": config("statistics:\n\talpha: 0.1", "is not YAML", "indent with spaces, not with tabs"),
    "a margin of 2 %": config("guardrails: {recall@100: 2%}", "'2%': must be a number above 0; write 0.02"),
    "alpha of 95": config("statistics: {alpha: 0.95}", "must be below 0.5; did you mean 0.05?"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_it_is_said_what_to_write(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    for file, content in mistake.files.items():
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    command: str | Sequence[str] = (
        mistake.command or f"compare --judgments {mistake.judgments} --system old={RUN} {mistake.options}"
    )
    found = RUNNER.invoke(
        app, [part.replace("{}", str(tmp_path)) for part in (command.split() if isinstance(command, str) else command)]
    )
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    assert found.stderr.startswith("ndcg-ab: ")
    assert found.stderr.count("\n") == 1, found.stderr
    for words in mistake.said:
        assert words.replace("{}", str(tmp_path)) in found.stderr
