"""Tries in child processes: what they raise, whether they end, and when."""

import os
import time
import traceback
import warnings
from collections.abc import Callable
from select import select

from milp_verix import MilpVerixError

LIMIT = 1.0
"""Seconds that each question is given."""
_SECONDS = LIMIT + 2.0
"""Seconds of processor that a try may take: what the house promises beside a limit."""
_DEAD = 120.0
"""Seconds of the clock without a sign, after which a child is taken for one that never ends."""
_LONGEST = 400

Try = Callable[[int], Callable[[], object]]
"""From a seed, a call. What makes the call may take its time, and raises nothing."""


def fault(call: Callable[[], object]) -> str | None:
    """Return what is wrong with how ``call`` ends, None if nothing is."""
    began = time.process_time()
    told = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except MilpVerixError as error:
        text = str(error)
        if max(map(len, text.splitlines() or [""])) > _LONGEST:
            told = f"{type(error).__name__} of {len(text)} characters: {text[:300]!r}"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        told = f"{type(error).__name__} at {where}: {str(error)[:200]!r}"
    took = time.process_time() - began
    if told is None and took > _SECONDS:
        told = f"{took:.1f} s of processor"
    return told


def run(made: Try, seeds: range) -> list[str]:
    """Return a line for each seed whose call ends wrongly."""
    found, at = list[str](), seeds.start
    while at < seeds.stop:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _children_part(made, range(at, seeds.stop), writer)
        os.close(writer)
        at, told = _listen(reader, at, seeds.stop)
        os.close(reader)
        if at < seeds.stop:
            told.append(_end_of(child, at))
            at += 1
        else:
            os.waitpid(child, 0)
        found += told
    return found


def _children_part(made: Try, seeds: range, writer: int) -> None:
    """Make the tries, writing ``begins SEED`` and ``wrong SEED TEXT``; the process ends here."""
    for descriptor in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    try:
        for seed in seeds:
            os.write(writer, f"begins {seed}\n".encode())
            told = fault(made(seed))
            if told is not None:
                os.write(writer, f"wrong {seed} {told!r}\n".encode())
        os.write(writer, b"done\n")
    finally:
        os._exit(0)


def _listen(reader: int, at: int, stop: int) -> tuple[int, list[str]]:
    """Return the seed that the child is at when it ends, ``stop`` after the last, and its lines."""
    told, rest = list[str](), b""
    while select([reader], [], [], _DEAD)[0]:
        read = os.read(reader, 2**16)
        if not read:
            return at, told
        *lines, rest = (rest + read).split(b"\n")
        for line in lines:
            word, _, text = line.decode().partition(" ")
            if word == "done":
                return stop, told
            if word == "begins":
                at = int(text)
            else:
                told.append(f"seed {text}")
    return at, told


def _end_of(child: int, seed: int) -> str:
    """Return how a child ended in the try of ``seed``, and end it if it has not."""
    ended, status = os.waitpid(child, os.WNOHANG)
    for _ in range(50):
        if ended:
            break
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, 9)
        os.waitpid(child, 0)
        return f"seed {seed} did not end within {_DEAD:g} s"
    return f"seed {seed}: the process ended by {os.waitstatus_to_exitcode(status)}"
