"""Checks of other packages, which a configuration names in `checks` (docs/architecture.md, "Extensions")."""

from dataclasses import replace

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.extensions import CHECKS, load_named, translate_foreign_errors
from ndcg_ab.results.outcome import Finding


def run_added_checks(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """What they find, in the order of `checks`; the code of a finding is its check's name.

    Raises InputError for a check that is not installed, fails, or gives something else than findings.
    """
    found = []
    for name in evaluation.checks:
        check = load_named(CHECKS, name, "checks: ")
        with translate_foreign_errors(f"checks: {name}: fails"):
            given = list(check(engine, evaluation))
            if wrong := [each for each in given if not isinstance(each, Finding)]:
                raise InputError(
                    f"checks: {name}: gives {format_value(wrong[0])}: must give ndcg_ab.results.outcome.Finding"
                )
        found += [replace(finding, code=name) for finding in given]
    return found
