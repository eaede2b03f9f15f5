"""Irrelevant pixels as the radius shrinks: the smaller the ball, the more pixels are irrelevant."""

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from benchmarks.paper.figures.panels import Panel, original, panels, view_of
from benchmarks.paper.workplace import Workplace
from milp_verix.results.explanation import Explanation
from milp_verix.views.feature_status import Status
from milp_verix.views.image_view import status_masks
from milp_verix.views.style import Drawing

_IRRELEVANT = "#f2c80f"
_IMAGES = 2


def radii(place: Workplace) -> Drawing:
    """Draw two images with the irrelevant pixels at each radius, each explained by itself."""
    question = place.scale.contrasts
    data = place.data_of(question.network)
    table = place.study(
        "figure-radii", question, indices=range(_IMAGES), grid={"epsilon": place.scale.radii}
    )
    rows = []
    for index in range(_IMAGES):
        found = place.explanations("figure-radii", table[table["index"] == index])
        found.sort(key=lambda one: -one.epsilon)
        row = [Panel(original(found[0]), f"predicted {data.classes[int(found[0].prediction)]}")]  # type: ignore[arg-type]
        for one in found:
            text = f"ε = {100 * one.epsilon:g} %\n{len(one.irrelevant)} irrelevant"
            row.append(Panel(_irrelevant(one), text))
        rows.append(row)
    return panels(rows, "Irrelevant pixels as ε shrinks", question.network)


def _irrelevant(explanation: Explanation) -> NDArray[np.float64]:
    view = view_of(explanation)
    colours = view.rgb(explanation.input).copy()
    mask = status_masks(view, explanation)[Status.IRRELEVANT]
    colours[mask] = 0.4 * colours[mask] + 0.6 * np.array(to_rgb(_IRRELEVANT))
    return colours
