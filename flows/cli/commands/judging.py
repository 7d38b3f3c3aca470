"""Define the commands that choose documents to judge: draw, judge-next."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcg_ab.errors import InputError

from ..base_command import HELP_ALL
from ..console import Output, Progress, local_inputs, print_safely, print_to_stderr, print_wrapped
from ..inputs import assign_inputs, configuration_in, evaluation_from_config, refuse_options_of_config, spread_files
from ..options import FORMS, JSON_FILE, QUIET, SHEET, argument, of_data, of_metrics, of_output, of_statistics, takes
from .judgments import parse_numbers

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation

FEW, POWER = 80, 0.8
MOST = 50
KEPT_COLUMN = of_data("ATTRIBUTE", "A column of the log that is kept, for slices; again for more.", "--slice")
# Groups of options that go with files, and not with a configuration.
OF_DRAW = (
    *("system", "baseline", "documents"),
    {
        "seed": (int | None, of_statistics("N", "Seed of the draw. (default 1935)")),
        "alpha": (str | None, of_statistics("A", "Level of the planned test. (default 0.05)")),
        "slice": (list[str] | None, KEPT_COLUMN),
    },
    *("smallest_effect", "unweighted", "rankings", "rules"),
)
OF_JUDGE_NEXT = (
    *("judgments", "system", "baseline", "queries", "documents", "judges", FORMS),
    *("tests", "effects", "label_factor", "weights", "clusters"),
)


@takes(*OF_DRAW, "config", "resources", "metric")
def draw(
    files: list[str] | None = argument("CONFIG|BASELINE CANDIDATE…", "A configuration (YAML); or rankings."),
    queries: str | None = of_data("FILE", "The log: query_id, text, and weight where queries are weighted."),
    count: int = of_output(
        "N", "How many to draw. (default 80)", "--count", "-n", min=2, show_default=False, default=FEW
    ),
    output_file: str | None = of_output("FILE", "Write the log with the probabilities: CSV, TSV or Parquet."),
    sheet: Path | None = SHEET,
    json: str | None = of_output("FILE", "Write counts and plan as JSON; - prints them instead of sentences."),
    grades: str | None = of_output(
        "G,…", "Grades of the sheet, or E=3,S=2,… of words in --judgments. (default 0,1,2,3)"
    ),
    kept: str | None = of_data("FILE", "What an earlier draw wrote: its queries are kept, and others added."),
    deviation: float | None = of_metrics(
        "S", "Standard deviation of the differences over all queries, for the plan. (default: guessed)"
    ),
    judgments: str | None = of_data(
        "FILE", "Judgments of some of the queries: the plan goes by their differences.", "--judgments", "--qrels"
    ),
    power: float = of_statistics("P", "Probability to detect what is planned for. (default 0.8)", default=POWER),
    quiet: bool = QUIET,
    help_all: bool = HELP_ALL,
    **options: Any,
) -> None:
    """Draw queries to judge from a log, among those whose results differ, with known probabilities.

    Example: ndcg-ab draw old.run new.run --queries log.tsv -n 80 --output-file drawn.tsv --sheet judge.html
    """
    from ndcg_ab.config.options.from_options import parse_grades

    words = parse_grades("--grades", grades) if grades and "=" in grades else {}
    options |= {"files": files, "queries": queries, "grades": grades if words else None}
    offered = [*words.values()] or parse_numbers("--grades", grades) or [0.0, 1.0, 2.0, 3.0]
    config = configuration_in(files)
    evaluation = evaluation_for_draw(config, options)
    inputs = [*local_inputs(evaluation), *(Path(each) for each in (config, kept, judgments) if each)]
    output = Output(inputs, quiet=quiet, output_file=output_file, sheet=sheet, json=json)
    from ndcg_ab.config.model.inputs.sources import FileSource
    from ndcg_ab.report.terminal.studies import draw_sentences, study_to_json
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies.draw import draw_from_log
    from ndcg_ab.studies.judge_next import list_documents

    with open_engine_for(evaluation) as engine, Progress(quiet) as say:
        earlier, judged = (FileSource(file=file) if file else None for file in (kept, judgments))
        study = draw_from_log(
            evaluation, engine, count, earlier_draw=earlier, deviation=deviation, judgments=judged, power=power, say=say
        )
        rows = list_documents(study.drawn, study.depth, engine, evaluation) if sheet else ()
    texts = (name for name in study.table.column_names if name not in ("weight", "probability", "disagreement"))
    output.write_table("output_file", study.table, texts)
    if sheet:
        from ndcg_ab.report.judging_sheet import write_judging_sheet

        write_judging_sheet(sheet, rows, offered, f"{len(study.drawn)} drawn queries")
    output.write("json", lambda: study_to_json(study))
    if output.is_shown:
        print_wrapped(draw_sentences(study, output.paths["output_file"]))
    output.print_written_files()


def evaluation_for_draw(config: Path | None, options: Mapping[str, Any]) -> "Evaluation":
    """Return the evaluation whose log of queries is sampled.

    config: a configuration; the options `queries`, `metric` and `grades` replace its log, its metrics and the numbers
    of its grade words. None to make the evaluation from the options alone. Raises InputError if options contradict each
    other or the configuration.
    """
    from ndcg_ab.config.model.inputs.sources import TableSource
    from ndcg_ab.config.options.from_options import evaluation_from_options, parse_grades, parse_metrics
    from ndcg_ab.config.options.positional import parse_named_files

    if config is None:
        refuse_options_of_config(options)
        rankings, named = options["files"] or [], options["system"] or []
        if rankings and named:
            raise InputError(
                f"{rankings[0]}: is no option; say --system {rankings[0]}, or give all rankings without --system"
            )
        metrics = parse_metrics("--metric", options["metric"]) if options["metric"] else None
        systems = spread_files(parse_named_files(rankings or named, of_option=not rankings))
        return evaluation_from_options({**options, "judgments": "judgments", "system": systems, "metric": metrics}, 2)
    evaluation = evaluation_from_config(config, options, OF_DRAW)
    changes: dict[str, object] = {}
    if options["queries"]:
        changes["queries"] = TableSource.model_validate(options["queries"])
    if options["metric"]:
        changes |= {"metrics": parse_metrics("--metric", options["metric"]), "secondary_metrics": [], "guardrails": {}}
    if options["grades"] and evaluation.judgments:
        words = parse_grades("--grades", options["grades"])
        changes["judgments"] = evaluation.judgments.model_copy(update={"grades": words})
    return evaluation.model_copy(update=changes)


@takes(*OF_JUDGE_NEXT, "config", "resources")
def judge_next(
    files: list[str] | None = argument(
        "CONFIG|JUDGMENTS BASELINE CANDIDATE", "A configuration (YAML); or files, as for compare."
    ),
    candidate: list[str] | None = of_data(
        "NAME", "Candidate; again for more. (default all whose verdict grades could change)"
    ),
    metric: str | None = of_metrics("METRIC", "The metric. (default ndcg@10, or the first of CONFIG)"),
    count: int = of_output(
        "N", "How many to list. (default 50)", "--count", "-n", min=1, show_default=False, default=MOST
    ),
    csv: str | None = of_output("FILE", "Write them as CSV; - prints them. (default a table)"),
    json: str | None = JSON_FILE,
    sheet: Path | None = SHEET,
    quiet: bool = QUIET,
    help_all: bool = HELP_ALL,
    **options: Any,
) -> None:
    """Name the unjudged documents whose grades would settle the comparison soonest.

    Example: ndcg-ab judge-next judgments.qrels old.run new.run -n 50 --sheet judge.html
    """
    from ndcg_ab.config.options.from_options import evaluation_from_options, parse_metrics

    chosen = parse_metrics("--metric", [metric])[0] if metric else None
    if config := configuration_in(files):
        evaluation = evaluation_from_config(config, options, OF_JUDGE_NEXT)
    else:
        refuse_options_of_config(options)
        named = options | {"files": files, "metric": [chosen] if chosen else None}
        given = assign_inputs(named, "judge-next", ", or a configuration")
        evaluation = evaluation_from_options(given, least_systems=2)
    inputs = [*local_inputs(evaluation), *([config] if config else [])]
    output = Output(inputs, quiet=quiet, csv=csv, json=json, sheet=sheet)
    from ndcg_ab.report.terminal.labels import effect_sentences, print_to_judge, to_csv, to_json
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies import judge_next as study

    single = study.with_one_metric(evaluation, chosen)
    with open_engine_for(single) as engine, Progress(quiet) as say:
        listing = study.find_documents_to_judge(single, engine, candidate or (), count, say)
    if sheet:
        from ndcg_ab.report.judging_sheet import write_judging_sheet

        write_judging_sheet(sheet, listing.rows, listing.grades, f"{single.name}: what to judge next")
    output.write("csv", lambda: to_csv(listing.rows))
    output.write("json", lambda: to_json(listing.rows))
    if csv:
        texts = (text for row in listing.rows for text in (row.query_id, row.doc_id, row.text, row.title, row.url))
        output.warn_of_formulas("csv", texts)
    if output.is_shown and listing.rows and not (csv or json or sheet):
        print_safely(print_to_judge, listing.rows)
    if output.is_shown:
        print_wrapped(effect_sentences(listing))
    for line in effect_sentences(listing) if output.is_taken and not quiet else ():
        print_to_stderr(line)
    output.print_written_files()


COMMANDS = (draw, judge_next)
