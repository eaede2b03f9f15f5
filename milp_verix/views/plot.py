"""The figure of a result of any kind, of columns and of solvers, and figures as files."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from milp_verix.base.arguments import path_of
from milp_verix.base.errors import InputError, meant
from milp_verix.base.files import write_atomically

if TYPE_CHECKING:  # Matplotlib takes longer to load than a path to be refused
    from milp_verix.results.comparison import Comparison
    from milp_verix.results.json_format import StoredResult
    from milp_verix.results.solver_times import SolverTimes
    from milp_verix.views.style import Drawing
    from milp_verix.views.text_tables import TableUse

FORMATS = ("jpeg", "jpg", "pdf", "png", "svg", "tif", "tiff", "webp")

ImageShape: TypeAlias = tuple[int, ...] | None


def plot(
    result: "StoredResult", path: str | Path | None = None, *, image_shape: ImageShape = None
) -> "Drawing":
    """Draw ``result`` and return the figure; write it to ``path`` if given.

    Raises ``InputError`` for an ``image_shape`` that does not fit the input, a suffix that names
    no format that there is, and a file that cannot be written.
    """
    return drawn(lambda: figure_of(result, image_shape), path)


def figure_of(result: "StoredResult", image_shape: ImageShape = None) -> "Drawing":
    """Return the figure of ``result``; raises ``InputError`` as :func:`plot` does."""
    from milp_verix.results.explanation import EpsilonSweep

    # Matplotlib takes longer to load than most pictures to draw, and many results are not drawn
    from milp_verix.views import (
        bars_plot as bars,
        described_plot as described,
        image_plot as image,
        sweep_plot as sweep,
        tabular_plot as tabular,
    )
    from milp_verix.views.image_view import image_view

    # of an image, of another input, and of a described one if that is drawn otherwise
    known: dict[str, tuple[Any, Any, Any]] = {
        "explanation": (
            image.explanation_images,
            tabular.explanation_bars,
            described.explanation_rows,
        ),
        "contrastive": (image.contrast_images, bars.contrast_bars, described.contrast_rows),
        "audit": (image.audit_images, bars.audit_bars, described.audit_rows),
        "importance": (image.importance_images, bars.importance_bars, None),
        "radius": (image.radii_images, bars.radii_bars, None),
        "ranges": (image.ranges_images, bars.ranges_bars, None),
        "sweep": (sweep.sweep_images, sweep.sweep_rows, None),
    }
    images, rows, described_ = known[result.kind]
    about = result.levels[0] if isinstance(result, EpsilonSweep) else result
    view = image_view(about, image_shape)
    pixels = view is not None and about.feature_names is None  # with radii of their own
    drawing: Drawing
    if about.inputs is not None and described_ is not None and not pixels:
        drawing = described_(result)
    else:
        drawing = rows(result) if view is None else images(result, view)
    return drawing


def plot_columns(use: "TableUse", path: str | Path | None = None) -> "Drawing":
    """Draw how often decisions need each column, by class; write it to ``path`` if given."""
    from milp_verix.views.tabular_plot import columns_figure

    return drawn(lambda: columns_figure(use), path)


def plot_comparison(comparison: "Comparison", path: str | Path | None = None) -> "Drawing":
    """Draw how long each run took, and on what; of minima, how best cost and bound close in.

    Raises ``InputError`` where there are no runs, and for a ``path`` that is no picture's or cannot
    be written.
    """
    from milp_verix.views.solver_plots import gaps_figure, times_figure

    if not comparison.runs:
        raise InputError("there is nothing to draw: no pair has a result")
    draw = gaps_figure if any(run.trace for run in comparison.runs) else times_figure
    return drawn(lambda: draw(comparison), path)


def plot_solver_study(times: "SolverTimes", path: str | Path | None = None) -> "Drawing":
    """Draw performance profiles, a cactus plot, and the best two side by side.

    Raises ``InputError`` where no check was solved, and for a ``path`` that is no picture's or
    cannot be written.
    """
    from milp_verix.views.solver_plots import study_figure

    if not any(one.solved for one in times.summary()):
        raise InputError("there is nothing to draw: no check has an answer")
    return drawn(lambda: study_figure(times), path)


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
    path = path_of(path, "path")
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        seen = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise InputError(
            f"cannot plot to {path}: it has {seen}, and the format is chosen by one of "
            f"{', '.join('.' + known for known in FORMATS)}{meant(suffix, FORMATS)}"
        )
    return suffix
