"""One program narrowed to smaller balls is as exact as one made for each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from milp_verix import InputError, Problem, Search, explain
from milp_verix.base.clock import deadline_in
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from milp_verix.oracle.engines.engine import Claim
from milp_verix.oracle.engines.programs import MarginCheck, Programs
from milp_verix.oracle.engines.warm_program import WarmProgram, warm_program
from milp_verix.oracle.verdict import Answer
from milp_verix.solvers import open_session
from milp_verix.solvers.warm_lp import WarmLp
from tests.support import digits_example as digits
from tests.support.random_networks import (
    convolutional,
    cube,
    dense_network,
    network_of,
    random_graph,
    random_layers,
    residual,
    smooth_network,
)
from tests.support.scipy_reference import optimum
from verix_encodings import (
    BoundMethod,
    Bounds,
    Interval,
    Max,
    Network,
    Program,
    Relu,
    crown_bounds,
    encode,
    formulation_named,
    interval_bounds,
)


def drawn(seed: int) -> tuple[Network, list[Interval]]:
    """Return a network, some with maxima, and boxes in the cube, some coordinates of them fixed."""
    rng = np.random.default_rng(seed)
    shape = ((3, 6, 2), (4, 5, 4, 2), (3, 8, 8, 3))[seed % 3]
    network = network_of(random_layers(rng, shape))
    while seed % 4 == 0 and not (network.counts.get("maxima", 0) > 3 and network.relu_count > 6):
        network = random_graph(rng, size=3, nodes=9)
    inside = [cube(network.input_size)]
    for _ in range(3):
        ends = np.sort(rng.uniform(size=(2, network.input_size)), axis=0)
        ends[1] = np.where(rng.random(ends.shape[1]) < 0.4, ends[0], ends[1])
        inside.append(Interval(*ends))
    return network, inside


def warm(network: Network, bounds: Bounds) -> WarmProgram:
    """Return the program of ``network`` over the whole box ``bounds[0]``."""
    return WarmProgram(network, bounds, encode(network, bounds), "in_place")


def over(shared: WarmProgram, bounds: Bounds) -> Program:
    """Return the program narrowed to the box ``bounds[0]``."""
    program = shared.encoding.program
    return program.with_bounds(np.arange(program.columns), *shared.ends(bounds))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("method", [interval_bounds, crown_bounds])
def test_optima_are_those_of_its_own_program(seed: int, method: BoundMethod) -> None:
    network, inside = drawn(seed)
    shared = warm(network, method(network, inside[0]))
    output = shared.encoding.output
    for box in inside:
        bounds = method(network, box)
        both = tuple(
            Interval(np.maximum(a.lower, b.lower), np.minimum(a.upper, b.upper))
            for a, b in zip(shared.bounds, bounds, strict=True)
        )
        own, program = encode(network, both), over(shared, bounds)
        for index in range(network.output_size):
            row, constant = output.row(index, program.columns)
            own_row, own_constant = own.output.row(index, own.program.columns)
            if not own.program.columns:
                assert constant - optimum(program, -row)[0] == pytest.approx(own_constant)
                continue
            greatest = own_constant - optimum(own.program, -own_row)[0]
            assert constant - optimum(program, -row)[0] == pytest.approx(greatest, abs=1e-6)
            # its big-Ms are those of the whole box
            greatest = own_constant - optimum(own.program.relaxed, -own_row)[0]
            assert constant - optimum(program.relaxed, -row)[0] >= greatest - 1e-6


@pytest.mark.usefixtures("matrix_storage")
@pytest.mark.parametrize("seed", range(12))
def test_trajectories_over_a_smaller_box_satisfy_every_row(seed: int) -> None:
    network, inside = drawn(seed)
    shared = warm(network, crown_bounds(network, inside[0]))
    rng = np.random.default_rng(seed)
    for box in inside:
        program = over(shared, crown_bounds(network, box))
        for _ in range(20):
            point = trajectory(program, network, rng.uniform(box.lower, box.upper))
            activity = program.matrix @ point
            assert np.all(activity >= program.row_lower - 1e-9)
            assert np.all(activity <= program.row_upper + 1e-9)
            assert np.all(point >= program.column_lower - 1e-9)
            assert np.all(point <= program.column_upper + 1e-9)


def trajectory(program: Program, network: Network, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns' values, by their labels, where the input is ``x``."""
    values, columns = network.values(x), []
    for prefix, numbers in program.column_labels:
        kind, *index = prefix.split("_")
        if kind == "x":
            columns.append(values[0][numbers])
            continue
        node = network.nodes[int(index[0])]
        assert isinstance(node, Relu | Max)
        read = node.entries if isinstance(node, Max) else node.source
        value = {"z": read, "a": int(index[0]) + 1, "d": node.source}[kind]
        result = values[value][numbers]
        columns.append((result > 0).astype(float) if kind == "d" else result)
    return np.concatenate(columns)


