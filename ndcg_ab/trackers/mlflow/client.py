"""Write evaluations to MLflow through its client.

An evaluation is a parent run, and each system a child run. Apart from `make_empty_store`, which makes the tables of
an embedded store, only this module imports mlflow. Everything comes from the bundle on disk, and everything
carries the bundle's key, so that publishing again adds nothing.
"""

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from datetime import datetime

from ndcg_ab.config.environment import extend_upload_timeout, prepare_environment, store_file, tracking_uri
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.lookup import without_password
from ndcg_ab.config.secrets.redaction import redact, redacted_error
from ndcg_ab.errors import InputError, RefusedError, TrackingError, first_characters
from ndcg_ab.extensions import hide_packages, skip_package_code
from ndcg_ab.files import resolve_path
from ndcg_ab.full_disks import is_full, no_room, path_on_full_disk
from ndcg_ab.history.bundle import BUNDLE, SCORES, Bundle
from ndcg_ab.history.failed_nights import COULD_NOT_RUN, FailedNight
from ndcg_ab.report.answer import format_headline
from ndcg_ab.report.bundle_files import PAGE
from ndcg_ab.report.markdown import comparison_table, escape_text
from ndcg_ab.temporary import temporary_folder
from ndcg_ab.trackers.mlflow import values
from ndcg_ab.trackers.mlflow.store import ARTIFACTS, make_embedded_store
from ndcg_ab.trackers.mlflow.values import folder_name, metric_name, model_name
from ndcg_ab.trackers.mlflow.views import view_tags

prepare_environment()

# It reads its settings when it is imported.  It works without these packages, and importing them with it would take
# twice as long: only its functions for data frames need the first three, and only its gateway server needs FastAPI.
with hide_packages("pandas", "polars", "pyspark"), skip_package_code("mlflow.gateway"):
    import mlflow
    from mlflow.data.code_dataset_source import CodeDatasetSource
    from mlflow.data.meta_dataset import MetaDataset
    from mlflow.entities import DatasetInput, InputTag, LoggedModelStatus, Metric, Param, ViewType
    from mlflow.exceptions import MlflowException

MOST_RUNS = 50_000  # that MLflow returns at once


def log_bundle(bundle: Bundle, uri: str) -> tuple[str, str, bool]:
    """Log a bundle to MLflow, unless MLflow has a complete run of the bundle.

    A bundle is the folder of one evaluation's results. Incomplete runs of the bundle are deleted. A complete run is
    changed only if later nights have reused the bundle: it gets new tags, and the experiment new views.
    Return (id of the experiment, id of the run, True if the run is new).
    """
    with open_client(uri) as client:
        log = BundleLog(client, find_or_make_experiment(client, bundle.evaluation, uri), bundle)
        runs = log.find_runs()
        complete = [run_id for run_id, tags in runs.items() if values.COMPLETE in tags]
        if complete:
            news = values.reuse_tags(bundle).items() - runs[complete[0]].items()
            for name, text in news:  # that count the later nights with unchanged inputs and configuration
                client.set_tag(complete[0], name, text)
            if news:
                log.provision_views()
            return log.experiment_id, complete[0], False
        for stale in runs:
            client.delete_run(stale)
        return log.experiment_id, log.log_evaluation(), True


def log_failed_night(evaluation: Evaluation, night: FailedNight) -> None:
    """Log a failed night, a scheduled evaluation that could not run, as a failed MLflow run with the error sentence.

    Nothing is logged if MLflow has the run already. If the experiment has no later run, the experiment's description
    gets the sentence, too.
    """
    uri = tracking_uri(evaluation)
    with open_client(uri) as client:
        experiment_id = find_or_make_experiment(client, evaluation, uri)
        tags = values.failed_night_tags(evaluation, night)
        began = values.to_milliseconds(datetime.fromisoformat(night.began))
        which = f"tags.kind = '{tags['kind']}' and tags.bundle_key = '{tags['bundle_key']}'"
        if client.search_runs([experiment_id], which, max_results=1):
            return
        run_id = client.create_run(experiment_id, began, tags, night.headline).info.run_id
        client.set_terminated(run_id, "FAILED", began)
        if is_latest(client, experiment_id, began):
            before = client.get_experiment(experiment_id).tags.get(values.NOTE, values.EXPERIMENT_NOTE)
            others = [part for part in before.split("\n\n") if COULD_NOT_RUN not in part]
            failed = f"**{night.began[:10]} {escape_text(night.headline)}**"
            client.set_experiment_tag(experiment_id, values.NOTE, "\n\n".join([failed, *others]))


def is_latest(client: mlflow.MlflowClient, experiment_id: str, began: int) -> bool:
    """Return whether an experiment has no evaluation or failed night after `began` (Unix time in milliseconds)."""
    runs = client.search_runs([experiment_id], "tags.kind != 'system'", max_results=1, order_by=["start_time DESC"])
    return all(run.info.start_time <= began for run in runs)


