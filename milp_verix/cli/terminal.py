"""The terminal as rich prints to it: colours are its own, and texts have escapes."""

import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.segment import Segment

from milp_verix.base.errors import printable


class Terminal(Console):
    """Prints tables and lines to stdout, or to stderr."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        stream: Any = sys.stderr if stderr else sys.stdout
        super().__init__(
            file=getattr(stream, "inner", stream), highlight=False, soft_wrap=soft_wrap
        )

    def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
        """Yield the parts of what is printed, with escapes in their texts."""
        for part in super().render(*args, **options):
            text = part.text if part.control else printable(part.text, "\n")
            yield Segment(text, part.style, part.control)
