"""Ranges against all points of small domains: sound, maximal, counted, stored, drawn and told."""

import pickle
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import milp_verix
from milp_verix import (
    InputError,
    Inputs,
    Problem,
    Ranges,
    Search,
    binary,
    category,
    continuous,
    integer,
)
from milp_verix.oracle.oracle import Oracle
from milp_verix.results.ranges import FeatureRange
from milp_verix.searches.ranges.checks import BoxChecks
from milp_verix.views.ranges_words import rules_facts
from tests.support import digits_example as digits
from tests.support.certificates import checked
from tests.support.interrupts import interrupting
from tests.support.known_radius_network import CRITICAL, X, valley
from tests.support.mixed_domains import MixedCase, Values, mixed_case
from tests.support.random_networks import as_layers, dense_network


def _domain(case: MixedCase, index: int, kept: tuple[int, ...]) -> list[int]:
    """Return the values that a feature may take: kept ones all of their domain."""
    feature = case.features[index]
    if index not in kept:
        return case.reachable(index)
    if feature.kind == "category":
        return list(range(len(feature.values)) if feature.one_hot else feature.codes)
    return list(range(int(feature.lower), int(feature.upper) + 1))


def _listed(case: MixedCase, kept: tuple[int, ...]) -> list[Values]:
    choices = [_domain(case, index, kept) for index in range(len(case.features))]
    return [p for p in product(*choices) if all(rule(p) for _, rule in case.rules)]


def _word(case: MixedCase, one: FeatureRange, value: int) -> str:
    feature = case.features[one.feature]
    return feature.values[value if feature.one_hot else feature.codes.index(value)]


def _inside(case: MixedCase, one: FeatureRange, value: int) -> bool:
    if one.lower is None or one.upper is None:
        return _word(case, one, value) in (one.words or ())
    return one.lower <= value <= one.upper


def _box(case: MixedCase, found: Ranges, points: list[Values]) -> list[Values]:
    return [p for p in points if all(_inside(case, one, p[one.feature]) for one in found.ranges)]


def _inflated(case: MixedCase, folder: Path, **more: Any) -> Ranges:
    problem = Problem(case.network(folder), case.point, epsilon=case.epsilon, inputs=case.inputs)
    return problem.inflate(**more)


def _refuse_wrong(case: MixedCase, found: Ranges) -> None:
    """Assert that no point of the box has another prediction, and that no end can move."""
    points = _listed(case, found.explanation)
    margins = dict(zip(points, case.margins(points).tolist(), strict=True))
    assert max(margins[p] for p in _box(case, found, points)) < 1e-5
    for one in found.ranges:
        others = [other for other in found.ranges if other is not one]
        near = [p for p in points if all(_inside(case, o, p[o.feature]) for o in others)]
        steps = {beyond.value: beyond for beyond in one.beyond}
        for value in _domain(case, one.feature, found.explanation):
            if _inside(case, one, value):
                continue
            if one.lower is None or one.upper is None:
                place = case.features[one.feature].values.index(_word(case, one, value))
                refuted = steps[place].counterfactual is not None
            elif value in (one.lower - 1, one.upper + 1):
                refuted = steps[value].counterfactual is not None
            else:
                continue
            worst = max((margins[p] for p in near if p[one.feature] == value), default=-np.inf)
            # what holds is added to the range, up to what is too close to zero to tell
            assert refuted == (worst > 0) or abs(worst) < 1e-4
            assert refuted or not found.maximal


@pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])
@pytest.mark.parametrize("seed", range(6))
def test_ranges_are_sound_and_maximal_by_brute_force(
    seed: int, rules: bool, tmp_path: Path
) -> None:
    case = mixed_case(seed, rules=rules)
    found = _inflated(case, tmp_path)
    _refuse_wrong(case, found)
    assert found.maximal
    assert found.replay(case.network(tmp_path)) == ()
    assert Ranges.from_json(found.to_json()).to_json() == found.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])
@pytest.mark.parametrize("seed", range(100, 160))
def test_more_ranges_are_sound_and_maximal(seed: int, rules: bool, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=rules)
    points = np.array([case.placed(point) for point in _listed(case, ())])
    _refuse_wrong(case, _inflated(case, tmp_path, rows=points))


def test_bounds_and_climbs_only_save_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = mixed_case(3, rules=False)
    monkeypatch.setattr(BoxChecks, "bound", lambda _: None)
    _refuse_wrong(case, _inflated(case, tmp_path))


