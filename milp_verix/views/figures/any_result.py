"""The figure of a result of any kind."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from milp_verix.results.audit import Audit
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.explanation import EpsilonSweep, Explanation
from milp_verix.results.importance import Importance
from milp_verix.results.json_format import StoredResult
from milp_verix.results.ranges import Ranges, RobustnessRadii
from milp_verix.views.figures.parts.writing import drawn

if TYPE_CHECKING:
    from milp_verix.views.figures.parts.image_view import ImageView
    from milp_verix.views.figures.parts.sheet import Drawing

ImageShape: TypeAlias = tuple[int, ...] | None


class _Figures(NamedTuple):
    """The figures of an image and of another input; of a described one, if it has its own."""

    image: "Callable[[Any, ImageView, ImageShape], Drawing]"
    rows: "Callable[[Any], Drawing]"
    described: "Callable[[Any], Drawing] | None" = None


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
        audit_plot,
        contrast_plot,
        described_plot,
        image_plot,
        importance_plot,
        radius_plot,
        ranges_plot,
        sweep_plot,
        tabular_plot,
    )
    from milp_verix.views.figures.parts.image_view import image_view

    known = {
        Explanation: _Figures(
            image_plot.image_figure,
            tabular_plot.tabular_figure,
            described_plot.described_explanation,
        ),
        ContrastiveExplanation: _Figures(
            contrast_plot.images, contrast_plot.bars, described_plot.described_contrast
        ),
        Audit: _Figures(audit_plot.images, audit_plot.bars, audit_plot.described),
        Importance: _Figures(importance_plot.images, importance_plot.bars),
        RobustnessRadii: _Figures(radius_plot.images, radius_plot.bars),
        Ranges: _Figures(ranges_plot.images, ranges_plot.bars),
        EpsilonSweep: _Figures(sweep_plot.images, sweep_plot.rows),
    }
    figures = next(figures for kind, figures in known.items() if isinstance(result, kind))
    about = result.levels[0] if isinstance(result, EpsilonSweep) else result
    view = image_view(about, image_shape)
    pixels = view is not None and about.feature_names is None  # with radii of their own
    if about.inputs is not None and figures.described is not None and not pixels:
        return figures.described(result)
    return figures.rows(result) if view is None else figures.image(result, view, image_shape)
