"""The process of a command: its exit codes, and Ctrl-C while it loads its modules."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# besides 0 for success
NOT_SOUND, UNUSABLE, UNDECIDED, DISAGREEMENT, EMPTY, UNREACHABLE = 1, 2, 3, 4, 5, 6
INTERRUPTED = 130


@contextmanager
def loading() -> Iterator[None]:
    """Let Ctrl-C end the process inside the block without a message: nothing was begun yet.

    An exception would show as a traceback, or get lost in a package that catches everything that
    can happen while it is imported. A Ctrl-C that is ignored stays so.

    Modules that are loaded stay, so the garbage collector passes over them, now, later and when
    Python ends: going through them took a quarter of the time of a short command.
    """
    before, collects = signal.getsignal(signal.SIGINT), gc.isenabled()
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
        signal.signal(signal.SIGINT, before)


def _end(_signal: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
