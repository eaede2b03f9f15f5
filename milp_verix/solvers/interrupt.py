"""Ctrl-C while a solver is in native code: remember it, stop the solver, raise afterwards."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Interrupt:
    """Whether Ctrl-C was pressed since the solve began."""

    pending: bool = False


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Turn SIGINT into a flag for the block's duration; raise KeyboardInterrupt at its end.

    An exception raised inside a solver's callback would cross native frames, which solvers either
    swallow or die of. Outside the main thread, where Python delivers no signals, and where Ctrl-C
    is ignored or not Python's to handle, the block runs unchanged.
    """
    interrupt = Interrupt()
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield interrupt
        return

    def remember(_signal: int, _frame: FrameType | None) -> None:
        interrupt.pending = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, previous)
    if interrupt.pending:
        raise KeyboardInterrupt
