"""Figures as files: the format is that of the path's suffix."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.base.errors import InputError, meant
from milp_verix.base.files import write_atomically

if TYPE_CHECKING:  # Matplotlib takes longer to load than a path to be refused
    from milp_verix.views.figures.parts.sheet import Drawing

FORMATS = ("jpeg", "jpg", "pdf", "png", "svg", "tif", "tiff", "webp")


def drawn(draw: "Callable[[], Drawing]", path: str | Path | None) -> "Drawing":
    """Return the figure that ``draw`` makes; write it to ``path`` if given.

    Raises ``InputError`` for a suffix that names none of ``FORMATS``, before anything is drawn, and
    for a file that cannot be written.
    """
    format_ = None if path is None else plot_format(path)
    figure = draw()
    if path is not None and format_ is not None:
        write_figure(figure, path, format_)
    return figure


def write_figure(figure: "Drawing", path: str | Path, format_: str) -> None:
    """Write ``figure`` to ``path``; ``InputError`` where that is impossible."""
    write_atomically(Path(path), figure.render(format_), "the plot to ")


def plot_format(path: str | Path) -> str:
    """Return the format, one of ``FORMATS``, that the suffix of ``path`` stands for.

    Raises ``InputError`` if it stands for none.
    """
    path = Path(path)
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        seen = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise InputError(
            f"cannot plot to {path}: it has {seen}, and the format is chosen by one of "
            f"{', '.join('.' + known for known in FORMATS)}{meant(suffix, FORMATS)}"
        )
    return suffix
