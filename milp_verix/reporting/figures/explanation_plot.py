"""The figure of an explanation: an image, or a bar for each feature."""

from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.reporting.figures.writing import drawn
from milp_verix.results.records.explanation import Explanation

if TYPE_CHECKING:
    from milp_verix.reporting.figures.sheet import Drawing


def plot_explanation(
    explanation: Explanation,
    path: str | Path | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
) -> "Drawing":
    """Draw ``explanation`` and return the figure; write it to ``path`` if given.

    An input is an image if its shape is (height, width), with 1, 3 or 4 channels first or last,
    behind a batch dimension or not. The figure of an image shows the input, the sensitivity of its
    features if the order has one, the explanation over it, and the changes of up to 8
    counterfactuals. A described input has a row for each feature, with its range and its values.
    Any other input gets a bar per feature. ``image_shape``, such as (28, 28) or (3, 32, 32), is the
    shape of an image in an input of another shape. The suffix of ``path`` chooses the format. The
    figure belongs to no window: nothing is shown, and nothing is kept.

    Raises ``InputError`` for an ``image_shape`` that does not fit the input, a suffix that names
    no format that there is, and a file that cannot be written.
    """
    # Matplotlib takes longer to load than most pictures to draw, and many results are not drawn
    from milp_verix.reporting.figures.described_plot import described_explanation
    from milp_verix.reporting.figures.image_plot import image_figure
    from milp_verix.reporting.figures.image_view import image_view
    from milp_verix.reporting.figures.tabular_plot import tabular_figure

    def draw() -> "Drawing":
        if explanation.inputs is not None:
            return described_explanation(explanation)
        view = image_view(explanation, image_shape)
        if view is None:
            return tabular_figure(explanation)
        return image_figure(explanation, view, image_shape)

    return drawn(draw, path)
