"""What the options of `ndcg-ab compare` and the arguments of `ndcg_ab.compare` mean: an evaluation without a file."""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from ndcg_ab.config.loading.file import describe_problems
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.options.option_parsing import (
    SINGLE_GATES,
    as_given,
    as_list,
    negate,
    parse_alpha,
    parse_columns,
    parse_gate,
    parse_margins,
    parse_metrics,
    parse_scores,
    parse_severities,
    parse_smallest_effect,
    parse_systems,
)
from ndcg_ab.errors import InputError


class Option(NamedTuple):
    """One option of the command, one argument of the Python API and one key of an evaluation.

    given: the argument. key: dotted; `[]` stands for every entry of a list. read: the key's value from the option's
        name and the text given. near: other keys that problems with it name.
    """

    name: str
    given: str
    key: str
    read: Callable[[str, Any], Any] = as_given
    near: tuple[str, ...] = ()

    @property
    def parameter(self) -> str:
        """What the functions of commands call it: ``more_judgments`` for ``--more-judgments``."""
        return self.name.removeprefix("--").replace("-", "_")


OPTIONS = (  # a list before what is put into its entries
    Option("--judgments", "judgments", "judgments.file", near=("judgments",)),
    Option("--judgments-format", "judgments_format", "judgments.format"),
    Option("--judgments-columns", "judgments_columns", "judgments.columns", parse_columns),
    Option("--more-judgments", "more_judgments", "more_judgments", as_list, near=("more_judgments[].file",)),
    Option("--judgments-precedence", "judgments_precedence", "judgments_precedence"),
    Option("--combine", "combine", "combine"),
    Option("--cheap-judgments", "cheap_judgments", "cheap_judgments", near=("cheap_judgments.file",)),
    Option("--system", "systems", "systems", parse_systems, near=("systems[].name",)),
    Option("--scores", "scores", "scores", parse_scores),
    Option("--format", "format", "systems[].format", near=("scores[].format",)),
    Option("--columns", "columns", "systems[].columns", parse_columns, near=("scores[].columns",)),
    Option("--baseline", "baseline", "baseline"),
    Option("--metric", "metrics", "metrics", parse_metrics),
    Option("--secondary", "secondary_metrics", "secondary_metrics", parse_metrics),
    Option("--guardrail", "guardrails", "guardrails", parse_margins),
    Option("--queries", "queries", "queries"),
    Option("--documents", "documents", "documents"),
    Option("--intended", "intended", "intended", near=("intended.file",)),
    Option("--slice", "slices", "slices.by", as_list),
    Option("--smallest-slice", "smallest_slice", "slices.smallest"),
    Option("--smallest-effect", "smallest_effect", "statistics.smallest_effect", parse_smallest_effect),
    Option("--require", "gate", "gate", parse_gate, near=tuple(f"gate.{key}" for key in (*SINGLE_GATES, "not_worse"))),
    Option("--alpha", "alpha", "statistics.alpha", parse_alpha),
    Option("--resamples", "resamples", "statistics.resamples"),
    Option("--seed", "seed", "statistics.seed"),
    Option("--interval", "interval", "statistics.interval"),
    Option("--resampling", "resampling", "statistics.resampling"),
    Option("--exploratory", "exploratory", "statistics.exploratory"),
    Option("--unweighted", "weighted", "statistics.weighted", negate),
    Option("--cluster-prefix", "cluster_prefix", "statistics.cluster_prefix"),
    Option("--unclustered", "clustered", "statistics.clustered", negate),
    Option("--all-pairs", "all_pairs", "statistics.all_pairs"),
    Option("--preview", "preview", "statistics.preview"),
    Option("--bounds", "bounds", "statistics.bounds"),
    Option("--finding", "findings", "findings", parse_severities),
    Option("--strict", "strict", "strict"),
    Option("--threads", "threads", "resources.threads"),
    Option("--memory-limit", "memory_limit", "resources.memory_limit"),
    Option("--spill", "spill", "resources.spill"),
)
EMPTY = ("queries", "documents", "intended", "cheap_judgments")  # with "" not given: `--queries "$QUERIES"`


def evaluation_from_options(options: Mapping[str, Any], least_systems: int = 1) -> Evaluation:
    """The evaluation that the options describe; InputError names the option.

    options: the values of a command's parameters, by `Option.parameter`; None and "" are not given, others are ignored.
    """
    given = {name: None if name in EMPTY and value == "" else value for name, value in options.items()}
    if given.get("scores"):
        refuse_with_scores(given)
    elif (count := len(given.get("system") or ())) < least_systems:
        problem = f"given {count} times; at least {least_systems} systems are needed"
        raise InputError(f"--system: {problem}; add --system NAME=FILE")
    if given.get("gate"):
        given["require"] = given.get("require") or []
    if cluster := given.get("cluster"):
        if given.get("cluster_prefix") is not None:
            raise InputError("--cluster, --cluster-prefix: both name the clusters; take one of the two out")
        if not given.get("queries"):
            raise InputError("--cluster: names a column of the queries; give their file too, with --queries FILE")
        given["queries"] = {"file": given["queries"], "columns": {"cluster": cluster}}
    content: dict[str, Any] = {"name": "compare"}
    for option in OPTIONS:
        value = given.get(option.parameter)
        if value is not None and (value not in ([], ()) or (option.given == "gate" and given.get("gate"))):
            set_key(content, evaluation_key(option, content), option.read(option.name, value))
    if given.get("cheap_judgments") and "judgments" in content:
        content["cheap_judgments"] = content["judgments"] | {"file": given["cheap_judgments"]}
    return validate_evaluation(content, name_option)


