"""The options that say what an evaluation may use: of files alone, or instead of what a configuration says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ndcg_ab.config.loading.file import describe_problems
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.errors import InputError


def read_resources(options: Mapping[str, Any], otherwise: Resources | None = None) -> Resources:
    """What `--threads`, `--memory-limit` and `--spill` say; otherwise: of what they do not say.

    options: the values of a command's parameters; others are ignored.  InputError names the option.
    """
    given = {name: value for name in Resources.model_fields if (value := options.get(name)) is not None}
    if (spill := given.get("spill")) is not None:
        if not spill.strip():
            raise InputError("--spill is empty: it must be a folder")
        given["spill"] = Path(spill).absolute()  # from where the command was given, not beside a configuration
    try:
        return Resources.model_validate((otherwise or Resources()).model_dump() | given)
    except ValidationError as error:
        said = describe_problems(error, lambda setting: f"--{setting.key.replace('_', '-')}")
        raise InputError("\n".join(said)) from None


def with_resource_options(evaluation: Evaluation, options: Mapping[str, Any]) -> Evaluation:
    """The evaluation of a configuration, with what the options say instead of its `resources`."""
    return evaluation.model_copy(update={"resources": read_resources(options, evaluation.resources)})
