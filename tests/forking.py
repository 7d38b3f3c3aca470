"""Work in forks of this process, which opens nothing itself: what it imported need not be imported again."""

import json
import os
import traceback
from collections.abc import Callable
from typing import Any


def call_in_fork(work: Callable[[], Any]) -> Any:
    """Return what `work` returns in a process of its own, as JSON has it; -9 if that process was killed.

    Raise RuntimeError with its traceback if it failed.
    """
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            answer = {"found": work()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return -os.WTERMSIG(status)
    answer = json.loads(text)
    if "error" in answer:
        raise RuntimeError(f"a process failed:\n{answer['error']}")
    return answer["found"]