def evaluation_key(option: Option, content: Mapping[str, Any]) -> str:
    """Where an evaluation has the option; formats and columns are those of the scores, where there are some."""
    return option.key.replace("systems[]", "scores[]") if "scores" in content else option.key


def refuse_with_scores(given: Mapping[str, Any]) -> None:
    for option in ("--judgments", "--system"):
        if given.get(option.removeprefix("--")):
            raise InputError(f"{option}: goes with rankings, and --scores hold none: take one of the two out")


def evaluation_from_arguments(arguments: Mapping[str, Any]) -> Evaluation:
    """The evaluation that arguments of the Python API describe, by `Option.given`; InputError names the argument.

    None stands for what is not given.
    """
    content: dict[str, Any] = {"name": "compare"}
    for option in OPTIONS:
        if (value := arguments.get(option.given)) is not None:
            key = evaluation_key(option, content)
            # what stands in the place of a file's name is all that is said of the place: a function that judges
            set_key(content, key.removesuffix(".file") if isinstance(value, dict) else key, value)
    return validate_evaluation(content, name_argument)


def validate_evaluation(content: dict[str, Any], named: Callable[[str], str]) -> Evaluation:
    """named: a problem with its option or argument in the place of the key."""
    try:
        return Evaluation.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(dict.fromkeys(map(named, describe_problems(error))))) from None


def set_key(content: dict[str, Any], key: str, value: Any) -> None:
    """Sets a dotted key; `[].` sets it in every entry of a list."""
    first, _, rest = key.partition(".")
    if not rest:
        content[first] = value
    elif first.endswith("[]"):
        for entry in content[first[:-2]]:
            set_key(entry, rest, value)
    else:
        set_key(content.setdefault(first, {}), rest, value)


ADVICE = re.compile(r"`(?P<key>[a-z_.]+)(: [\[{](?P<value>[^`]*)[\]}])?`")  # a key, and what to write for it


def name_option(problem: str) -> str:
    """``--alpha = 2: must be below 0.5`` for ``statistics.alpha = 2: must be below 0.5``."""

    def said(option: Option, value: str) -> str:
        return f"`{option.name} {shlex.quote(value.replace(': ', '='))}`" if value else f"`{option.name}`"

    return replace_key_names(problem, lambda option: option.name, lambda option, part: f"{option.name} {part}", said)


def name_argument(problem: str) -> str:
    """``alpha = 2: must be below 0.5`` for ``statistics.alpha = 2: must be below 0.5``."""

    def said(option: Option, value: str) -> str:
        name, colon, number = value.rpartition(": ")
        entry = f"{{{name!r}: {number}}}" if colon else f"[{value!r}]"
        return f"`{option.given}={entry}`" if value else f"`{option.given}`"

    return replace_key_names(
        problem, lambda option: option.given, lambda option, part: f'{option.given}["{part}"]', said
    )


def replace_key_names(
    problem: str,
    name_of: Callable[[Option], str],
    part_of: Callable[[Option, str], str],
    said: Callable[[Option, str], str],
) -> str:
    """A problem with the names of options in the place of keys.

    part_of: the name of one of several conditions in an option. said: what stands for a key in backticks, with the
    value that the advice gives it: ``recall@10`` of ```metrics: [recall@10]```; empty where it gives none.
    """
    keys = {option.key: option for option in OPTIONS}

    def in_their_words(found: re.Match[str]) -> str:
        option = keys.get(found["key"])
        return said(option, found["value"] or "") if option else found[0]

    problem = ADVICE.sub(in_their_words, problem)
    for option in OPTIONS:
        problem = problem.replace(f" {option.key} needs", f" {name_of(option)} needs")
    for option in OPTIONS:
        for key in (option.key, *option.near):
            if found := re.match(problem_pattern(key), problem):
                part = key.removeprefix(f"{option.key}.")
                return (part_of(option, part) if part in SINGLE_GATES else name_of(option)) + problem[found.end() :]
    return problem


def problem_pattern(key: str) -> str:
    """How a problem begins that is about a key: ``systems[1].format =``, ``statistics: resamples =``."""
    parts = [re.escape(part).replace(r"\[\]", r"\[\d+\]") for part in key.split(".")]
    return r"(\.|: )".join(parts) + "(?= =|:)"
