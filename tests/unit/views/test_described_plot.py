"""Pictures of described inputs: the explanation first, each feature on its own scale, in words."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

import milp_verix
from milp_verix import Inputs, binary, integer
from milp_verix.views.described_plot import explanation_rows
from milp_verix.views.described_rows import described_row
from milp_verix.views.feature_status import Status
from milp_verix.views.image_view import MARK
from tests.support.described_results import described
from tests.support.random_networks import as_layers, dense_network


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_the_sentence_and_each_value_are_written() -> None:
    found = described(explained=[0, 3], undecided={2: "time limit"})
    written = texts(explanation_rows(found))
    assert found.sentence() in " ".join(written)
    assert {"40 years", "−1234.5", "fixed-term", "primary", "18", "75", "3 values"} <= {*written}
    assert "not decided" in written
    bold = [text.get_text() for text in explanation_rows(found).findobj(Text) if _bold(text)]
    assert {"age", "contract", "arrears"} <= {*bold}
    assert "wage" not in bold


def _bold(text: Text) -> bool:
    return text.get_fontweight() == "bold"


def test_features_of_the_explanation_stand_on_top() -> None:
    found = described(times=12, explained=[5, 40, 3])
    written = texts(explanation_rows(found))
    names = [name for name in found.inputs.names if name in written]
    places = {text.get_text(): text.get_position()[1] for text in _names(found, written)}
    explained = {found.inputs.names[i] for i in found.explanation}
    assert explained <= {*names}
    assert max(places[name] for name in explained) < min(
        places[name] for name in names if name not in explained
    )
    assert "and 48 other features, none of them in bold" in written


def _names(found: object, written: list[str]) -> list[Text]:
    figure = explanation_rows(found)  # type: ignore[arg-type]
    names = set(found.inputs.names)  # type: ignore[attr-defined]
    return [text for text in figure.findobj(Text) if text.get_text() in names]


def test_squares_stand_at_the_values_and_rings_at_other_values() -> None:
    found = described(explained=[0])
    figure = explanation_rows(found)
    (square,) = _markers(figure, "s", Status.EXPLANATION.colour, y=0)
    (ring,) = _markers(figure, "o", MARK, y=0)
    track = next(line for line in _lines(figure) if line.get_linewidth() == 1)
    start, end = track.get_xdata()
    assert square == pytest.approx(start + (40 - 18) / (75 - 18) * (end - start))
    assert ring == pytest.approx(start)


def _lines(figure: Figure) -> list[Line2D]:
    return [line for line in figure.findobj(Line2D) if len(line.get_xdata())]


def _markers(figure: Figure, marker: str, colour: str, y: float) -> list[float]:
    return [
        float(line.get_xdata()[0])
        for line in _lines(figure)
        if line.get_marker() == marker
        and to_hex(line.get_color()) == colour
        and line.get_ydata()[0] == y
    ]


def test_tracks_have_the_room_of_the_ball() -> None:
    found = described(radii=(5.0, 0.5, 0.5, 1.0, 1.0, 9.0))
    age, wage, arrears, contract, school, place = (
        described_row(found, feature, None).track for feature in range(6)
    )
    assert age.headroom == pytest.approx(((35 - 18) / 57, (45 - 18) / 57))
    assert wage.headroom[1] == pytest.approx(1.0)  # no upper end: that of the ball
    assert arrears.headroom == (1.0, 1.0)
    assert contract.headroom == (0.0, 1.0)
    assert school.headroom == pytest.approx((0.0, 2 / 3))
    assert place.headroom == (0.5, 0.5)
    assert (contract.ordered, school.ordered) == (False, True)
    assert (school.ends, contract.ends) == (("none", "university"), ("", "3 values"))
    assert np.isclose(school.at, 1 / 3)


def test_an_audit_tells_the_values_of_its_counterexample(tmp_path: Path) -> None:
    inputs = Inputs(
        [integer("age", 18, 75, unit="years"), binary("arrears"), integer("wage", 0, 90)],
        class_names=["refused", "granted"],
    )
    layers = as_layers(([[0.0, -40.0, 1.0], [0.0, 0.0, 0.0]], [0.0, 20.0]))
    network = dense_network(layers, tmp_path)
    asked = {"inputs": inputs, "epsilon": np.inf}
    found = milp_verix.audit(network, {"age": 40, "arrears": "no", "wage": 55}, ["age"], **asked)
    assert found.counterexample is not None
    written = texts(found.plot())
    values = inputs.words(found.counterexample.input)
    assert f"→ {values['arrears']}" in written or f"→ {values['wage']}" in written
    assert found.sentence() in " ".join(written)
    assert {"40 years", "18", "75", "in the set", "missing"} <= {*written}
