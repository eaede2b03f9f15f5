"""The other side of ``remote_session.RemoteSession``: a process with one session.

It reads pickled questions from its standard input and writes answers to its original standard
output; text that solvers print is discarded.
"""

import os
import pickle
import queue
import shutil
import signal
import sys
import threading
from typing import Any, BinaryIO

from milp_verix.base.errors import MilpVerixError, SolverError
from verix_encodings.work import worked


def main(folder: str) -> None:
    """Answer questions until there are no more; ``folder`` is removed then."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(folder, sys.stdin.buffer, questions), daemon=True)
    reader.start()
    session = None
    while True:
        question = questions.get()
        answer: object
        try:
            if session is None:
                session = question()
                answer = _about(session)
            else:
                began = worked()
                for method, *arguments in question:
                    answer = getattr(session, method)(*arguments)
                answer = (answer, session.notes, worked() - began)
        except MilpVerixError as error:
            answer = error
        except Exception as error:  # noqa: BLE001, RUF100
            answer = SolverError(f"{type(error).__name__}: {error}")
        pickle.dump(answer, answers)
        answers.flush()


def _about(session: Any) -> tuple[Any, ...]:
    return session.name, session.version, session.capabilities, session.largest_big_m, session.notes


def _read(folder: str, pipe: BinaryIO, questions: "queue.SimpleQueue[Any]") -> None:
    """Pass questions on; at their end, kill this process with all that it started."""
    try:
        while True:
            questions.put(pickle.load(pipe))
    except Exception:  # noqa: BLE001, RUF100
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(os.getpgid(0), signal.SIGKILL)
