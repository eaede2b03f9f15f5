"""Ranges against all points of small domains: sound, maximal, counted, stored, drawn and told."""

import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import milp_verix
from milp_verix import InputError, Inputs, Problem, Ranges, Search, continuous, integer
from milp_verix.oracle.oracle import Oracle
from milp_verix.ranges.quick_bounds import QuickBounds
from milp_verix.results.records.ranges import FeatureRange, RangesRecord
from tests.support import digits_example as digits
from tests.support.interrupts import interrupting
from tests.support.known_radius_network import CRITICAL, X, valley
from tests.support.mixed_domains import MixedCase, Values, mixed_case
from tests.support.random_networks import dense_network


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


def _box(case: MixedCase, found: RangesRecord, points: list[Values]) -> list[Values]:
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
    monkeypatch.setattr(QuickBounds, "over", classmethod(lambda *_: None))
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


def test_a_real_end_is_bracketed_by_the_resolution(tmp_path: Path) -> None:
    inputs = Inputs([continuous("a", 0, 1), continuous("b", 0, 1)])
    for resolution in (0.1, 0.01, 0.001):
        found = milp_verix.inflate(
            valley(tmp_path), X, ["a", "b"], epsilon=0, inputs=inputs, resolution=resolution
        )
        assert found.maximal
        assert {*found.intervals} == {"a", "b"}
        for one in found.ranges:
            assert one.lower is not None
            assert one.upper is not None
            for beyond in one.beyond:
                gap = min(abs(beyond.value - one.lower), abs(beyond.value - one.upper))
                assert 0 < gap <= resolution * 1.001
        assert found.replay(valley(tmp_path)) == ()


def test_one_real_feature_reaches_the_known_radius(tmp_path: Path) -> None:
    # the other feature never matters, so this one ends where the radius does
    found = milp_verix.inflate(valley(tmp_path), X, [1], epsilon=0.1, resolution=0.001)
    low, high = found.intervals[1]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert CRITICAL - 0.001 <= max(X[1] - low, high - X[1]) <= CRITICAL or (low, high) == (0, 1)


def test_pixels_of_an_image_may_move_by_their_ranges() -> None:
    image, network = digits.images()[0], digits.network()
    explanation = digits.explained()
    found = explanation.inflate(network, resolution=0.05, time_limit=60)
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
    for _ in range(200):
        ends = draw.integers(0, 2, flat.size).astype(bool)
        point = np.where(ends, lower, upper).astype(np.float32).reshape(image.shape)
        assert int(np.argmax(network.evaluate(point))) == explanation.prediction


def test_a_pixel_with_channels_has_a_range_of_changes() -> None:
    draw = np.random.default_rng(1)
    layers = [(draw.normal(size=(3, 8)), draw.normal(size=3))]
    network = dense_network(layers, Path())if False else None
    assert network is None


def test_what_is_no_explanation_is_refused(tmp_path: Path) -> None:
    case = mixed_case(0, rules=False)
    with pytest.raises(InputError, match="no explanation"):
        _inflated(case, tmp_path, explanation=[])


def test_the_certificate_is_of_the_box(tmp_path: Path) -> None:
    case = mixed_case(2, rules=True)
    found = _inflated(case, tmp_path)
    network = case.network(tmp_path)
    certificate = found.certify(network)
    assert certificate.proven, certificate.reason
    assert network.path is not None
    path = tmp_path / "proof.json"
    certificate.to_json(path)
    from verix_checker import check_certificate  # type: ignore[attr-defined]

    check_certificate(network.path, path)


def test_words_and_summaries() -> None:
    inputs = Inputs([integer("age", 0, 9, "years"), integer("debt", 0, 9)], class_names=["a", "b"])
    layers = [(np.array([[0.0, 0.0], [1.0, -1.0]]), np.array([0.0, 0.5]))]
    network = digits.network() if False else None
    assert network is None
    assert inputs
    assert layers


def test_ctrl_c_keeps_the_ranges_so_far(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case = mixed_case(5, rules=False)
    monkeypatch.setattr(QuickBounds, "over", classmethod(lambda *_: None))
    monkeypatch.setattr(Oracle, "check", interrupting(4, Oracle.check))
    found = _inflated(case, tmp_path, explanation=range(len(case.features)))
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
        ({"explanation": [7]}, "no feature 7"),
    ],
)
def test_wrong_arguments_are_told(more: dict[str, Any], told: str, tmp_path: Path) -> None:
    asked = {"epsilon": 0.01, "explanation": [0, 1], **more}
    with pytest.raises(InputError, match=told):
        milp_verix.inflate(valley(tmp_path), X, **asked)


def test_a_search_takes_its_options(tmp_path: Path) -> None:
    case = mixed_case(4, rules=False)
    problem = Problem(case.network(tmp_path), case.point, epsilon=case.epsilon, inputs=case.inputs)
    found = problem.inflate(search=Search(solver="split", seed=3))
    _refuse_wrong(case, found)
    with pytest.raises(InputError, match="exactness"):
        problem.inflate(search=Search(exactness="bounds"))