def test_inputs_are_bounded_by_their_own_ends_where_others_never_move() -> None:
    network = network_of(random_layers(np.random.default_rng(0), (4, 3, 2)))
    low, high = np.array([0.5, 0.1, 0.3, 0.2]), np.array([0.5, 0.9, 0.3, 0.6])
    shared = warm(network, interval_bounds(network, Interval(low, high)))
    box = Interval(low + np.array([0, 0.1, 0, 0.05]), high - np.array([0, 0.3, 0, 0.2]))
    program, columns = over(shared, interval_bounds(network, box)), shared.encoding.input.columns
    np.testing.assert_array_equal(program.column_lower[columns], box.lower[[1, 3]])
    np.testing.assert_array_equal(program.column_upper[columns], box.upper[[1, 3]])


def test_a_neuron_that_is_stable_has_its_phase_fixed() -> None:
    network, inside = drawn(1)
    shared = warm(network, crown_bounds(network, inside[0]))
    phases = shared.encoding.program.integer
    fixed = set[float]()
    for box in inside:
        lower, upper = (ends[phases] for ends in shared.ends(crown_bounds(network, box)))
        assert np.all(lower < upper) == (box is inside[0])
        fixed |= {*lower[lower == upper].tolist()}
    assert fixed == {0.0, 1.0}


def test_a_box_that_reaches_outside_is_refused() -> None:
    network, _ = drawn(1)
    middle = Interval(np.full(4, 0.25), np.full(4, 0.75))
    shared = warm(network, crown_bounds(network, middle))
    with pytest.raises(ValueError, match="inside of it"):
        shared.ends(crown_bounds(network, cube(4)))


@dataclass(slots=True)
class Recorder:
    """Counts the programs that warm linear programs are given."""

    passed: int = 0

    def install(self, monkeypatch: pytest.MonkeyPatch) -> "Recorder":
        load = WarmLp.load

        def loading(lp: WarmLp, program: Program) -> None:
            self.passed += 1
            load(lp, program)

        monkeypatch.setattr(WarmLp, "load", loading)
        return self


def answers(problem: Problem, subsets: list[NDArray[np.intp]], way: str) -> list[Answer]:
    """Decide every subset by all of its margins, in one session.

    A margin's solve may come across a counterfactual by another margin, so only answers to the
    whole claim compare.
    """
    margins = problem.question.margins(problem.network.ir)
    formulation, session = formulation_named("big_m"), open_session("phase")
    every = problem.ball.region(np.arange(problem.x.size))
    full = interval_bounds(margins, every)
    search = Search(warm=way, segments=1)
    own = way == "rebuilt"
    shared = None if own else warm_program(problem, search, session, margins, full)
    found = []
    for free in subsets:
        region = problem.ball.region(free)
        bounds = interval_bounds(margins, region)
        claim = Claim(
            *(margins, free, region, bounds, np.arange(margins.output_size)),
            *(np.full(margins.output_size, 1e-6), bounds[-1].upper, deadline_in(60.0)),
        )
        check = MarginCheck(problem, search, formulation, session, claim, shared=shared)
        said = {check.decide(k).answer for k in range(margins.output_size)}
        of_all = (Answer.VIOLATED, Answer.UNKNOWN, Answer.HOLDS)
        found.append(next(answer for answer in of_all if answer in said))
    session.close()
    return found


