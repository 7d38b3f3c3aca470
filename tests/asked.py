"""What a command or a call asks for, without evaluating it: the evaluation, and digests of what would be read."""

from collections.abc import Callable

import pytest

from ndcg_ab.api import comparing
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.scoring import scoring
from ndcg_ab.sources import JUDGMENT, RANKING, pull_source
from ndcg_ab.sources.queries import pull_queries


def asked_for(call: Callable[[], object]) -> Evaluation:
    """The evaluation that `ndcg_ab.compare`, or the command in this process, would begin."""
    found: list[Evaluation] = []

    def refuse(evaluation: Evaluation) -> None:
        found.append(evaluation)
        raise InputError("asked for")

    with pytest.MonkeyPatch.context() as patch:
        for module in (comparing, scoring):
            patch.setattr(module, "open_engine_for", refuse)
        try:
            call()
        except InputError as error:
            assert str(error) == "asked for"
    (evaluation,) = found
    return evaluation


def digests(evaluation: Evaluation) -> list[str | None]:
    """Of judgments, proxy judgments, rankings and queries, as they are read."""
    judged = [place for place in (evaluation.judgments, evaluation.cheap_judgments) if place is not None]
    places = [*((place, JUDGMENT) for place in judged), *((system, RANKING) for system in evaluation.systems)]
    read = [pull_source(place.source, layout, evaluation.directory) for place, layout in places]
    return [*(pulled.digest for pulled in read), pull_queries(evaluation).digest]
