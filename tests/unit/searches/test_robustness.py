"""Brackets of radii: known ones, limits, interrupts, refusals, JSON."""

import pickle
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from sklearn.linear_model import LogisticRegression

from milp_verix import InputError, Inputs, Problem, RobustnessRadii, robustness_radius
from milp_verix.base.number_text import exact
from milp_verix.oracle.oracle import Oracle
from milp_verix.results.ranges import RadiusBracket
from milp_verix.searches import radius_search as balls
from milp_verix.searches.radius_search import Balls, Bracket
from milp_verix.views.radius_words import bracket_text
from milp_verix.views.result_words import facts_of
from tests.support import digits_example as digits
from tests.support.interrupts import interrupting
from tests.support.known_radius_network import CRITICAL, X, valley
from tests.support.random_networks import as_layers, dense_network
from tests.support.unsolvable_problems import HARD_OPTIONS, HARD_X, hard_network


@pytest.mark.parametrize("tolerance", [0.1, 0.01, 1e-4])
def test_a_known_radius_is_bracketed(tmp_path: Path, tolerance: float) -> None:
    found = robustness_radius(valley(tmp_path), X, tolerance=tolerance)
    bracket = found.bracket
    assert bracket.upper is not None
    assert bracket.lower < CRITICAL < bracket.upper
    assert bracket.lower >= (1 - tolerance) * bracket.upper
    assert found.settled
    assert found.replay(valley(tmp_path)) == ()


def test_a_regression_has_the_radius_of_its_delta(tmp_path: Path) -> None:
    bracket = robustness_radius(valley(tmp_path, regression=True), X, delta=0.125).bracket
    assert bracket.upper is not None
    assert bracket.lower <= 0.125 <= bracket.upper


def test_features_that_never_matter_are_proven_so(tmp_path: Path) -> None:
    found = robustness_radius(valley(tmp_path), X, domain=(0.3, 0.7), each=True)
    assert found.irrelevant == (0,)
    assert found.brackets[0].upper is None
    assert found.brackets[0].reach == pytest.approx(0.2)
    with pytest.raises(ValueError, match="brackets"):
        _ = found.bracket


def test_the_largest_radius_ends_the_search(tmp_path: Path) -> None:
    found = robustness_radius(valley(tmp_path), X, largest=0.125, domain=(-np.inf, np.inf))
    assert found.bracket == found.brackets[0]
    assert (found.bracket.lower, found.bracket.upper) == (0.125, None)
    assert found.bracket.irrelevant


def test_each_feature_has_the_radius_that_it_has_alone() -> None:
    image = digits.images()[15]
    each = robustness_radius(digits.network(), image, each=True)
    assert len(each.brackets) == 64
    assert each.settled
    for feature in (0, 20, 36):
        alone = robustness_radius(digits.network(), image, free=[feature]).bracket
        assert each.brackets[feature].irrelevant == alone.irrelevant
        assert each.brackets[feature].lower == pytest.approx(alone.lower, rel=0.02)


def test_json_and_pickles_keep_every_bit() -> None:
    found = robustness_radius(digits.network(), digits.images()[15], free=[20, 21, 28, 29, 36])
    for again in (RobustnessRadii.from_json(found.to_json()), pickle.loads(pickle.dumps(found))):
        assert again.to_json() == found.to_json()
        assert again.replay(digits.network()) == ()
    with pytest.raises(InputError, match="not 'radius'"):
        RobustnessRadii.from_json(digits.explained().to_json())


def test_ctrl_c_keeps_the_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Oracle, "check_by_bounds", interrupting(4, Oracle.check_by_bounds))
    found = robustness_radius(digits.network(), digits.images()[0])
    assert found.statistics.stopped == "interrupted"
    assert found.bracket.upper is not None
    assert 0 < found.bracket.lower < found.bracket.upper
    assert found.bracket.unknown_reason == "interrupted"
    assert found.replay(digits.network()) == ()


@pytest.mark.slow
def test_a_time_limit_leaves_a_wide_bracket(tmp_path: Path) -> None:
    options = {name: value for name, value in HARD_OPTIONS.items() if name != "epsilon"}
    found = robustness_radius(hard_network(tmp_path), HARD_X, time_limit=2, **options)
    assert not found.settled
    assert found.statistics.stopped == "time limit"
    assert found.bracket.unknown_reason


