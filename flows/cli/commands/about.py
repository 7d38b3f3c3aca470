"""Define the commands about ndcg-ab itself: metrics, schema, findings, formats, terms."""

from ..console import Output, print_line, print_safely
from ..options import JSON_FILE, argument, option


def metrics(
    metric: list[str] | None = argument("METRIC", "Explain these. (default list everything)"),
    json: str | None = JSON_FILE,
) -> None:
    """List the measures, their choices and the presets of other tools; or explain metrics, choice by choice.

    Example: ndcg-ab metrics 'ndcg(preset=sklearn)@10'
    """
    from ndcg_ab.other_measures import parse_own_metric
    from ndcg_ab.report.terminal.reference import format_metric, list_choices, lists_content, metrics_content

    output = Output((), json=json)
    parsed = [parse_own_metric(text, "explained where that is (https://ir-measur.es)") for text in metric or ()]
    output.write_json(**(metrics_content(parsed) if parsed else lists_content()))
    if output.is_shown:
        texts = [format_metric(each, given) for each, given in zip(parsed, metric or (), strict=True)]
        print("\n".join(texts or [*list_choices(), ""]), end="")
    output.print_written_files()


def schema(
    json: str | None = option("FILE", "Write it to a file. (default standard output)"),
) -> None:
    """Print the JSON Schema of a configuration, with which editors complete and explain its keys.

    Example: ndcg-ab schema --json ndcg-ab.schema.json
    """
    output = Output((), json=json or "-")
    from ndcg_ab.config.loading.schema import schema_text

    output.write("json", schema_text)
    output.print_written_files()


def findings(
    code: list[str] | None = argument("CODE", "A code to explain; without one, all."),
    json: str | None = JSON_FILE,
) -> None:
    """List what the data check can find, or explain a finding: what it means, what to do.

    Example: ndcg-ab findings few_judged
    """
    from ndcg_ab.report.terminal.reference import list_codes, print_codes, print_entry

    output = Output((), json=json)
    output.write_json(findings=list_codes(code or ()))
    if output.is_taken:
        return
    if not code:
        print_safely(print_codes)
    for index, each in enumerate(code or ()):
        if index:
            print_line("")
        print_safely(print_entry, each)
    output.print_written_files()


def formats(json: str | None = JSON_FILE) -> None:
    """List the file formats that are read, each with a small example.

    Example: ndcg-ab formats
    """
    from ndcg_ab.sources.forms.recognition import FORMS, list_forms

    output = Output((), json=json)
    output.write_json(formats=[{"kind": form.kind, "words": form.words, "sample": form.sample} for form in FORMS])
    if output.is_shown:
        print(list_forms(), end="")


def terms(json: str | None = JSON_FILE) -> None:
    """Explain the words and marks of the printed result and of the page.

    Example: ndcg-ab terms
    """
    from ndcg_ab.report.terminal.reference import print_terms, read_terms

    output = Output((), json=json)
    output.write_json(terms=read_terms())
    output.show(print_terms)


COMMANDS = (metrics, schema, findings, formats, terms)
