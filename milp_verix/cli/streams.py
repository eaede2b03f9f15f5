"""The streams of a command: characters in names that would command a terminal show as escapes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from milp_verix.base.errors import printable


class Escaping:
    """A stream whose texts are written to ``inner`` with escapes."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def write(self, text: str) -> int:
        """Write ``text``."""
        return int(self.inner.write(printable(text, "\n\t")))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # there would be none
            raise AttributeError(name)
        return getattr(self.inner, name)


@contextmanager
def escaping() -> Iterator[None]:
    """Escape what is printed inside of the block."""
    out, err = (one and Escaping(one) for one in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield
