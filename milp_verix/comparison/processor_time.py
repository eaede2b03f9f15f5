"""Processor time of this process and of all that it started, running or ended."""

import resource
import time
from pathlib import Path

_TICK = 0.01
"""Seconds of a tick of ``/proc/PID/stat``, on every common Linux."""


def processor_time() -> float:
    """Return the seconds of processor time so far; other load on the machine blurs them least.

    Processes that still run, and processes that these started, are counted where there is a
    ``/proc``, as on Linux; elsewhere only those that have ended.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() + ended.ru_utime + ended.ru_stime
    for children in Path("/proc/self/task").glob("*/children"):
        try:
            pids = children.read_text().split()
        except OSError:  # a thread that has ended since
            continue
        seconds += sum(_of(pid) for pid in pids)
    return seconds


def _of(pid: str) -> float:
    """Return the seconds of a process and of its own children; 0.0 if it has ended since."""
    folder = Path("/proc") / pid
    try:
        # nanoseconds of each thread, and the ticks of the children that have ended
        own = sum(int(one.read_text().split()[0]) for one in folder.glob("task/*/schedstat"))
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        below = [pid for one in folder.glob("task/*/children") for pid in one.read_text().split()]
    except (OSError, IndexError):
        return 0.0
    return own / 1e9 + _TICK * (int(fields[13]) + int(fields[14])) + sum(map(_of, below))
