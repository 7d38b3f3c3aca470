"""A file that changes while a run is at work changes nothing in it, and its digest is of what was read."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.history import bundle as bundles
from ndcg_ab.pipeline import pulls
from ndcg_ab.pipeline.context import Stage
from tests.repeated import mostly_soaked
from tests.slow.broken_servers import configuration
from tests.small_evaluation import calling, is_known, no_tracker, perform_run, small, undrawn

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("plain_pages")]

FILES = {"judgments": "judgments.qrels", "queries": "queries.tsv", "ranking": "new.run"}
FILE_CHANGES = [(how, kind) for how in ("other rows", "gone") for kind in FILES]
CHANGES: dict[str, Any] = {"queries": {"file": "queries.tsv"}, "slices": {"by": ["language"], "smallest": 6}}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undrawn(small(tmp_path_factory.mktemp("undisturbed"), **CHANGES)).bundle


def changed(kind: str, content: str) -> str:
    """Half of the rows; of queries all, with other texts, since every judged one needs its weight."""
    lines = content.splitlines(keepends=True)
    if kind == "queries":
        return "".join([lines[0], *(line.replace("\t", "\tanother ", 1) for line in lines[1:])])
    return "".join([lines[0], *lines[len(lines) // 2 :]])


@pytest.mark.parametrize("change", mostly_soaked(FILE_CHANGES, kept=FILE_CHANGES[::5]), ids=str)
def test_what_was_pulled_is_what_is_used(change: tuple[str, str], undisturbed: Path, tmp_path: Path) -> None:
    how, kind = change
    evaluation = small(tmp_path, **CHANGES)
    path = tmp_path / "inputs" / FILES[kind]
    content, quiet = path.read_text(), calling(publish=no_tracker)
    pulled = {"judgments": pulls.pull_judgments, "queries": pulls.pull_named_queries}.get(kind, pulls.pull_ranking)

    def meddling(step: Stage, *arguments: Any) -> Any:
        found = quiet(step, *arguments)
        if step is pulled and arguments[1] != "old":
            path.unlink()
            if how == "other rows":
                path.write_text(changed(kind, content))
        return found

    expected = bundles.read_bundle(undisturbed)
    found = bundles.read_bundle(perform_run(evaluation, meddling).bundle)
    assert found.outcome == expected.outcome
    assert [row["digest"] for row in found.inputs] == [row["digest"] for row in expected.inputs]
    if how == "other rows":
        assert not is_known(evaluation), "what stands in the file now was never evaluated"
    path.write_text(content)
    assert is_known(evaluation)


def test_the_configuration_is_kept_as_it_was_read(undisturbed: Path, tmp_path: Path) -> None:
    path = configuration(small(tmp_path, **CHANGES), tmp_path)
    text = path.read_text()
    evaluation, quiet = read_config(path), calling(publish=no_tracker)

    def meddling(step: Stage, *arguments: Any) -> Any:
        path.write_text(text.replace("100", "200").replace("new.run", "old.run"))
        return quiet(step, *arguments)

    found, expected = (bundles.read_bundle(each) for each in (perform_run(evaluation, meddling).bundle, undisturbed))
    assert found.outcome == expected.outcome
    assert (found.content_key, found.configuration_key) == (expected.content_key, expected.configuration_key)
    assert found.evaluation.statistics.resamples == 100
    assert not is_known(read_config(path))
