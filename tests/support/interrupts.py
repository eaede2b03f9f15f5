"""Ctrl-C at a call that a test chooses."""

from collections.abc import Callable
from typing import Any


def interrupt(*_: Any, **__: Any) -> Any:
    """Be interrupted, at every call."""
    raise KeyboardInterrupt


def nothing(*_: Any) -> None:
    """Do nothing."""


def interrupting(after: int, call: Callable[..., Any] = nothing) -> Callable[..., Any]:
    """Return ``call``, interrupted when it is called for the time ``after``."""
    calls = 0

    def interrupted(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == after:
            raise KeyboardInterrupt
        return call(*given)

    return interrupted
