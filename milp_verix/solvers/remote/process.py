"""A process that holds one session, see ``remote.worker``: ask it, or kill it.

Starting a process takes about a second, most of it imports. So an idle process is kept, listed by
the recipe of its session, for the next session of that recipe; it ends with this process.
"""

import atexit
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from milp_verix.base.errors import MilpVerixError, SolverError, SolverUnavailableError
from milp_verix.solvers.interrupt import LONGEST_WAIT

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
            f"from milp_verix.solvers.remote.worker import main; main({self._folder!r})"
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
        """Return the answer to ``question``, or None and kill it if there is none in ``seconds``.

        Raises the error that the answer is, and ``SolverError`` where the process ends.
        """
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
    while not poll.poll(1000 * max(min(deadline - time.monotonic(), LONGEST_WAIT), 0.0)):
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
