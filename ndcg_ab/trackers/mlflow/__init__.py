"""Publish to MLflow: one experiment per evaluation name, a run per evaluation, with a child run per system.

Grouped by the tag ``system`` the charts of MLflow are one line per system over the evaluations. This module does not
import mlflow, which takes longer than a small evaluation: `client` does, as soon as something is to be logged.
"""

import http.client
import shlex
import urllib.request

from ndcg_ab.config.environment import tracking_uri
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.lookup import without_password
from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.files import command_to_paste
from ndcg_ab.history.bundle import Bundle
from ndcg_ab.history.failed_nights import FailedNight
from ndcg_ab.trackers.base import Published, Tracker
from ndcg_ab.trackers.mlflow.store import set_store_tags
from ndcg_ab.trackers.mlflow.values import COMPLETE, NOTE, experiment_name, experiment_note, reuse_tags, to_milliseconds
from ndcg_ab.trackers.mlflow.views import view_id

ANSWER_PATIENCE = 1.0  # seconds in which a server on this machine answers


class MlflowTracker(Tracker):
    """The tracker that logs to an MLflow server, or to an SQLite file beside the results.

    Its settings are under the key `mlflow` of a configuration.
    """

    def log(self, bundle: Bundle) -> Published:
        uri = tracking_uri(bundle.evaluation)
        run_tags = {"bundle_key": bundle.key, "content_key": bundle.content_key, COMPLETE: "true"}
        night = to_milliseconds(max([bundle.began, *bundle.reused]))
        note = {NOTE: experiment_note(bundle)}
        name = experiment_name(bundle.evaluation)
        if ids := set_store_tags(uri, name, run_tags, reuse_tags(bundle), note, night):
            return make_published(uri, *ids, new=False)
        from ndcg_ab.trackers.mlflow.client import log_bundle

        experiment_id, run_id, is_new = log_bundle(bundle, uri)
        return make_published(uri, experiment_id, run_id, new=is_new)

    def log_failed_night(self, evaluation: Evaluation, night: FailedNight) -> None:
        from ndcg_ab.trackers.mlflow.client import log_failed_night

        log_failed_night(evaluation, night)

    def address(self, evaluation: Evaluation) -> str:
        return display_address(tracking_uri(evaluation))


def display_address(uri: str) -> str:
    """Return the address of a store without passwords and other secrets, so that it can be stored and displayed."""
    return redact(without_password(uri))


def make_published(uri: str, experiment_id: str, run_id: str, *, new: bool) -> Published:
    uri = display_address(uri)
    base = uri.rstrip("/") if uri.startswith("http") else "http://127.0.0.1:5000"
    mode = "workflowType=machine_learning"
    runs = f"{base}/#/experiments/{experiment_id}/runs"
    return Published(
        run_id=run_id,
        url=f"{runs}/{run_id}?{mode}",
        trend_url=f"{runs}?compareRunsMode=CHART&{mode}&viewStateShareKey={view_id('Nightly trend')}",
        uri=uri,
        new=new,
        dashboard=None if is_served(base, run_id) else dashboard_command(uri),
    )


def is_served(base: str, run_id: str) -> bool:
    """Return whether an MLflow server answers at the address `base` and has the run."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{base}/api/2.0/mlflow/runs/get?run_id={run_id}", timeout=ANSWER_PATIENCE) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, http.client.HTTPException):
        return False


def dashboard_command(uri: str) -> str | None:
    """Return the command that starts an MLflow server for a store in a file.

    Return None for the address of a server.
    """
    if not uri.startswith("sqlite:"):
        return None
    return (
        f"MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false {command_to_paste('mlflow')} server"
        f" --backend-store-uri {shlex.quote(uri)} --port 5000"
    )
