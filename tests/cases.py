"""Tables of cases that are only data: a YAML file in tests/cases for each module of tests that has some."""

from typing import Any

import yaml

from tests.paths import ROOT


def read_cases(name: str) -> dict[str, Any]:
    """Return the tables of `tests/cases/NAME.yaml` by their names."""
    tables: dict[str, Any] = yaml.safe_load((ROOT / "tests" / "cases" / f"{name}.yaml").read_text(encoding="utf-8"))
    return tables