@pytest.mark.parametrize("seed", range(3))
def test_the_share_of_rows_is_that_of_all_points(seed: int, tmp_path: Path) -> None:
    case = mixed_case(seed, rules=seed == 1)
    features = range(len(case.features))
    choices = [_domain(case, index, tuple(features)) for index in features]
    rows = [*product(*choices)][::3]
    found = _inflated(case, tmp_path, rows=np.array([case.placed(row) for row in rows]))
    allowed = {*_listed(case, found.explanation)}
    inside = [row for row in _box(case, found, rows) if row in allowed]
    assert (found.rows, found.inside) == (len(rows), len(inside))
    assert found.coverage == len(inside) / len(rows)


@pytest.mark.parametrize("resolution", [0.1, 0.01, 0.001])
def test_a_real_end_is_bracketed_by_the_resolution(resolution: float, tmp_path: Path) -> None:
    network = valley(tmp_path)
    inputs = Inputs([continuous("depth", 0, 1)])
    found = milp_verix.inflate(
        network, X, ["depth"], epsilon=0, inputs=inputs, resolution=resolution
    )
    low, high = found.intervals["depth"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    for end in (0.5 - low, high - 0.5):
        assert CRITICAL - resolution <= end < CRITICAL
    assert found.maximal
    assert found.replay(network) == ()
    told = found.sentence()
    # just beyond a plain number: that one is told
    just = 1e4 * low - np.floor(1e4 * low) < 1e-3
    least = f"above {np.floor(1e4 * low) / 1e4:.4g}"
    assert f"depth is {least if just else f'between {np.ceil(1e4 * low) / 1e4:.4g}'} and " in told


def test_a_radius_limits_how_far_kept_features_move(tmp_path: Path) -> None:
    found = milp_verix.inflate(valley(tmp_path), X, [0], epsilon=0, within=0.125)
    assert found.intervals == {0: (0.375, 0.625)}
    assert found.ranges[0].beyond == ()


@pytest.mark.slow
def test_pixels_of_an_image_may_move_by_their_ranges() -> None:
    image, network = digits.images()[0], digits.network()
    explanation = digits.explained()
    found = explanation.inflate(within=0.2, resolution=0.25)
    again = explanation.inflate(network, within=0.2, resolution=0.25)
    assert again.intervals == found.intervals
    stored = milp_verix.Explanation.from_json(explanation.to_json())
    with pytest.raises(milp_verix.InputError, match="does not hold its network"):
        stored.inflate(within=0.2)
    assert found.explanation == explanation.explanation
    assert {*found.intervals} == {*explanation.explanation}
    assert found.replay(network) == ()
    draw, flat = np.random.default_rng(0), image.reshape(-1)
    lower = np.clip(flat - 0.1, 0, 1).astype(np.float64)
    upper = np.clip(flat + 0.1, 0, 1).astype(np.float64)
    for one in found.ranges:
        lower[one.feature], upper[one.feature] = found.intervals[one.feature]  # type: ignore[assignment]
    wider = [one for one in found.ranges if upper[one.feature] > lower[one.feature]]
    assert wider
    assert found.maximal
    for _ in range(200):
        ends = draw.integers(0, 2, flat.size).astype(bool)
        point = np.where(ends, lower, upper).astype(np.float32).reshape(image.shape)
        assert int(np.argmax(network.evaluate(point))) == explanation.prediction


def test_a_pixel_with_channels_has_a_range_of_changes(tmp_path: Path) -> None:
    # class 0 leads by 1 - 2 (a + b), so changes of both channels by 1/4 are the limit
    layers = as_layers(([[0, 0, 0], [2, 2, 0]], [2, 1]))
    network, x = dense_network(layers, tmp_path), np.array([0.0, 0.0, 0.5], dtype=np.float32)
    found = milp_verix.inflate(
        network, x, [0], epsilon=0.1, features=[[0, 1], [2]], resolution=0.01
    )
    low, high = found.intervals[0]
    assert (low, isinstance(high, float) and 0.24 <= high < 0.25) == (0.0, True)
    assert found.replay(network) == ()
    assert "changes by 0 to 0.24" in found.sentence()


def test_what_is_no_explanation_is_refused(tmp_path: Path) -> None:
    case = mixed_case(0, rules=False)
    with pytest.raises(InputError, match="no explanation"):
        _inflated(case, tmp_path, explanation=[])


@pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])
def test_a_certificate_proves_the_box_and_no_wider_one(rules: bool, tmp_path: Path) -> None:
    case = mixed_case(2, rules=rules)
    found, network = _inflated(case, tmp_path), case.network(tmp_path)
    assert network.path is not None
    model = network.path.read_bytes()
    certificate = found.certify(network)
    assert certificate.proven, certificate.reason
    assert checked(model, certificate.to_json())
    stretched = [one for one in found.ranges if one.ordered and one.beyond]
    wider = replace(
        found,
        ranges=tuple(
            replace(one, lower=one.least, upper=one.most, beyond=()) if one in stretched else one
            for one in found.ranges
        ),
    )
    assert not stretched or not wider.certify(network).proven


