"""Define trackers, which store results for dashboards, and publish the bundles that are still pending."""

import contextlib
import dataclasses
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Tracking
from ndcg_ab.config.secrets.lookup import without_password
from ndcg_ab.deadlines import Budget, OverdueError, run_with_timeout
from ndcg_ab.errors import InputError, RefusedError, TrackingError
from ndcg_ab.extensions import translate_foreign_errors
from ndcg_ab.files import resolve_path
from ndcg_ab.full_disks import NoRoomError
from ndcg_ab.history.bundle import TABLES, Bundle, lock_publishing, mark_published, read_bundle, unpublished_bundles
from ndcg_ab.history.failed_nights import FailedNight, read_failed_nights, write_night
from ndcg_ab.report.bundle_files import render_bundle_page
from ndcg_ab.visible import visible

T = TypeVar("T")
PATIENCE = 180.0  # seconds that all publishing of a run may take, or that of one bundle by itself
SLOWEST = 1_000_000.0  # bytes of files in a second


@dataclasses.dataclass(frozen=True)
class Published:
    """The addresses of an evaluation in a tracker.

    Attributes
    ----------
    run_id : str
        Id of the evaluation in the tracker.
    url : str
        Address of the page of the evaluation.
    trend_url : str
        Address of the page of all evaluations over time; empty if the tracker has none.
    uri : str
        Address of the tracker.
    new : bool
        False if the evaluation had been logged before.
    dashboard : str or None
        Command that starts a server for an MLflow store in a file; None if a server is running already.
    """

    run_id: str
    url: str
    trend_url: str
    uri: str
    new: bool
    dashboard: str | None = None


def default_tracking(bundle: Bundle) -> Tracking:
    """Return the MLflow settings for a bundle that is published without a configuration.

    The settings name the store in the environment variable MLFLOW_TRACKING_URI, else the SQLite file that the bundle
    names, else the default file. Raise InputError if a server is named only by the bundle: the bundle may come from
    somebody else, and the credentials of the user would go to this server.
    """
    settings = bundle.evaluation.mlflow
    address = settings.tracking_uri
    if os.environ.get("MLFLOW_TRACKING_URI") or address is None:
        return settings.model_copy(update={"tracking_uri": None})
    if isinstance(address, str) and address.startswith("sqlite:///") and "${" not in address:
        return settings
    address_text = f" ({without_password(address)})" if isinstance(address, str) else ""
    raise InputError(
        f"{bundle.folder}: the address of a server in a bundle{address_text} is not trusted: name the server with"
        " MLFLOW_TRACKING_URI, or publish by the configuration: ndcg-ab publish CONFIG"
    )