def test_snapshots_are_sound_results_so_far() -> None:
    taken = []
    robustness_radius(
        digits.network(), digits.images()[0], snapshots=lambda now: taken.append(now())
    )
    lower = [one.bracket.lower for one in taken]
    assert lower == sorted(lower)
    assert all(one.replay(digits.network()) == () for one in taken)
    assert len({one.bracket.upper for one in taken}) > 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tolerance": 0}, "above 0 and below 1"),
        ({"tolerance": "x"}, "a number"),
        ({"free": [64]}, "out of range"),
        ({"free": []}, "no feature"),
        ({"free": [1], "each": True}, "leave it or free out"),
        ({"domain": (-np.inf, np.inf)}, "give the largest radius"),
        ({"largest": -1}, "largest must be finite and not negative"),
        ({"largest": np.inf}, "largest must be finite and not negative"),
        ({"time_limit": 0}, "positive"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        robustness_radius(digits.network(), digits.images()[15], **given)


@pytest.mark.parametrize(
    "given", [{"lower": -0.1}, {"lower": 0.6}, {"upper": 0.1}, {"upper": None}, {"reach": 0.1}]
)
def test_a_bracket_does_not_contradict_itself(given: dict[str, Any]) -> None:
    found = robustness_radius(digits.network(), digits.images()[15]).bracket
    fields: dict[str, Any] = {
        "features": (0,),
        "lower": 0.2,
        "upper": 0.5,
        "reach": 1.0,
        "counterfactual": found.counterfactual,
    }
    RadiusBracket(**fields)
    with pytest.raises(ValueError, match=r"bracket|belong"):
        RadiusBracket(**{**fields, "upper": 0.5, **given})


def test_the_radii_of_many_features_need_few_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, kept = [], []

    class Counted(Fraction):
        def __new__(cls, *given: Any) -> "Fraction":
            made.append(given)
            return Fraction(*given)

    at = Balls.at

    def asked(self: Balls, radius: float) -> Any:
        kept.append(radius)
        return at(self, radius)

    monkeypatch.setattr(balls, "Fraction", Counted)
    monkeypatch.setattr(Balls, "at", asked)
    count = 60
    layers = as_layers((np.eye(2, count), [0, 0]), (np.eye(2), [0.0, 1.0]))
    found = robustness_radius(
        dense_network(layers, tmp_path), np.full(count, 0.25), each=True, time_limit=1e-9
    )
    assert [bracket.lower for bracket in found.brackets] == [0.0] * count
    assert found.statistics.stopped == "time limit"
    assert len(made) <= 4 * count
    assert len(kept) <= 3


def test_radii_that_were_not_decided_are_asked_again_from_the_least_on(tmp_path: Path) -> None:
    problem = Problem(valley(tmp_path), X, epsilon=0.0)
    bracket = Bracket(Balls(problem), (0,), 0.5, 0.01)
    for radius in (0.4, 0.2, 0.3):
        bracket.unknown[radius] = "time limit"
    assert [step.epsilon for step in bracket.again()] == [0.2]
    steps = bracket.again()
    assert next(steps).epsilon == 0.2
    bracket.holds(0.2)
    assert next(steps).epsilon == pytest.approx(0.25)


@pytest.mark.parametrize("seed", range(4))
def test_radii_in_per_cent_are_told_in_few_digits_on_their_proven_sides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(80, 2)) * 10.0 ** rng.integers(-3, 4, 2), columns=["a", "b"])
    model = LogisticRegression().fit(X / X.std(), X["a"] / X["a"].std() > X["b"] / X["b"].std())
    weights = model.coef_ / X.std().to_numpy()
    model.coef_ = weights
    x = X.iloc[seed]
    asked: dict[str, Any] = {"inputs": Inputs.from_frame(X), "scale": "33.3%"}
    for question in ({}, {"free": ["a"]}, {"each": True}, {"largest": 0.1}):
        found = robustness_radius(model, x, **asked, **question)
        texts = [text.get_text() for text in found.plot().findobj(Text)]
        told = " ".join([found.sentence(), *dict(facts_of(found)).values(), *texts])
        for value in x:
            told = told.replace(exact(value), "")
        told = re.sub(r"→ [-\d.e]+", "", told)
        assert not re.findall(r"[1-9]\d*\.\d{6,}|0\.0*[1-9]\d{6,}", told), told
        for bracket in found.brackets:
            factor = 1.0 if len(bracket.features) == 1 else 33.3
            ends = re.findall(r"[\d.]+(?:e-?\d+)?", bracket_text(found, bracket))
            scale = found.scale or ()
            unit = factor if len(bracket.features) > 1 else scale[bracket.features[0]]
            assert float(ends[0]) <= bracket.lower * unit * (1 + 1e-12)
            assert bracket.upper is None or float(ends[-1]) >= bracket.upper * unit * (1 - 1e-12)