def test_sentences_name_ends_words_and_rows(tmp_path: Path) -> None:
    features = [
        integer("age", 0, 90, "years"),
        category("work", ["none", "some", "much"]),
        integer("debt", 0, 9),
    ]
    inputs = Inputs(features, class_names=["granted", "refused"])
    # refused where age + 10 work - 45 > 0
    layers = as_layers(([[0, 0, 0], [1, 10, 0]], [0, -45]))
    rows = [{"age": age, "work": "much", "debt": 0} for age in range(0, 90, 10)]
    found = milp_verix.inflate(
        dense_network(layers, tmp_path),
        {"age": 50, "work": "much", "debt": 3},
        ["age", "work"],
        epsilon=np.inf,
        inputs=inputs,
        rows=rows,
    )
    assert found.intervals == {"age": (26, 90), "work": ("much",)}
    assert found.sentence() == (
        "As long as age is at least 26 years and work is much, the decision “refused” stays, "
        "whatever debt is. 66 % of the 9 rows given are such inputs, and all get “refused”, proven."
    )


def test_a_range_that_ends_where_nobody_asked_is_not_told_as_open(tmp_path: Path) -> None:
    # granted where 3.5 < income < 8.5, that is, max(0, income - 8) * 10 < income - 3.5
    layers = as_layers(([[1], [1]], [0, -8]), ([[0, 0], [1, -10]], [0, -3.5]))
    network = dense_network(layers, tmp_path)
    inputs = Inputs([integer("income", 0, 20)], class_names=["refused", "granted"])
    near = milp_verix.inflate(network, [5], [0], epsilon=np.inf, inputs=inputs, within=2)
    assert near.intervals["income"] == (4, 7)
    assert near.sentence() == "As long as income is between 4 and 7, the decision “granted” stays."
    wide = milp_verix.inflate(network, [5], [0], epsilon=np.inf, inputs=inputs)
    assert wide.sentence() == "As long as income is between 4 and 8, the decision “granted” stays."
    low = milp_verix.inflate(network, [2], [0], epsilon=np.inf, inputs=inputs, within=2)
    assert low.sentence() == "As long as income is at most 3, the decision “refused” stays."
    classes = [int(np.argmax(network.evaluate([income]))) for income in range(21)]
    assert [income for income, label in enumerate(classes) if label] == [4, 5, 6, 7, 8]


def test_held_features_and_limits_stand_beside_ranges(tmp_path: Path) -> None:
    layers = as_layers(([[0, 0, 0], [1, -8, 0]], [0, -3.5]))
    network = dense_network(layers, tmp_path)
    features = [integer("income", 0, 10), binary("sex"), integer("debt", 0, 10)]
    inputs = Inputs(features, class_names=["refused", "granted"])
    radii = {"income": np.inf, "sex": 0, "debt": 2}
    asked: dict[str, Any] = {"epsilon": radii, "inputs": inputs}
    found = milp_verix.inflate(network, [9, 0, 5], **asked)
    assert found.sentence() == (
        "As long as income is at least 4, the decision “granted” stays, with debt within ±2 of 5, "
        "while sex stays as it is."
    )
    rows = [[income, sex, debt] for income in range(11) for sex in (0, 1) for debt in (0, 5, 10)]
    rules = milp_verix.find_rules(network, np.array(rows, dtype=float), count=6, **asked)
    facts = rules_facts(rules.rules, rules.covered, rules.rows)[1:]
    assert facts
    for (_, text), rule in zip(facts, rules.rules, strict=True):
        sex, debt = rule.input[0, 1:] if rule.input.ndim > 1 else rule.input[1:]
        assert f"sex is {'yes' if sex else 'no'}" in text
        assert f"debt within ±2 of {int(debt)}" in text
        told = re.search(r"income is (at least|at most|anything from) (\d+)", text)
        incomes = range(11)
        if told and told[1] != "anything from":
            end = int(told[2])
            incomes = range(end, 11) if told[1] == "at least" else range(end + 1)
        for income in incomes:
            label = int(np.argmax(network.evaluate([income, sex, debt])))
            assert label == rule.prediction, text


