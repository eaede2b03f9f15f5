"""A session that lives in a process of its own, for solvers that cannot be stopped in ours.

Some solvers hold Python's lock while they solve, swallow Ctrl-C, leave processes of their own
behind, or crash. Here only their process is lost: it is killed with all it started, at Ctrl-C, past
the time limit, and when ours ends.

Starting a process takes about a second, most of it imports. So an idle process is kept, listed by
the recipe of its session, for the next session of that recipe; it ends with this process. Its other
side, :func:`main`, reads pickled questions from its standard input and writes answers to its
original standard output; text that solvers print is discarded.
"""

import atexit
import os
import pickle
import queue
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, BinaryIO

from milp_verix.base.errors import (
    LicenceLimitError,
    MilpVerixError,
    SolverError,
    SolverUnavailableError,
)
from milp_verix.solvers import session
from milp_verix.solvers.session import Session, SolveResult, SolveStatus, Targets
from verix_encodings import Program
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.work import spend, worked


def main(folder: str) -> None:
    """Answer questions until there are no more; ``folder`` is removed then."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    questions: queue.SimpleQueue[Any] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(folder, sys.stdin.buffer, questions), daemon=True)
    reader.start()
    opened = None
    while True:
        question = questions.get()
        answer: object
        try:
            if opened is None:
                opened = question()
                known = opened.name, opened.version, opened.capabilities
                kept = getattr(opened, "dropped", 0.0), dict(getattr(opened, "parameters", {}))
                answer = (*known, opened.largest_big_m, opened.notes, *kept)
            else:
                began = worked()
                for method, *arguments in question:
                    answer = getattr(opened, method)(*arguments)
                answer = (answer, opened.notes, worked() - began)
        except MilpVerixError as error:
            answer = error
        except Exception as error:  # noqa: BLE001, RUF100
            answer = SolverError(f"{type(error).__name__}: {error}")
        pickle.dump(answer, answers)
        answers.flush()


def _read(folder: str, pipe: BinaryIO, questions: "queue.SimpleQueue[Any]") -> None:
    """Pass questions on; at their end, kill this process with all that it started."""
    try:
        while True:
            questions.put(pickle.load(pipe))
    except Exception:  # noqa: BLE001, RUF100
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(os.getpgid(0), signal.SIGKILL)


_START_SECONDS = 60.0


class SolverProcess:
    """A process with the session that a pickled function opens, and a folder for its files.

    ``about`` has the name, version and capabilities of the session. Raises
    ``SolverUnavailableError`` if it does not open.
    """

    def __init__(self, recipe: bytes) -> None:
        self.recipe = recipe
        self._owner = os.getpid()
        self._killed = False
        self._folder = tempfile.mkdtemp(prefix="milp-verix-")
        weakref.finalize(self, _remove, self._folder, self._owner)
        path = [str(Path(entry).absolute()) for entry in sys.path]
        code = (
            f"import sys; sys.path[:] = {path!r}; "
            f"from milp_verix.solvers.remote_session import main; main({self._folder!r})"
        )
        with (Path(self._folder) / "errors").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=self._folder,
                env=os.environ | dict.fromkeys(("TMPDIR", "TMP", "TEMP"), self._folder),
                # Ctrl-C in the terminal reaches us alone, and we end the process
                start_new_session=True,
            )
        try:
            self.about = self.ask(pickle.loads(recipe), _START_SECONDS)
        except MilpVerixError:
            self.kill()
            raise
        if self.about is None:
            raise SolverUnavailableError(f"its process did not start in {_START_SECONDS:g} s")

    @property
    def usable(self) -> bool:
        """True if it is alive and ours: a fork must not talk to the process of its parent."""
        return self._owner == os.getpid() and not self._killed and self._process.poll() is None

    def ask(self, question: object, seconds: float) -> Any:
        """Return the answer, or raise it; None, and kill the process, after ``seconds``."""
        process, answered = self._process, False
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(question, process.stdin)
            process.stdin.flush()
            if not _readable(process.stdout, seconds):
                return None
            answer = pickle.load(process.stdout)
            answered = True
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise SolverError(f"its process ended: {self._last_words()}") from error
        finally:
            # also after Ctrl-C: nobody would read the answer
            if not answered:
                self.kill()
        if isinstance(answer, MilpVerixError):
            raise answer
        return answer

    def _last_words(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        code = f"exit code {self._process.returncode}"
        with suppress(OSError):
            lines = (Path(self._folder) / "errors").read_text(errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            return f"{said[-1]} ({code})" if said else code
        return code

    def kill(self) -> None:
        """End the process and all that it started, and remove their files."""
        if self._owner != os.getpid() or self._killed:
            return
        self._killed = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        _remove(self._folder, self._owner)


def _remove(folder: str, owner: int) -> None:
    """Remove ``folder``, but not in a fork of the process that it belongs to."""
    if owner == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


def _readable(pipe: IO[bytes], seconds: float) -> bool:
    """Return whether ``pipe`` has something to read, or ended, within ``seconds``."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while not poll.poll(1000 * max(min(deadline - time.monotonic(), session.LONGEST_WAIT), 0.0)):
        if time.monotonic() >= deadline:
            return False
    return True