def dense(folder: Path, seed: int) -> OnnxNetwork:
    return dense_network(random_layers(np.random.default_rng(seed), (6, 8, 6, 5, 3)), folder)


@pytest.mark.slow
@pytest.mark.parametrize("make", [dense, convolutional, residual])
@pytest.mark.parametrize("delta", [None, 0.3])
def test_claims_share_one_program_and_decide_as_programs_of_their_own(
    make: Callable[[Path, int], OnnxNetwork],
    delta: float | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: set[Answer] = set()
    for seed in range(5):
        network = make(tmp_path, seed)
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=network.input_size)
        problem = Problem(network, x, epsilon=(0.1, 0.3)[seed % 2], delta=delta)
        order = rng.permutation(network.input_size)
        # as a traversal frees features: more and more of them, some taken back
        sizes = np.linspace(1, network.input_size, 6).astype(int)
        subsets = [np.sort(order[:size]) for size in (*sizes, sizes[2])]
        own = answers(problem, subsets, "rebuilt")
        with monkeypatch.context() as patch:
            recorder = Recorder().install(patch)
            assert answers(problem, subsets, "in_place") == own
        assert recorder.passed == 1
        said |= set(own)
    assert said >= {Answer.HOLDS, Answer.VIOLATED}


def test_where_programs_are_shared(tmp_path: Path) -> None:
    network, session, x = dense(tmp_path, 0), open_session("phase"), np.full(6, 0.5)
    smooth = smooth_network(random_layers(np.random.default_rng(0), (6, 4, 2)), ["sigmoid"])
    for norm, name, asked, shared in (
        ("linf", "big_m", "in_place", True),
        ("linf", "big_m", "auto", False),
        ("l1", "big_m", "in_place", None),
        ("linf", "partition:2", "in_place", None),
        ("linf", "smooth", "in_place", None),
    ):
        problem = Problem(network, x, epsilon=0.1, norm=norm)
        margins = smooth if name == "smooth" else problem.question.margins(network.ir)
        search = Search(warm=asked, formulation="big_m" if name == "smooth" else name)
        bounds = crown_bounds(margins, problem.ball.region(np.arange(6)))
        given = problem, search, session, margins, bounds
        if shared is None:
            with pytest.raises(InputError, match="needs an L∞ ball of real numbers, ReLUs"):
                warm_program(*given)
        else:
            programs = Programs(problem, search, "phase")
            programs.prepare(margins, bounds)
            assert (programs._shared is not None) == shared
            programs.close()
    session.close()


@cache
def by_highs(index: int) -> tuple[int, ...]:
    """Return the explanation of one image by a solver that is given every check anew."""
    image, options = digits.images()[index], {"epsilon": 0.2, "order": "sequential"}
    return explain(digits.network(), image, solver="highs", **options).explanation


@pytest.mark.nightly
@pytest.mark.parametrize("traversal", ["galloping", "sequential", "binary"])
def test_a_traversal_loads_one_program(traversal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    solves = 0
    for index, image in enumerate(digits.images()[:10]):
        options: dict[str, Any] = {"epsilon": 0.2, "order": "sequential", "traversal": traversal}
        options |= {"warm": "in_place"}
        with monkeypatch.context() as patch:
            recorder = Recorder().install(patch)
            found = explain(digits.network(), image, solver="phase", **options)
        assert recorder.passed == (1 if found.statistics.solves else 0)
        solves += found.statistics.solves
        assert found.explanation == by_highs(index)
    assert solves > 10
