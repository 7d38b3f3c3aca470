"""What a tracker is, and the publishing of bundles that none has yet."""

import dataclasses
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from ndcg_ab.config.model import Evaluation
from ndcg_ab.errors import InputError, RefusedError
from ndcg_ab.history.bundles import Bundle, mark_published, read_bundle, unpublished
from ndcg_ab.history.locks import alone
from ndcg_ab.report.bundle_files import render
from ndcg_ab.visible import visible


@dataclasses.dataclass(frozen=True)
class Published:
    """Where an evaluation stands in a tracker.

    url: its page. trend_url: the evaluations over time. uri: the tracker's address. new: False when it was there
    already. dashboard: the command that opens an embedded store in the browser; None for a server, which is open.
    """

    run_id: str
    url: str
    trend_url: str
    uri: str
    new: bool
    dashboard: str | None = None


class Tracker(ABC):
    """A place that keeps results for dashboards.  Another one is a module with such a class, and a line
    in `tracking`."""

    @abstractmethod
    def log(self, bundle: Bundle) -> Published:
        """Logs a bundle, once; what an earlier attempt left incomplete is replaced.

        Everything comes from the bundle on disk.  Raises TrackingError where the tracker cannot be reached,
        RefusedError where it does not take the bundle, InputError where the configuration is to blame.
        """

    def publish(self, folder: Path, current: Evaluation | None = None) -> Published:
        """Logs the bundle in `folder`, and notes there that it is logged.

        current: the evaluation as it is configured now, which says where to; by default what the bundle says, with its
        output where the folder is now.
        Raises InputError where there is no bundle; else as `log`.
        """
        bundle = read_bundle(folder)
        output = folder.resolve().parent.parent if current is None else current.output_directory
        place = {"mlflow": (current or bundle.evaluation).mlflow, "output": output}
        bundle = dataclasses.replace(bundle, evaluation=bundle.evaluation.model_copy(update=place))
        with alone(folder):
            render(folder)
            found = self.log(bundle)
            where = {"uri": found.uri, "run_id": found.run_id, "url": found.url, "reused": len(bundle.reused)}
            mark_published(folder, where)
        return found

    def publish_pending(self, evaluation: Evaluation, bundle: Path) -> tuple[Published, int]:
        """Publishes a bundle, and before it those that are pending, in their order; how many of these were new."""
        new = 0
        for folder in unpublished(evaluation):
            if folder != bundle:
                try:
                    new += self.publish(folder, evaluation).new
                except InputError:  # said already, where it was read; it must not keep the others back
                    continue
                except RefusedError as error:
                    print(visible(f"ndcg-ab: {folder}: MLflow does not take it: {error}"), file=sys.stderr)
        return self.publish(bundle, evaluation), new
