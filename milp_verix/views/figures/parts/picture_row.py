"""A row of pictures of one size, below the header of a sheet."""

from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize

from milp_verix.views.figures.parts.image_view import ImageView
from milp_verix.views.figures.parts.sheet import HEADER, MARGIN, Sheet
from milp_verix.views.figures.parts.style import INK, colour_bar, colour_scale, frame
from verix_encodings.arrays import FloatArray

Scale: TypeAlias = tuple[Colormap, Normalize]
PANEL, GAP, CAPTION = 2.9, 0.25, 0.25
_FLATTEST, _TALLEST = 0.1, 1.3
"""Height of a box in terms of its width; an image beyond that is drawn narrower."""


class PictureRow:
    """A sheet with room for ``count`` pictures side by side, and ``below`` inches below them.

    ``beside`` inches to their right are free, ``height`` is that of a picture, ``top`` and
    ``bottom`` are its ends.
    """

    def __init__(self, view: ImageView, count: int, below: float, beside: float = 0.0) -> None:
        self.ratio = min(_TALLEST, max(_FLATTEST, view.height / view.width))
        self.height, self.top = PANEL * self.ratio, HEADER + CAPTION
        self.bottom = self.top + self.height
        self.content = count * PANEL + (count - 1) * GAP
        self.sheet = Sheet(self.content + beside + 2 * MARGIN, self.bottom + below)

    def left(self, place: int) -> float:
        """Return the left edge of a picture."""
        return MARGIN + place * (PANEL + GAP)

    def picture(self, place: int, colours: FloatArray, title: str) -> Axes:
        """Show ``colours``, shape (height, width, 3), under a ``title``."""
        axes = self._box(place, title)
        axes.imshow(colours, interpolation="nearest")
        return axes

    def mapped(
        self, place: int, values: FloatArray, title: str, label: str, scale: Scale | None = None
    ) -> Axes:
        """Show ``values``, shape (height, width), over a colour bar if there is a ``label``.

        The ``scale`` is that of :func:`.colour_scale` for the values, if none is given.
        """
        colours, norm = scale or colour_scale(values)
        axes = self._box(place, title)
        image = axes.imshow(values, cmap=colours, norm=norm, interpolation="nearest")
        if label:
            bar = self.sheet.axes(self.left(place), self.bottom + 0.09, PANEL, 0.1)
            colour_bar(image, bar, label)
        return axes

    def _box(self, place: int, title: str) -> Axes:
        axes = self.sheet.axes(self.left(place), self.top, PANEL, self.height)
        titled(axes, title)
        return axes


def titled(axes: Axes, title: str, size: float = 10.0) -> None:
    """Give a picture a title and a thin frame."""
    axes.set_title(title, fontsize=size, pad=4, color=INK, parse_math=False)
    frame(axes)
