"""The memory that this process holds, and budgets of it in words."""

import math
import os
import re
from pathlib import Path

from milp_verix.base.errors import InputError

_STATM = Path("/proc/self/statm")
_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?) ?(" + "|".join(_UNITS) + ")?")


def resident() -> int:
    """Return the bytes that this process holds in memory; ``InputError`` where none can be read."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError as error:
        raise InputError(
            f"memory is a limit where {_STATM} tells what a process holds, on Linux: leave it out"
        ) from error


def holds_more(limit: float) -> bool:
    """Return whether this process holds more than ``limit`` bytes."""
    return resident() > limit


def bytes_of(given: float | str | None) -> float:
    """Return a budget of memory in bytes, infinite for None.

    ``InputError`` unless it is a positive number, or a text such as ``"2 GB"``.
    """
    if given is None:
        return math.inf
    read = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if isinstance(given, str) and read is None:
        raise InputError(f"memory is a number of bytes or a text such as '2 GB', got {given!r}")
    found = float(given) if read is None else float(read[1]) * _UNITS[read[2] or "B"]
    if not found > 0:
        raise InputError(f"memory must be positive, got {given}")
    resident()
    return found
