"""Record nights that could not run, each in a small file beside the history, which stays unchanged.

A failed night is no evaluation: it has no ordinal, no evaluation is compared with it, and no monitor counts it as a
look.
"""

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import message_of, on_one_line, shorten
from ndcg_ab.files import write_text
from ndcg_ab.history.database import history_path
from ndcg_ab.history.working_folder import KEEPING, STAMP, time_in_name
from ndcg_ab.results.codec import encode

COULD_NOT_RUN = "✗ could not run"
ENDING = ".failed.json"
MOST = 100  # failed nights that are kept
LONGEST = 4_000  # characters of a reason, with its remedy
SHOWN = 120  # characters of a reason in the name of a run
PATIENCE = 5.0  # seconds to wait for another thread that keeps an evaluation


class FailedNight(NamedTuple):
    """A night (scheduled run) on which the evaluation failed.

    Attributes
    ----------
    began : str
        The nominal time, ISO 8601, UTC.
    reason : str
        The message of the error on one line, without secrets.
    """

    began: str
    reason: str

    @property
    def reason_text(self) -> str:
        """The reason with file names instead of paths: ``v2.run, line 6551: score = 'x': must be a number``."""
        location, colon, rule = self.reason.partition(": ")
        if "/" in location and " = " not in location and "://" not in location:
            location = location.rpartition("/")[2]
        return f"{location}{colon}{rule}"

    @property
    def headline(self) -> str:
        """The line that reports show for the night: ``✗ could not run: v2.run, line 6551: …``."""
        return f"{COULD_NOT_RUN}: {shorten(self.reason_text, SHOWN)}"

    @property
    def stamp(self) -> str:
        """The nominal time in the format of folder names: ``20261126T020000Z``."""
        return datetime.fromisoformat(self.began).strftime(STAMP)


def record_failed_night(evaluation: Evaluation, start: datetime, error: Exception) -> None:
    """Record a failed run, with the reason, in a file beside the history.

    Nothing is recorded if there is no history yet, since the configuration is still being set up, and nothing while the
    process is ending. An OSError is ignored. Only the latest MOST failed runs are kept.
    start: the nominal time of the run.
    """
    if not history_path(evaluation).exists() or not KEEPING.acquire(timeout=PATIENCE):
        return
    with contextlib.suppress(OSError):
        stamp = start.astimezone(UTC).strftime(STAMP)
        reason = on_one_line(message_of(error), LONGEST) or type(error).__name__
        write_night(evaluation, FailedNight(encode(time_in_name(stamp)), reason), [])
        for path in failed_night_paths(evaluation)[:-MOST]:
            path.unlink(missing_ok=True)
    KEEPING.release()


def write_night(evaluation: Evaluation, night: FailedNight, addresses: list[str]) -> None:
    """Write the file of a failed night.

    addresses: the addresses of the trackers to which the night was logged.
    """
    content = json.dumps({**night._asdict(), "places": addresses}, ensure_ascii=False) + "\n"
    write_text(history_path(evaluation).with_name(f"{night.stamp}{ENDING}"), content)


def failed_night_paths(evaluation: Evaluation) -> list[Path]:
    return sorted(history_path(evaluation).parent.glob(f"[0-9]*{ENDING}"))


def read_failed_nights(evaluation: Evaluation) -> dict[FailedNight, list[str]]:
    """Return the failed nights in the order of time, as a mapping night -> addresses of the trackers that know it.

    Damaged files are left out.
    """
    nights = {}
    for path in failed_night_paths(evaluation):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # a damaged file is no reason to fail
            night = json.loads(path.read_text(encoding="utf-8"))
            nights[FailedNight(str(night["began"]), str(night["reason"]))] = list(map(str, night["places"]))
    return nights