_idle: dict[bytes, SolverProcess] = {}


def take(make: Callable[[], Any]) -> SolverProcess:
    """Return a process with a session that ``make`` opens, an idle one if there is any."""
    recipe = pickle.dumps(make)
    process = _idle.pop(recipe, None)
    return process if process is not None and process.usable else SolverProcess(recipe)


def give_back(process: SolverProcess) -> None:
    """Keep ``process`` for the next session of its recipe; it must not be solving."""
    if process.usable and process.recipe not in _idle:
        _idle[process.recipe] = process
    else:
        process.kill()


@atexit.register
def _end() -> None:
    while _idle:
        _idle.popitem()[1].kill()


_GRACE_SECONDS = 5.0


class RemoteSession:
    """The session that ``make`` opens, in another process; ``make`` can be pickled.

    The program is kept here and sent with the next solve, so that a process that had to be killed
    is replaced by another. Raises ``SolverUnavailableError`` if ``make`` does.
    """

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._program: Program | None = None
        self._news: list[tuple[object, ...]] = []
        self._process: SolverProcess | None = take(make)
        about = self._process.about
        self.name, self.version, self.capabilities, self.largest_big_m, self.notes = about[:5]
        self.dropped, self.parameters = about[5:]

    def load(self, program: Program) -> None:
        session.refuse_beyond(self, program)
        self._program, self._news = program, [("load", program)]

    def extend(self, program: Program) -> None:
        session.refuse_beyond(self, program)
        self._program = program
        self._news.append(("extend", program))

    def set_bounds(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        if self._program is None:
            raise SolverError("load a program before its bounds")
        self._program = self._program.with_bounds(columns, lower, upper)
        self._news.append(("set_bounds", columns, lower, upper))

    def minimise(self, cost: FloatArray, targets: Targets) -> SolveResult:
        if self._program is None:
            raise SolverError("load a program before minimising")
        deadline = time.monotonic() + targets.seconds
        start = session.start_of(targets, cost.size) if "start" in self.capabilities else None
        if self._process is None or not self._process.usable:
            self._process, self._news = take(self._make), [("load", self._program)]
        news, self._news = self._news, []
        seconds = deadline - time.monotonic()
        limited = replace(targets, seconds=seconds, start=start, probe=None)
        question = (*news, ("minimise", cost, limited))
        try:
            said = self._process.ask(question, max(seconds, 0.0) + _GRACE_SECONDS)
        except LicenceLimitError:
            # the process is as it was, and had best be kept: the next program may be small
            self._news = [("load", self._program)]
            raise
        except SolverError:
            # it may be in any state
            self._end()
            raise
        if said is None:
            return SolveResult(SolveStatus.TIME_LIMIT, detail="killed at the time limit")
        result: SolveResult
        result, self.notes, work = said
        spend(work)
        if result.point is not None and result.point.shape != cost.shape:
            raise SolverError(f"{self.name} gave a point of shape {result.point.shape}")
        return result

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            give_back(self._process)
        self._process, self._program = None, None
