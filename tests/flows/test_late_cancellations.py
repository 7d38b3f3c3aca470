"""Prefect's way to end a thread may meet a finaliser, where Python would print it; other errors there are printed."""

import gc

import pytest

from ndcg_ab.flows.watch import hide_late_cancellations

pytestmark = pytest.mark.slow


class Finalised:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_only_prefects_cancellation_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from prefect._internal.concurrency.cancellation import CancelledError  # Prefect takes seconds

    seen = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.unraisablehook", lambda unraisable: seen.append(unraisable.exc_type))
        with hide_late_cancellations():
            for error in (CancelledError(), KeyError("mine")):
                Finalised(error)
                gc.collect()
        Finalised(CancelledError())
        gc.collect()
    assert seen == [KeyError, CancelledError]
