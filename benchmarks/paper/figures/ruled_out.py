"""The pixels of a "1" that rule other digits out: the classes of its counterfactuals."""

from collections import Counter

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from benchmarks.paper.figures.panels import Panel, marked, original, panels, view_of
from benchmarks.paper.workplace import Workplace
from milp_verix.results.explanation import Explanation
from milp_verix.views.image_view import MARK
from milp_verix.views.style import Drawing

_CLASSES, _TRIED = 3, 60


def ruled_out(place: Workplace) -> Drawing:
    """Draw the first "1" with a panel for each of the classes that most counterfactuals have.

    A pixel of the explanation is marked in the panel of a class if freeing it, beside the
    irrelevant pixels, lets the network predict that class.
    """
    question = place.scale.contrasts
    data = place.data_of(question.network)
    predicted = place.outputs(question.network, data.test.images).argmax(axis=1)
    ones = [i for i, label in enumerate(data.test.targets) if label == predicted[i] == 1]
    table = place.study("figure-ruled-out", question, indices=ones[:_TRIED], order="sensitivity")
    # of the first ones, the image with the most rivals says most
    pairs = zip(table["index"], place.explanations("figure-ruled-out", table), strict=True)
    index, found = max(pairs, key=lambda pair: len(_rivals(pair[1])))
    rows = [
        Panel(original(found), "predicted 1"),
        Panel(marked(found), f"explanation\n{found.size} pixels"),
    ]
    for label, count in _rivals(found).most_common(_CLASSES):
        caption = f"rule out {data.classes[int(label)]}\n{count} pixels"
        rows.append(Panel(_with(found, label), caption))
    subtitle = f"{question.network}, ε = {100 * question.epsilon:g} %, image {index}"
    return panels([rows], "Pixels that rule out other digits", subtitle)


def _rivals(explanation: Explanation) -> "Counter[int]":
    return Counter(int(one.prediction) for one in explanation.counterfactuals.values())  # type: ignore[arg-type]


def _with(explanation: Explanation, label: int) -> NDArray[np.float64]:
    view = view_of(explanation)
    coordinates = [
        coordinate
        for feature, one in explanation.counterfactuals.items()
        if one.prediction == label
        for coordinate in explanation.groups[feature]
    ]
    colours = view.rgb(explanation.input).copy()
    mask = view.covered(coordinates)
    colours[mask] = 0.4 * colours[mask] + 0.6 * np.array(to_rgb(MARK))
    return colours
