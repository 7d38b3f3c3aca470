"""The budgets of `ceilings.toml`, which tests hold."""

import tomllib
from pathlib import Path

CEILINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
