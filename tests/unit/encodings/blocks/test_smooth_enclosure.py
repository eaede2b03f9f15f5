"""Programs of smooth networks hold the network, tightly; verdicts on them are sound."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix.api.calls import check, explain
from milp_verix.base.errors import InputError
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.oracle.attacks import climb
from milp_verix.oracle.verdict import Answer
from tests.support.exact_values import examples, seeds
from tests.support.onnx_models import FLOAT, loaded
from tests.support.random_networks import (
    Layer,
    cube,
    dense_model,
    random_box,
    random_layers,
    smooth_network,
)
from tests.support.scipy_reference import extremes, pinned
from verix_encodings import (
    SMOOTH_FUNCTIONS,
    Affine,
    Interval,
    Network,
    NormBall,
    Smooth,
    crown_bounds,
    encode,
    interval_bounds,
    slope_bounds,
)
from verix_encodings.blocks import enclosures

functions = pytest.mark.parametrize("name", SMOOTH_FUNCTIONS)


def steep_layers(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[Layer, ...]:
    return tuple((3.0 * matrix, 3.0 * bias) for matrix, bias in random_layers(rng, sizes))


@pytest.mark.nightly
@pytest.mark.usefixtures("matrix_storage")
@examples(80, seeds)
def test_sampled_values_lie_within_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = list(rng.choice(list(SMOOTH_FUNCTIONS), 2))
    network = smooth_network(steep_layers(rng, (3, 5, 4, 2)), names)
    box = random_box(rng, 3)
    wide, tight = interval_bounds(network, box), crown_bounds(network, box)
    for x in rng.uniform(box.lower, box.upper, (60, 3)):
        for bounds in (wide, tight):
            for interval, value in zip(bounds, network.values(x), strict=True):
                slack = 1e-12 * (1 + interval.magnitude)
                assert np.all(interval.lower - slack <= value)
                assert np.all(value <= interval.upper + slack)


@pytest.mark.slow
@functions
def test_crown_is_tighter_than_intervals(name: str) -> None:
    ratios = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        network = smooth_network(random_layers(rng, (6, 8, 8, 3)), [name])
        box = Interval(np.full(6, 0.4), np.full(6, 0.6))
        tight, wide = (m(network, box)[-1] for m in (crown_bounds, interval_bounds))
        ratios.append(np.mean(tight.upper - tight.lower) / np.mean(wide.upper - wide.lower))
    assert np.median(ratios) < 0.6


@pytest.mark.usefixtures("matrix_storage")
@functions
def test_derivatives_by_differences_lie_within_their_bounds(name: str) -> None:
    rng = np.random.default_rng(5)
    network = smooth_network(steep_layers(rng, (3, 5, 4, 2)), [name])
    box = Interval(np.full(3, 0.3), np.full(3, 0.7))
    lower, upper = slope_bounds(network, crown_bounds(network, box))
    for x in rng.uniform(box.lower + 1e-5, box.upper - 1e-5, (40, 3)):
        for i, step in enumerate(1e-6 * np.eye(3)):
            rise = (network.evaluate(x + step) - network.evaluate(x - step)) / 2e-6
            assert np.all(rise >= lower[:, i] - 1e-6)
            assert np.all(rise <= upper[:, i] + 1e-6)


@functions
@pytest.mark.parametrize("segments", [1, 2, 5])
def test_a_pinned_input_leaves_an_enclosure_of_the_output(name: str, segments: int) -> None:
    rng = np.random.default_rng(7)
    network = smooth_network(steep_layers(rng, (2, 3, 1)), [name])
    encoding = encode(network, crown_bounds(network, cube(2)), segments=segments)
    assert (encoding.program.binaries > 0) == (segments > 1)
    for x in [*rng.random((3, 2)), np.zeros(2), np.ones(2)]:
        program = pinned(encoding.program, encoding.input.columns, x)
        low, high = extremes(program, encoding.output, 0)
        assert low - 1e-7 <= network.evaluate(x)[0] <= high + 1e-7


@pytest.mark.nightly
@functions
def test_more_segments_enclose_more_tightly(name: str) -> None:
    rng = np.random.default_rng(8)
    network = smooth_network(steep_layers(rng, (2, 3, 2, 1)), [name])
    bounds = crown_bounds(network, cube(2))
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    values = np.array([network.evaluate(x)[0] for x in grid])
    gaps = []
    for segments in (1, 4, 12):
        encoding = encode(network, bounds, segments=segments)
        low, high = extremes(encoding.program, encoding.output, 0)
        assert low <= values.min() + 1e-6
        assert high >= values.max() - 1e-6
        gaps.append((values.min() - low) + (high - values.max()))
    assert gaps[1] < 0.6 * gaps[0] + 1e-3
    assert gaps[2] < 0.5 * gaps[1] + 1e-3
    assert gaps[2] < 0.05 * (values.max() - values.min()) + 1e-3


def onnx_network(
    layers: tuple[Layer, ...], operator: str, folder: Path, opset: int = 20
) -> OnnxNetwork:
    return loaded(dense_model(layers, FLOAT, operator, opset=opset), folder)


def attacked(network: OnnxNetwork, box: Interval, label: int) -> bool:
    """Whether sampling and ascent by differences find another class in ``box``."""
    rng = np.random.default_rng(0)

    def margin(x: NDArray[np.float64]) -> float:
        scores = network.ir.evaluate(x)
        return float(np.max(np.delete(scores, label)) - scores[label])

    corners = rng.integers(0, 2, (64, box.lower.size))
    starts = np.concatenate(
        [box.lower + (box.upper - box.lower) * corners, rng.uniform(box.lower, box.upper, (200, 3))]
    )
    best = sorted(starts, key=margin)[-5:]
    for x in best:
        point, step = x.copy(), (box.upper - box.lower) / 4
        for _ in range(30):
            moves = [
                np.clip(point + s * step * e, box.lower, box.upper)
                for e in np.eye(3)
                for s in (-1, 1)
            ]
            better = max(moves, key=margin)
            if margin(better) > margin(point):
                point = better
            else:
                step = step / 2
        if margin(point) > 1e-5:
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["Tanh", "Softplus", "Gelu", "Elu", "Softsign"])
@pytest.mark.parametrize("seed", range(4))
def test_verdicts_are_never_contradicted(tmp_path: Path, operator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = onnx_network(steep_layers(rng, (3, 4, 3)), operator, tmp_path)
    x = rng.random(3)
    label = int(np.argmax(network.evaluate(x)))
    answers = set()
    for epsilon in (0.02, 0.1, 0.2, 0.4):
        box = Interval(np.maximum(x - epsilon, 0), np.minimum(x + epsilon, 1))
        verdicts = [
            check(network, x, range(3), epsilon=epsilon, segments=k).answer for k in (1, 4, 12)
        ]
        answers |= set(verdicts)
        # whatever the number of segments, definite answers agree
        assert not {Answer.HOLDS, Answer.VIOLATED} <= set(verdicts)
        # and more of them leave less undecided
        assert verdicts[0] is Answer.UNKNOWN or verdicts[2] is not Answer.UNKNOWN
        if Answer.HOLDS in verdicts:
            assert not attacked(network, box, label)
    assert answers & {Answer.HOLDS, Answer.VIOLATED}


@pytest.mark.parametrize("operator", ["Tanh", "Softplus", "Gelu", "Elu", "Softsign", "Mish"])
@pytest.mark.parametrize("away", [1e-2, 1e-3, 1e-4])
def test_a_known_critical_radius_is_bracketed(tmp_path: Path, operator: str, away: float) -> None:
    # the one neuron is increasing there, so the class changes where 4 x − 2 exceeds 0.8
    value = {
        "Tanh": np.tanh(0.8),
        "Softplus": np.log1p(np.exp(0.8)),
        "Gelu": 0.8 * 0.7881446014166034,
        "Elu": 0.8,
        "Softsign": 0.8 / 1.8,
        "Mish": 0.8 * np.tanh(np.log1p(np.exp(0.8))),
    }[operator]
    layers = (
        (np.array([[4.0]]), np.array([-2.0])),
        (np.array([[0.0], [1.0]]), np.array([0.0, -value])),
    )
    network = onnx_network(layers, operator, tmp_path)
    segments = 40
    inside = check(network, [0.5], [0], epsilon=0.2 - away, segments=segments)
    outside = check(network, [0.5], [0], epsilon=0.2 + away, segments=segments)
    assert inside.answer is Answer.HOLDS
    assert outside.answer is Answer.VIOLATED


@pytest.mark.slow
def test_an_enclosure_that_cannot_decide_says_so(tmp_path: Path) -> None:
    found = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        network = onnx_network(steep_layers(rng, (3, 5, 5, 3)), "Tanh", tmp_path)
        x = rng.random(3)
        for epsilon in (0.05, 0.1, 0.15):
            verdict = check(network, x, range(3), epsilon=epsilon, segments=1, solver="phase")
            if verdict.answer is Answer.UNKNOWN:
                found.add(verdict.reason)
    assert any("enclosure" in reason and "more segments" in reason for reason in found)


def test_explanations_note_the_enclosure(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    network = onnx_network(random_layers(rng, (4, 5, 3)), "Tanh", tmp_path)
    found = explain(network, rng.random(4), epsilon=0.3, order="sequential", segments=3)
    note = next(note for note in found.notes if "tanh" in note)
    assert "3 segments" in note
    assert not found.replay(network)


@pytest.mark.parametrize("bounds", ["interval", "crown", "alpha", "lp", "milp"])
def test_every_bound_method_knows_smooth_networks(tmp_path: Path, bounds: str) -> None:
    rng = np.random.default_rng(3)
    network = onnx_network(random_layers(rng, (4, 5, 5, 3)), "Tanh", tmp_path)
    x = rng.random(4)
    found = explain(network, x, epsilon=0.2, order="sequential", segments=12, bounds=bounds)
    assert found.bounds == bounds
    assert found.minimal


@pytest.mark.parametrize("segments", [0, -1, 1.5, True, "4"])
def test_a_number_of_segments_is_checked(tmp_path: Path, segments: object) -> None:
    network = onnx_network(random_layers(np.random.default_rng(0), (4, 5, 3)), "Tanh", tmp_path)
    with pytest.raises(InputError, match="segments must be an integer of at least 1"):
        check(network, np.full(4, 0.5), [0], epsilon=0.1, segments=segments)  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", [None, 1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_climbing_stays_in_the_region_and_goes_up(norm: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = smooth_network(steep_layers(rng, (3, 5, 4, 2)), ["tanh", "gelu"])
    centre = np.full(3, 0.5)
    region = cube(3) if norm is None else NormBall(cube(3), centre, 0.4, norm)
    found = climb(network, region, centre, 1)
    assert network.evaluate(found)[1] > network.evaluate(centre)[1]
    assert np.all((found >= 0) & (found <= 1))
    if norm is not None:
        assert np.linalg.norm(found - centre, norm) <= 0.4 + 1e-12


def test_climbing_reaches_the_corner_where_a_margin_is_monotone() -> None:
    layers = ((np.array([[1.0, -1.0]]), np.zeros(1)), (np.array([[2.0]]), np.zeros(1)))
    network = smooth_network(layers, ["softplus"])
    assert climb(network, cube(2), np.array([0.5, 0.5]), 0).tolist() == [1.0, 0.0]


def test_counts_of_an_enclosure() -> None:
    # one neuron over two segments' worth of curvature, one at a point, one that is thin
    matrix = np.array([[8.0, 0.0], [0.0, 0.0], [0.0, 1e-3]])
    network = smooth_network(
        ((matrix, np.array([-4.0, 1.0, 0.5])), (np.eye(3), np.zeros(3))), ["tanh"]
    )
    program = encode(network, crown_bounds(network, cube(2)), segments=3).program
    integers = [name for name, i in zip(program.column_names, program.integer, strict=True) if i]
    assert integers == ["e_1_0", "e_1_1"]
    assert program.column_names == [
        *("x_0", "x_1"),
        *("z_1_0", "z_1_1", "z_1_2", "a_1_0", "a_1_1", "a_1_2"),
        *("zs_1_0", "zs_1_1", "zs_1_2", "e_1_0", "e_1_1"),
    ]
    # a defining row for each neuron, three lines for two of them, 1 + 1 + 2·3 + 2 for the third
    assert program.rows == 3 + 2 * 3 + 10


def test_a_program_under_a_deadline_ends_between_blocks_of_neurons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(enclosures, "_PIECES", 20)
    smooth = Smooth(1, SMOOTH_FUNCTIONS["tanh"])
    network = Network((8,), (Affine(((0, np.eye(8)),), np.zeros(8)), smooth))
    bounds = interval_bounds(network, Interval(np.full(8, -2.0), np.full(8, 2.0)))
    looks = []

    def late() -> bool:
        looks.append(True)
        return len(looks) > 4

    with pytest.raises(TimeoutError):
        encode(network, bounds, segments=10, late=late)
    assert len(looks) == 5
    whole = encode(network, bounds, segments=10)
    names = whole.program.column_names
    assert len({*names}) == len(names) == whole.program.columns
    monkeypatch.undo()
    at_once = encode(network, bounds, segments=10).program
    assert sorted(at_once.column_names) == sorted(names)
    assert at_once.rows == whole.program.rows
    assert at_once.matrix.nnz == whole.program.matrix.nnz
