"""Ctrl-C while a solver is in native code: remember it, stop the solver, raise afterwards."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

LONGEST_WAIT = 0.5
"""Seconds after which a wait for a process returns to Python, to raise pending interrupts.

A signal that arrives just before a system call, or in another thread, does not end the call.
"""


@dataclass(slots=True)
class Interrupt:
    """A flag: Ctrl-C was pressed since the solve began."""

    pending: bool = False


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Turn signals that raise into a flag for the block; raise KeyboardInterrupt at its end.

    An exception inside a solver's callback would cross native frames: solvers swallow it or crash.
    Signals that are ignored or have their default action are left alone, and so are all signals
    outside the main thread, where Python delivers none.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def remember(_signal: int, _frame: FrameType | None) -> None:
        interrupt.pending = True

    handled = {number: signal.getsignal(number) for number in _SIGNALS}
    handled = {number: handler for number, handler in handled.items() if callable(handler)}
    for number in handled:
        signal.signal(number, remember)
    try:
        yield interrupt
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
    if interrupt.pending:
        raise KeyboardInterrupt
