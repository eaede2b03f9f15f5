"""The figure of a result of any kind."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from milp_verix.results.records.audit import Audit
from milp_verix.results.records.contrast import ContrastiveExplanation
from milp_verix.results.records.explanation import Explanation
from milp_verix.results.records.importance import Importance
from milp_verix.results.records.json_format import StoredResult
from milp_verix.results.records.radius import RobustnessRadii
from milp_verix.results.records.ranges import Ranges
from milp_verix.results.records.sweep import EpsilonSweep
from milp_verix.views.figures.writing import drawn

if TYPE_CHECKING:
    from milp_verix.views.figures.style import Drawing

ImageShape: TypeAlias = tuple[int, ...] | None


def plot(
    result: StoredResult, path: str | Path | None = None, *, image_shape: ImageShape = None
) -> "Drawing":
    """Draw ``result`` and return the figure; write it to ``path`` if given.

    Raises ``InputError`` for an ``image_shape`` that does not fit the input, a suffix that names
    no format that there is, and a file that cannot be written.
    """
    return drawn(lambda: figure_of(result, image_shape), path)


def figure_of(result: StoredResult, image_shape: ImageShape = None) -> "Drawing":
    """Return the figure of ``result``; raises ``InputError`` as :func:`plot` does."""
    # Matplotlib takes longer to load than most pictures to draw, and many results are not drawn
    from milp_verix.views.figures import (
        bars_plot as bars,
        described_plot as described,
        image_plot as image,
        sweep_plot as sweep,
        tabular_plot as tabular,
    )
    from milp_verix.views.figures.image_view import image_view

    # of an image, of another input, and of a described one if that is drawn otherwise
    known: dict[type, tuple[Any, Any, Any]] = {
        Explanation: (
            image.explanation_images,
            tabular.explanation_bars,
            described.explanation_rows,
        ),
        ContrastiveExplanation: (
            image.contrast_images,
            bars.contrast_bars,
            described.contrast_rows,
        ),
        Audit: (image.audit_images, bars.audit_bars, described.audit_rows),
        Importance: (image.importance_images, bars.importance_bars, None),
        RobustnessRadii: (image.radii_images, bars.radii_bars, None),
        Ranges: (image.ranges_images, bars.ranges_bars, None),
        EpsilonSweep: (sweep.sweep_images, sweep.sweep_rows, None),
    }
    images, rows, described_ = next(
        figures for kind, figures in known.items() if isinstance(result, kind)
    )
    about = result.levels[0] if isinstance(result, EpsilonSweep) else result
    view = image_view(about, image_shape)
    pixels = view is not None and about.feature_names is None  # with radii of their own
    drawing: Drawing
    if about.inputs is not None and described_ is not None and not pixels:
        drawing = described_(result)
    else:
        drawing = rows(result) if view is None else images(result, view)
    return drawing
