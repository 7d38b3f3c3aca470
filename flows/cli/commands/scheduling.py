"""The commands that run evaluations on their schedules: serve, deploy."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ndcg_ab.errors import InputError, needs

from ..console import print_line
from ..options import Settings

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation

ConfigFiles = Annotated[list[Path], typer.Argument(metavar="CONFIG…", help="Configuration files (YAML).")]


def serve(configs: ConfigFiles, settings: Settings = None) -> None:
    """Run evaluations when their schedule says, in this process, until it is stopped: for a laptop."""
    needs("ndcg-ab serve", "prefect", "mlflow")
    evaluations = load_scheduled(configs, settings or ())
    from ... import schedules

    schedules.serve(evaluations)


def deploy(
    configs: ConfigFiles,
    pool: Annotated[str, typer.Option(metavar="NAME", help="The work pool whose workers run them. (default local)")] = (
        "local"
    ),
    settings: Settings = None,
) -> None:
    """Register evaluations with their schedules at a Prefect server, for the workers of a pool."""
    needs("ndcg-ab deploy", "prefect", "mlflow")
    evaluations = load_scheduled(configs, settings or ())
    from ... import schedules

    for line in schedules.deploy(evaluations, pool):
        print_line(line)


def load_scheduled(configs: list[Path], settings: Sequence[str] = ()) -> "list[Evaluation]":
    """The evaluations; InputError for two of one name, or for Prefect servers that differ."""
    from ndcg_ab.config.environment import prepare_environment
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.trackers import refuse_unknown_tracker

    evaluations = [read_config(config, settings) for config in configs]
    for evaluation in evaluations:
        refuse_unknown_tracker(evaluation)
    names = [evaluation.name for evaluation in evaluations]
    for config, name in zip(configs, names, strict=True):
        if names.count(name) > 1:
            raise InputError(f"{config}: name = {name!r}: another configuration has it too; a deployment has its own")
    servers = {str(evaluation.prefect.api_url) for evaluation in evaluations}
    if len(servers) > 1:
        raise InputError(f"{configs[0]}: prefect.api_url: the configurations name different servers; take them apart")
    prepare_environment(evaluations[0])
    return evaluations


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    serve: "configs/demo.yaml",
    deploy: "configs/nightly.yaml --pool local",
}