@contextlib.contextmanager
def open_client(uri: str) -> Iterator[mlflow.MlflowClient]:
    """Yield an MLflow client of the store at an address, creating a store in a file if needed.

    An error of MLflow in the block is raised as RefusedError if MLflow rejects a value, else as TrackingError.
    """
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # it logs tracebacks of what it raises
    try:
        make_embedded_store(uri)
        yield mlflow.MlflowClient(tracking_uri=uri)
    except (InputError, TrackingError):
        raise
    except Exception as error:  # MLflow passes on what its database and its HTTP client raise
        folders = [store.parent] if (store := store_file(uri)) else []
        if is_full(error) or path_on_full_disk(*folders):  # SQLite has other words for it, too
            disk_error = no_room(error, *folders)
            raise TrackingError(str(disk_error)) from disk_error
        code = error.error_code if isinstance(error, MlflowException) else ""
        kind = RefusedError if code in ("INVALID_PARAMETER_VALUE", "BAD_REQUEST") else TrackingError
        raise kind(f"{without_password(uri)}: {first_sentence(error)}") from redacted_error(error)


def first_sentence(error: Exception) -> str:
    """Return the first line of an error that describes the problem, without secrets, in at most 300 characters.

    If the error has no such line, return the name of the error's type.
    """
    text = redact(str(error))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("(raised as a result")]
    return (lines or [type(error).__name__])[0].strip()[:300]


def find_or_make_experiment(client: mlflow.MlflowClient, evaluation: Evaluation, uri: str) -> str:
    """Return the id of an evaluation's MLflow experiment; make the experiment if it does not exist.

    Raise InputError if the experiment is deleted, and TrackingError if the server is not an MLflow server.
    """
    name = values.experiment_name(evaluation)
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        store = store_file(uri)
        location = resolve_path(store.parent / ARTIFACTS / folder_name(name)).as_uri() if store else None
        try:
            return str(client.create_experiment(name, artifact_location=location))
        except MlflowException:
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise  # else another process has made it meanwhile
    if experiment.name != name:
        raise TrackingError(f"{without_password(uri)}: answers, but not as an MLflow server does; is it one?")
    if experiment.lifecycle_stage != "active":
        raise InputError(
            f"mlflow: experiment {name!r} is deleted in {without_password(uri)}; restore it, or name another one"
        )
    return str(experiment.experiment_id)


def dataset_inputs(bundle: Bundle, system: str | None = None) -> list[DatasetInput]:
    """Return the inputs and the configuration as MLflow datasets with their digests, judgments first.

    system: the only system whose ranking is included; None for the rankings of all systems.
    """
    name = bundle.evaluation.name
    configuration = {"name": name, "kind": "configuration", "origin": f"{name}/{BUNDLE}", "rows": 1}
    rows = [row for row in bundle.inputs if system is None or row["kind"] != "ranking" or row["name"] == system]
    rows += [configuration | {"digest": bundle.configuration_key}]
    inputs = []
    for row in sorted(rows, key=lambda row: row["kind"] != "judgments"):
        source = CodeDatasetSource(tags={"origin": row["origin"], "rows": str(row["rows"])})
        dataset = MetaDataset(  # type: ignore[abstract]  # it is made to be used as it is
            source, name=first_characters(f"{row['kind']} {row['name']}", 500), digest=row["digest"]
        )
        context = [InputTag("mlflow.data.context", row["kind"])]
        inputs.append(DatasetInput(dataset._to_mlflow_entity(), context))
    return inputs