class Tracker(ABC):
    """A store of results for dashboards, such as MLflow.

    To add one, write a subclass and register it: as a line of `TRACKERS` in `ndcg_ab.trackers`, or in another package
    as an entry point of the group ``ndcg_ab.trackers``.

    Parameters
    ----------
    evaluation : Evaluation
        The configuration, whose options of the tracker are checked.

    Attributes
    ----------
    label : str
        Name of the tracker in messages. The registry sets it.
    options : tuple of str
        Keys that `tracker: {NAME: {…}}` in a configuration may contain.

    Raises
    ------
    InputError
        If the configuration has an option that the tracker does not know.
    """

    label: str = "the tracker"
    options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, evaluation: Evaluation) -> None:
        for name in evaluation.tracker.options:
            if name not in self.options:
                names = ", ".join(self.options) or "none"
                raise InputError(f"tracker.{evaluation.tracker.name}.{name}: is no option of {self.label} ({names})")

    @abstractmethod
    def log(self, bundle: Bundle) -> Published:
        """Log the files of a bundle unless they are logged already, and return the addresses of the evaluation.

        Whatever an incomplete earlier attempt has logged is replaced.

        Parameters
        ----------
        bundle : Bundle
            The results of one evaluation.

        Returns
        -------
        Published
            The addresses of the evaluation in the tracker.

        Raises
        ------
        TrackingError
            If the tracker cannot be reached.
        RefusedError
            If the tracker rejects the bundle.
        InputError
            If the configuration is wrong.
        """

    def log_failed_night(self, evaluation: Evaluation, night: FailedNight) -> None:  # noqa: B027
        """Log that a scheduled evaluation failed, unless that is logged already; this base class does nothing.

        Parameters
        ----------
        evaluation : Evaluation
            The configuration.
        night : FailedNight
            The time and the error of the failed evaluation.

        Raises
        ------
        TrackingError
            If the tracker cannot be reached.
        RefusedError
            If the tracker rejects the record.
        InputError
            If the configuration is wrong.
        """

    @abstractmethod
    def address(self, evaluation: Evaluation) -> str:
        """Return the address of the tracker that an evaluation's configuration names.

        Parameters
        ----------
        evaluation : Evaluation
            The configuration.

        Returns
        -------
        str
            The address, written as in `Published.uri`.
        """

    def publish(self, folder: Path, current: Evaluation | None = None, budget: Budget | None = None) -> Published:
        """Log the bundle in a folder and return the addresses of the evaluation.

        A bundle is the folder of one evaluation's results. The page in the folder is rendered first. At the end the
        folder records that the bundle is logged.

        current: the current configuration, whose MLflow settings and output directory are used; None for the settings
        of `default_tracking`.
        budget: the time limit; None for PATIENCE seconds, and more for large files.

        Raise InputError if there is no bundle or the configuration is wrong, TrackingError if the tracker cannot be
        reached, the time is used up or the disk is full, and RefusedError if the tracker rejects the bundle.
        """
        bundle = read_bundle(folder)
        output = resolve_path(folder).parent.parent if current is None else current.output_directory
        mlflow = default_tracking(bundle) if current is None else current.mlflow
        settings = {"mlflow": mlflow, "output": output}
        bundle = dataclasses.replace(bundle, evaluation=bundle.evaluation.model_copy(update=settings))
        with lock_publishing(folder):
            try:
                render_bundle_page(folder)
            except NoRoomError as error:
                raise TrackingError(str(error)) from error
            result = self.log_in_time(bundle, budget)
            where = {"uri": result.uri, "run_id": result.run_id, "url": result.url, "reused": len(bundle.reused)}
            mark_published(folder, where)
        return result

    def log_in_time(self, bundle: Bundle, budget: Budget | None = None) -> Published:
        """Log a bundle within a time limit and return the addresses of the evaluation.

        budget: the time limit; None for PATIENCE seconds, and more for large files.
        Raise TrackingError if the limit is exceeded, because a server can answer so slowly that no timeout of a single
        request ends the logging. Also raise the errors of `log`.
        """
        if budget is None:
            files = (path for path in bundle.folder.rglob("*") if path.is_file() and path.name != TABLES)
            budget = Budget(PATIENCE + sum(path.stat().st_size for path in files) / SLOWEST)
        return self.log_within_budget(partial(self.log, bundle), budget)

    def log_within_budget(self, log: Callable[[], T], budget: Budget) -> T:
        """Call `log` and return its result; raise TrackingError if the time budget is used up.

        An error of a library in `log` is raised as TrackingError, too.
        """
        slow = f"was given up after {budget.seconds:.0f} s: the server answers, but too slowly"
        if (seconds := budget.remaining_seconds()) <= 0:
            raise TrackingError(slow)
        try:
            return run_with_timeout(seconds, translate_foreign_errors(f"{self.label} failed", TrackingError)(log))
        except OverdueError:
            raise TrackingError(slow) from None

    def publish_failed_nights(self, evaluation: Evaluation, budget: Budget) -> None:
        """Log each failed night that is not yet logged in this tracker, and record that it is logged.

        A failed night is a scheduled evaluation that could not run. Even if the tracker rejects it, it is recorded as
        logged, because a retry would not help. Raise TrackingError if the tracker cannot be reached or the time is used
        up, and InputError if the configuration is wrong.
        """
        address = self.address(evaluation)
        for night, addresses in read_failed_nights(evaluation).items():
            if address not in addresses:
                log = partial(self.log_failed_night, evaluation, night)
                with contextlib.suppress(RefusedError):  # trying again will not help
                    self.log_within_budget(log, budget)
                write_night(evaluation, night, [*addresses, address])

    def publish_pending(
        self, evaluation: Evaluation, bundle: Path, budget: Budget | None = None
    ) -> tuple[Published, int]:
        """Publish all pending bundles in order, then `bundle`.

        Failed nights, which are scheduled evaluations that could not run, are published first. A pending bundle that is
        unreadable or rejected is skipped. Return the addresses of `bundle`, and the number of bundles before it that
        were logged for the first time.

        budget: the time limit for everything together; None for PATIENCE seconds.
        Raise TrackingError if the tracker cannot be reached or the time is used up, and InputError or RefusedError if
        `bundle` itself is unreadable or rejected.
        """
        budget = budget or Budget(PATIENCE)
        self.publish_failed_nights(evaluation, budget)
        new = 0
        for folder in unpublished_bundles(evaluation):
            if folder != bundle:
                try:
                    new += self.publish(folder, evaluation, budget).new
                except InputError:  # said already, where it was read; it must not keep the others back
                    continue
                except RefusedError as error:
                    print(visible(f"ndcg-ab: {folder}: {self.label} does not take it: {error}"), file=sys.stderr)
        return self.publish(bundle, evaluation, budget), new
