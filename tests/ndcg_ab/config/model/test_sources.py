"""Places of several kinds: what is said of a key that one kind needs."""

import pytest
from pydantic import ValidationError

from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.inputs.sources import KINDS, System, TableSource


@pytest.mark.parametrize("model", [System, JudgmentSource, TableSource])
def test_a_key_that_a_kind_needs_is_named(model: type) -> None:
    """For each key of each kind that a place can have, in the sentence of the place."""
    count = 0
    for kind, described in KINDS.items():
        needed = [key for key, field in described.model_fields.items() if field.is_required() and key != kind]
        if kind in model.kinds and needed:
            count += 1
            content = {kind: "sqlite:///a.db"} | ({"name": "a"} if model is System else {})
            with pytest.raises(ValidationError, match=f"the key {' and '.join(needed)} must be given with {kind}"):
                model.model_validate(content)
    assert count
