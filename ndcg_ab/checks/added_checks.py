"""Checks of other packages, which a configuration names in `checks` (docs/architecture.md, "Extensions")."""

from dataclasses import replace

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value, words_of
from ndcg_ab.extensions import CHECKS, load_named
from ndcg_ab.results.outcome import Finding


def run_added_checks(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """What they find, in the order of `checks`; the code of a finding is its check's name.

    Raises InputError for a check that is not installed, fails, or gives something else than findings.
    """
    found = []
    for name in evaluation.checks:
        check = load_named(CHECKS, name, "checks: ")
        try:
            given = list(check(engine, evaluation))
        except Exception as error:  # whatever the code of somebody else raises
            raise InputError(f"checks: {name}: fails: {type(error).__name__}: {words_of(error)}") from None
        if wrong := [each for each in given if not isinstance(each, Finding)]:
            raise InputError(
                f"checks: {name}: gives {format_value(wrong[0])}: must give ndcg_ab.results.outcome.Finding"
            )
        found += [replace(finding, code=name) for finding in given]
    return found
