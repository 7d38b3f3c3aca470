"""What was read, in the tables of an engine, and checked."""

from ndcg_ab.checks.data_checks import check_tables
from ndcg_ab.checks.judged_results import WholeNeededError
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.results.outcome import Finding
from ndcg_ab.scoring.loading import load_tables
from ndcg_ab.scoring.scoring import PulledInputs


def load_and_check(engine: Engine, read: PulledInputs, evaluation: Evaluation) -> list[Finding]:
    """The tables, and the data check's findings; where these need more than reduced rankings hold, they are read."""
    assert read.judgments is not None
    rankings = read.rankings
    load_tables(engine, read.judgments, read.queries, rankings, evaluation)
    try:
        return check_tables(engine, read.judgments, rankings, evaluation)
    except WholeNeededError:
        rankings = {name: each.whole() for name, each in rankings.items()}
        load_tables(engine, read.judgments, read.queries, rankings, evaluation)
        return check_tables(engine, read.judgments, rankings, evaluation)
