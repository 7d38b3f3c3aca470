"""An evaluation over HTTP from its configuration to the page: titles, missing queries, answers kept, no secrets."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.engines.duckdb import StoredTables
from ndcg_ab.errors import UnavailableError
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history.bundle import read_content
from ndcg_ab.pipeline import pulls
from ndcg_ab.report.page.data import gather_page_data
from ndcg_ab.sources.registry import file_source
from tests.loopback import Asked, Loopback, Said, serving
from tests.small_evaluation import calling, no_tracker, perform_run, small

pytestmark = pytest.mark.slow

KEY = "s3cret-of-the-engine"


def engine(asked: Asked) -> Said:
    """Twenty documents, in another order for every length of the text; one title holds markup."""
    if asked.headers["x-key"] != KEY:
        return Said("no", 401)
    documents = [f"{asked.query['lang'][0]}-{at}" for at in range(5)]
    hits = [{"id": doc, "about": {"name": f"Title of <b>{doc}", "link": f"https://e.x/{doc}"}} for doc in documents]
    return Said({"hits": hits[:: 1 if asked.query.get("v") == ["1"] else -1]})


def described(folder: Path, server: Loopback, **keys: Any) -> Evaluation:
    ids = [f"q{number:02}" for number in range(12)]
    queries = "query_id\ttext\tlanguage\n" + "".join(f"{each}\ttext of {each}\tde\n" for each in ids)
    evaluation = small(folder)
    (evaluation.directory / "q.tsv").write_text(queries)
    (evaluation.directory / "j.tsv").write_text(
        "query_id\tdoc_id\tgrade\n" + "".join(f"{each}\tde-0\t1\n{each}\tmissed\t1\n" for each in ids)
    )
    http = {
        "url": server.address,
        "headers": {"X-Key": {"env": "ENGINE_KEY"}},
        "parameters": {"q": "{query}", "lang": "{language}"},
        "results": {"title": "about.name", "url": "about.link"},
        "retries": 0,
        "concurrency": 1,
        **keys,
    }
    systems = [
        {"name": f"v{version}", "http": {**http, "parameters": {**http["parameters"], "v": version}}}
        for version in (1, 2)
    ]
    return small(folder, judgments={"file": "j.tsv"}, queries={"file": "q.tsv"}, systems=systems)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_KEY", KEY)


def test_titles_and_addresses_of_hits_come_to_the_page(tmp_path: Path) -> None:
    with serving(engine) as server:
        call = calling(publish=no_tracker, draw_page=lambda bundle: None)
        performed = perform_run(described(tmp_path, server), call)
    bundle = bundles.read_bundle(performed.bundle)
    with StoredTables(performed.bundle / bundles.TABLES) as tables:
        data = gather_page_data(tables, bundle.outcome, read_content(performed.bundle))
        (tmp_path / "d.tsv").write_text("doc_id\ttitle\nde-3\tOwn title\nmissed\tMissed title\n")
        documents = file_source(FileSource(file=Path("d.tsv")), tmp_path)
        titled = gather_page_data(tables, bundle.outcome, read_content(performed.bundle), documents=documents)
    assert data.documents is not None
    assert titled.documents is not None
    assert [row["title"] for row in titled.documents.to_pylist()][3:] == [
        "Own title",
        "Title of <b>de-4",
        "Missed title",
    ]
    assert data.documents.to_pylist() == [
        {"doc_id": f"de-{at}", "title": f"Title of <b>de-{at}", "url": f"https://e.x/de-{at}"} for at in range(5)
    ]
    for path in performed.bundle.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path.name
    (row,) = bundle.outcome.comparisons
    assert row.queries == 12


def test_the_second_attempt_of_a_pull_asks_for_the_rest_alone(tmp_path: Path) -> None:
    """As Prefect calls the step again after a fault; nothing of it is in the bundle."""
    came = []

    def once_broken(asked: Asked) -> Said:
        came.append(asked.text)
        return Said("", 503) if len(came) == 6 else engine(asked)

    def twice(*arguments: Any) -> Any:
        try:
            return pulls.pull_ranking.run(*arguments)
        except UnavailableError:
            return pulls.pull_ranking.run(*arguments)

    with serving(once_broken) as server:
        call = calling(publish=no_tracker, pull_ranking=twice, draw_page=lambda bundle: None)
        performed = perform_run(described(tmp_path, server), call)
    assert len(came) == 2 * 12 + 1
    assert came.count("text of q05") == 3
    assert not list(performed.bundle.rglob("answers*"))
