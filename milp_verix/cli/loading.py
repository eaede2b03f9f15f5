"""Ctrl-C while the command line loads its modules."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from milp_verix.cli.exit_codes import INTERRUPTED


@contextmanager
def loading() -> Iterator[None]:
    """Let Ctrl-C end the process inside the block without a message: nothing was begun yet.

    An exception would show as a traceback, or get lost in a package that catches everything that
    can happen while it is imported. A Ctrl-C that is ignored stays so.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(_signal: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
