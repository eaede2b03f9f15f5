"""The sheet of paper that a figure is drawn on.

A row of pictures of one size, below the header of a sheet.
"""

from io import BytesIO
from typing import Any, TypeAlias

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.text import Text

from milp_verix.results.base import Result
from milp_verix.results.explanation import Explanation
from milp_verix.views.figures.parts.image_view import ImageView
from milp_verix.views.figures.parts.style import (
    INK,
    MUTED,
    colour_bar,
    colour_scale,
    frame,
    typeset,
)
from milp_verix.views.words.explanation import ball_text
from milp_verix.views.words.wording import (
    headline,
    outcome_text,
    seconds_text,
    shortened,
)
from verix_encodings.arrays import FloatArray

DPI = 150

MARGIN = 0.3
HEADER = 0.9
"""Height of the headline and the line below it, in inches."""

_HEADLINE_SIZE = 13.0
_SMALL_SIZE = 9.0
_BOLD_EM = 0.6
_PLAIN_EM = 0.52
"""Width of an average character in terms of the type's size."""
_CSS_DPI = 96


class Drawing(Figure):
    """A figure that notebooks show by itself: they know other figures only through pyplot."""

    def render(self, format_: str = "png") -> bytes:
        """Return the bytes of an image file in ``format_``."""
        buffer = BytesIO()
        self.savefig(buffer, format=format_, dpi=DPI, facecolor="white")
        return buffer.getvalue()

    @property
    def css_width(self) -> int:
        """Width on a page, in pixels: pictures are rendered finer than that."""
        return round(_CSS_DPI * float(self.get_figwidth()))

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.render(), {"width": self.css_width}


class Sheet:
    """A figure whose parts are placed in inches from its upper left corner.

    Sizes in inches keep type and pictures in proportion whatever the shape of the input.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Drawing(figsize=(width, height), facecolor="white")

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Return new axes of that size with their upper left corner there."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height),
            facecolor="white",
        )

    def text(self, left: float, top: float, text: str, **style: Any) -> Text:
        """Write ``text`` with its upper left corner there, as it stands: ``$`` is no formula."""
        return self.figure.text(
            left / self.width,
            1 - top / self.height,
            text,
            **{"va": "top", "color": INK, "fontsize": _SMALL_SIZE, "parse_math": False, **style},
        )

    def header(self, explanation: Explanation) -> None:
        """Write the headline of ``explanation`` and, below it, its claim."""
        self.titled(headline(explanation), outcome_text(explanation), explanation)

    def titled(self, headline: str, outcome: str, about: Result) -> None:
        """Write a headline and, below it, a line of facts with the ``outcome``.

        The other facts are the ball, the model, the time and the solver of the result ``about``.
        """
        self.headed(headline, [typeset(ball_text(about)), outcome, *run_facts(about)])

    def headed(self, headline: str, facts: list[str]) -> None:
        """Write a headline and, below it, a line of ``facts``."""
        title, line = typeset(headline), "   ·   ".join(facts)
        size = self._fitting(title, _HEADLINE_SIZE, _BOLD_EM)
        self.text(MARGIN, MARGIN - 0.05, title, fontsize=size, fontweight="bold")
        size = self._fitting(line, _SMALL_SIZE, _PLAIN_EM)
        self.text(MARGIN, MARGIN + 0.23, line, fontsize=size, color=MUTED)

    def _fitting(self, text: str, size: float, em: float) -> float:
        return size * min(1.0, (self.width - 2 * MARGIN) * 72 / (size * em * len(text)))


def run_facts(result: Result) -> list[str]:
    """Return the model, and the time with the solver."""
    time = f"{seconds_text(result.statistics.seconds)} with {result.solver}"
    return [shortened(result.model.file, 36), time]


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