def test_ctrl_c_keeps_the_ranges_so_far(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = mixed_case(3, rules=True)
    monkeypatch.setattr(BoxChecks, "bound", lambda _: None)
    kept = range(len(case.features))
    monkeypatch.setattr(Oracle, "check", interrupting(2, Oracle.check))
    found = _inflated(case, tmp_path, explanation=kept)
    assert found.statistics.stopped == "interrupted"
    assert not found.maximal
    points = _listed(case, found.explanation)
    box = _box(case, found, points) if found.ranges else []
    assert all(margin < 1e-5 for margin in case.margins(box or [case.x]))


def test_pickles_and_reports_keep_every_bit(tmp_path: Path) -> None:
    found = _inflated(mixed_case(1, rules=False), tmp_path)
    assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()
    console = Console(width=200, record=True)
    console.print(found.summary())
    told = console.export_text()
    assert all(name in told for name in found.intervals)
    found.plot(tmp_path / "ranges.png")
    milp_verix.write_report(found, tmp_path / "ranges.html")
    assert found.sentence() in (tmp_path / "ranges.html").read_text(encoding="utf-8").replace(
        "&#34;", '"'
    )


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"resolution": 0}, "share of a feature's room"),
        ({"rows": [[1, 2, 3]]}, "expected"),
        ({"rows": [["a", "b"]]}, "numbers"),
        ({"within": "10%"}, "description"),
        ({"norm": "l2"}, "norm 'linf' alone"),
        ({"domain": (-np.inf, np.inf)}, "without end"),
        ({"explanation": [7]}, "feature 7"),
    ],
)
def test_wrong_arguments_are_told(more: dict[str, Any], told: str, tmp_path: Path) -> None:
    asked = {"epsilon": 0.01, "explanation": [0], **more}
    with pytest.raises(InputError, match=told):
        milp_verix.inflate(valley(tmp_path), X, **asked)


def test_a_search_takes_its_options(tmp_path: Path) -> None:
    case = mixed_case(4, rules=False)
    problem = Problem(case.network(tmp_path), case.point, epsilon=case.epsilon, inputs=case.inputs)
    found = problem.inflate(search=Search(solver="split", seed=3))
    _refuse_wrong(case, found)
    with pytest.raises(InputError, match="exactness"):
        problem.inflate(search=Search(exactness="bounds"))


def _stumps(cuts: list[tuple[int, float, float]]) -> Any:
    """Return a model of XGBoost: for each feature and threshold a tree with a value above it."""
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    rows = np.array([[a, b] for a in np.arange(18, 60) for b in np.arange(0, 20)], dtype=float)
    score = sum(value * (rows[:, f] >= cut) for f, cut, value in cuts)
    options = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1, "min_child_weight": 0.0}
    return xgboost.XGBClassifier(**options).fit(rows, score > 2.5)


@pytest.mark.parametrize(
    ("age", "told"),
    [
        (22.0, "As long as age is at most 30.99 and hours is anything from 0 to 19, "),
        (
            40.0,
            "As long as age is between 31 and 49.99 and hours is between 5 and 11.99, ",
        ),
    ],
)
def test_real_ends_of_trees_are_their_thresholds(age: float, told: str) -> None:
    """Each end is where the prediction of the model's library changes, in its own float32.

    “below 31” would be false of 30.9999999 in a table, which the library rounds to 31.
    """
    model = _stumps([(0, 31.0, 2.0), (0, 50.0, -2.0), (1, 5.0, 1.0), (1, 12.0, -1.0)])
    inputs = Inputs([continuous("age", 18, 59), continuous("hours", 0, 19)])
    x = np.array([age, 8.0])
    found = Problem(model, x, inputs=inputs, epsilon=np.inf).inflate([0, 1])
    own = model.predict(x[None])[0]
    assert found.maximal
    assert found.sentence().startswith(told)
    ends = {one.feature: (one.lower or 0.0, one.upper or 0.0) for one in found.ranges}
    for one in found.ranges:
        assert one.lower is not None
        assert one.upper is not None
        other = ends[1 - one.feature]
        for value in np.linspace(one.lower, one.upper, 50):
            row = np.zeros(2)
            row[one.feature] = value
            for row[1 - one.feature] in np.linspace(*other, 50):
                assert model.predict(row[None])[0] == own
        for beyond in one.beyond:
            assert beyond.counterfactual is not None
            assert model.predict(beyond.counterfactual.input.reshape(1, -1))[0] != own
            assert not one.lower <= beyond.value <= one.upper
            assert beyond.value == float(f"{beyond.value:.4g}")