class BundleLog:
    """The runs of a bundle in an experiment of MLflow: one for the evaluation, and a child run for each system.

    client: the MLflow client. experiment_id: the id of the experiment. bundle: the results of the evaluation.
    """

    def __init__(self, client: mlflow.MlflowClient, experiment_id: str, bundle: Bundle) -> None:
        self.client, self.experiment_id, self.bundle = client, experiment_id, bundle
        self.began, self.ended = values.to_milliseconds(bundle.began), values.to_milliseconds(bundle.ended)

    def find_runs(self) -> dict[str, dict[str, str]]:
        """Return the runs of the bundle that are not deleted, as run id -> tags.

        The run of a completely published evaluation has the tag `COMPLETE`. Runs are found by the bundle's key and
        content, because bundles of two output directories may have equal keys.
        """
        which = f"tags.bundle_key = '{self.bundle.key}' and tags.content_key = '{self.bundle.content_key}'"
        runs = self.client.search_runs([self.experiment_id], which, ViewType.ACTIVE_ONLY, max_results=MOST_RUNS)
        return {run.info.run_id: run.data.tags for run in runs}

    def log_evaluation(self) -> str:
        """Log the run of the evaluation and a child run for each system; return the id of the evaluation's run."""
        outcome = self.bundle.outcome
        name = f"{format_headline(outcome)} ({self.bundle.ordinal})"
        parameters = {"alpha": outcome.alpha, "seed": outcome.seed, "resamples": outcome.resamples}
        numbers = values.parent_values(self.bundle)
        parent = self.start_run(name, values.parent_tags(self.bundle), numbers, parameters)
        self.log_files(parent)
        ours = {parent, *(self.log_system(parent, system.name) for system in self.bundle.evaluation.systems)}
        self.provision_views()
        for doubled in set(self.find_runs()) - ours:
            self.client.delete_run(doubled)  # a request that was repeated since its answer was late
        self.client.set_terminated(parent, "FAILED" if outcome.gate == "failed" else "FINISHED", self.ended)
        self.client.set_tag(parent, values.COMPLETE, "true")
        return parent

    def start_run(
        self,
        name: str,
        tags: dict[str, str],
        numbers: Mapping[str, float],
        parameters: Mapping[str, object],
        system: str | None = None,
    ) -> str:
        """Create a run with its tags, metrics, parameters and datasets, and return the id of the run.

        The parameters ``definition/ndcg_at_10`` and so on identify the definition of each metric by hash and name.
        numbers: metric name -> value. system: the system of a child run.
        """
        run = self.client.create_run(self.experiment_id, self.began, values.common_tags(self.bundle) | tags, name)
        metrics = [Metric(key, value, self.ended, self.bundle.ordinal) for key, value in numbers.items()]
        definitions = {
            f"definition/{metric_name(metric)}": f"{metric.hash} {metric.name}"
            for metric in self.bundle.outcome.metrics
        }
        described = [Param(key, str(value)) for key, value in {**parameters, **definitions}.items()]
        self.client.log_batch(run.info.run_id, metrics, described)
        self.client.log_inputs(run.info.run_id, dataset_inputs(self.bundle, system))
        return str(run.info.run_id)

    def log_files(self, parent: str) -> None:
        """Log the page, the data and a table of the comparison as files of the evaluation's run.

        The page is at the artifact root, since MLflow displays it only there. parent: the id of the evaluation's run.
        """
        with temporary_folder() as directory, extend_upload_timeout():
            path = directory / "comparison.json"
            path.write_text(json.dumps(comparison_table(self.bundle.outcome)), encoding="utf-8")
            for file in (*(self.bundle.folder / name for name in (PAGE, BUNDLE, SCORES)), path):
                self.client.log_artifact(parent, str(file))
        artifacts = json.dumps([{"path": "comparison.json", "type": "table"}])
        self.client.set_tag(parent, "mlflow.loggedArtifacts", artifacts)

    def log_system(self, parent: str, name: str) -> str:
        """Log the child run of one system, and return the id of the child run.

        MLflow draws the lines of charts from the child runs. parent: the id of the evaluation's run. name: the system.
        """
        outcome = self.bundle.outcome
        numbers = values.system_values(self.bundle, name)
        ranked = [row for row in self.bundle.inputs if row["kind"] in ("ranking", "scores")]
        digest = next((row["digest"] for row in ranked if row["name"] == name), ranked[0]["digest"])
        version = next(system.version for system in self.bundle.evaluation.systems if system.name == name) or name
        verdict = next((row.verdict for row in outcome.main if row.candidate == name), "baseline")
        parameters = {"version": version, "digest": digest, "baseline": outcome.baseline, "verdict": verdict}
        tags = values.system_tags(outcome, name) | {"mlflow.parentRunId": parent}
        run_id = self.start_run(f"{name} {self.bundle.ordinal}", tags, numbers, parameters, name)
        self.log_version(run_id, name, version, numbers)
        self.client.set_terminated(run_id, values.system_status(outcome, name), self.ended)
        return run_id

    def log_version(self, run_id: str, system: str, version: str, numbers: Mapping[str, float]) -> None:
        """Log the version of a system, with its metric values, as an MLflow LoggedModel.

        numbers: metric name -> value. A value is logged only if the model has none for the current judgments, because
        MLflow shows only the first of several values on one dataset.
        """
        client, judgments = self.client, dataset_inputs(self.bundle, system)[0].dataset
        name = model_name(system, version)
        models = client.search_logged_models([self.experiment_id], filter_string=f"name = '{name}'", max_results=1)
        if models:
            model = models[0]
        else:
            tags = {"system": system, "version": version}
            model = client.create_logged_model(self.experiment_id, name, run_id, tags, {"version": version}, "ranker")
        if model.status != LoggedModelStatus.READY:
            client.finalize_logged_model(model.model_id, "READY")
        logged = {metric.key for metric in model.metrics or [] if metric.dataset_digest == judgments.digest}
        for key in (key for key in numbers if key not in logged):
            client.log_metric(
                run_id,
                key,
                numbers[key],
                timestamp=self.ended,
                step=self.bundle.ordinal,
                dataset_name=judgments.name,
                dataset_digest=judgments.digest,
                model_id=model.model_id,
            )

    def provision_views(self) -> None:
        """Set the description and the saved views of the experiment.

        Nothing is set if the experiment has a later evaluation. An MLflow error is only logged as a warning, because
        MLflow does not document the views.
        """
        latest = values.to_milliseconds(max([self.bundle.began, *self.bundle.reused]))
        tags = view_tags(self.bundle.outcome, self.bundle.key) | {values.NOTE: values.experiment_note(self.bundle)}
        try:
            for tag, value in tags.items() if is_latest(self.client, self.experiment_id, latest) else ():
                self.client.set_experiment_tag(self.experiment_id, tag, value)
        except MlflowException as error:
            logging.getLogger(__name__).warning("MLflow views could not be saved: %s", first_sentence(error))
