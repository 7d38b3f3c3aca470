"""Where a bundle is published that no configuration is given for: it may come from somebody else."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.operation import Tracking
from ndcg_ab.errors import InputError
from ndcg_ab.history.bundle import Bundle, read_bundle
from ndcg_ab.trackers.base import default_tracking
from tests.small_evaluation import nights

FILE = "sqlite:////srv/results/mlflow.db"


def bundle_for(folder: Path, address: Any) -> Bundle:
    shutil.copy(nights(folder / "kept", 1)[0] / "bundle.json", folder)
    bundle = read_bundle(folder)
    tracking = Tracking(tracking_uri=address, experiment="mine")
    return dataclasses.replace(bundle, evaluation=bundle.evaluation.model_copy(update={"mlflow": tracking}))


@pytest.mark.parametrize("address", [None, FILE, "http://evil.example", {"env": "API_KEY"}])
def test_the_environment_goes_before_the_bundle(address: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mine.example")
    assert default_tracking(bundle_for(tmp_path, address)) == Tracking(tracking_uri=None, experiment="mine")


def test_a_store_in_a_file_is_taken_from_the_bundle(tmp_path: Path) -> None:
    assert default_tracking(bundle_for(tmp_path, FILE)) == Tracking(tracking_uri=FILE, experiment="mine")
    assert default_tracking(bundle_for(tmp_path, None)) == Tracking(tracking_uri=None, experiment="mine")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://evil.example", " (http://evil.example)"),
        ("http://me:s3cret99@evil.example", " (http://evil.example)"),
        ("http://evil.example/${AWS_SECRET_ACCESS_KEY}", " (http://evil.example/${AWS_SECRET_ACCESS_KEY})"),
        ("sqlite:////tmp/${HOME}", " (sqlite:////tmp/${HOME})"),
        ("postgresql://evil.example/db", " (postgresql://evil.example/db)"),
        ("databricks", " (databricks)"),
        ({"file": "/etc/passwd"}, ""),
    ],
)
def test_a_server_that_the_bundle_alone_names_is_not_spoken_to(address: Any, shown: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        default_tracking(bundle_for(tmp_path, address))
    said = str(caught.value).removeprefix(f"{tmp_path}: ")
    assert said == (
        f"the address of a server in a bundle{shown} is not trusted: name the server with MLFLOW_TRACKING_URI, or"
        " publish by the configuration: ndcg-ab publish CONFIG"
    )
