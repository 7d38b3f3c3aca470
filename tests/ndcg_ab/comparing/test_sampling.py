"""Which queries belong together, by their ids."""

import pytest

from ndcg_ab.comparing.sampling import clusters_by_prefix
from ndcg_ab.errors import InputError


def test_the_last_of_the_text_ends_a_cluster_s_name() -> None:
    """Conversation 106_1 has the turns 106_1_1 and 106_1_2; an id without the text, or only with it, is its own."""
    found = clusters_by_prefix(["106_1_1", "106_1_2", "106_2_1", "plain", "_x"], "_")
    assert found == {"106_1_1": "106_1", "106_1_2": "106_1", "106_2_1": "106_2", "plain": "plain", "_x": "_x"}


def test_a_text_that_no_id_contains_is_refused() -> None:
    with pytest.raises(InputError, match=r"cluster_prefix = '#': no query id contains it \(such as '1'\)"):
        clusters_by_prefix(["2", "1"], "#")
    assert clusters_by_prefix([], "#") == {}
