"""Draw an explanation."""

from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.errors import InputError
from milp_verix.records.explanation import Explanation
from milp_verix.records.json_format import write_atomically

if TYPE_CHECKING:
    from milp_verix.reporting.figures.sheet import Drawing

FORMATS = ("jpeg", "jpg", "pdf", "png", "svg", "tif", "tiff", "webp")


def plot_explanation(
    explanation: Explanation,
    path: str | Path | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
) -> "Drawing":
    """Draw ``explanation`` and return the figure; write it to ``path`` if given.

    An input of shape (height, width), with 1, 3 or 4 channels first or last, behind a batch
    dimension or not, is drawn as an image: the input, the sensitivity of its features (left out
    where the order has none), the explanation over it, and what up to 8 counterfactuals change.
    Any other input gets a bar per feature. ``image_shape``, such as (28, 28) or (3, 32, 32), says
    how to see an input that does not have the shape of the image that it is. The suffix of ``path``
    chooses the format. The figure belongs to no window: nothing is shown, and nothing is kept.

    Raises ``InputError`` for an ``image_shape`` that does not fit the input, a suffix that names
    none of ``FORMATS``, and a file that cannot be written.
    """
    # Matplotlib takes longer to load than most pictures to draw, and many results are not drawn
    from milp_verix.reporting.figures.image_plot import image_figure
    from milp_verix.reporting.figures.image_view import image_view
    from milp_verix.reporting.figures.tabular_plot import tabular_figure

    format_ = None if path is None else plot_format(path)
    view = image_view(explanation, image_shape)
    figure = (
        tabular_figure(explanation)
        if view is None
        else image_figure(explanation, view, image_shape)
    )
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
            f"{', '.join('.' + known for known in FORMATS)}"
        )
    return suffix
