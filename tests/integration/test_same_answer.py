"""The same question has the same answer, whatever the wall clock says and the machine is busy with.

Without a limit, seconds must change nothing: wall clocks here run too fast, and by leaps. Work is
counted, and decides what is asked of whom and for how long.
"""

import json
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix as mv
from milp_verix.base.clock import elapsed_work
from tests.support.clocks import WildClock
from tests.support.digits_example import images, network
from tests.support.onnx_models import FLOAT, build, node
from verix_encodings.work import worked

_TIMED = ("seconds", "check_seconds", "stages", "solvers")
_CLOCKS = (
    "milp_verix.base.clock",
    "milp_verix.oracle.engines.portfolio",
    "milp_verix.oracle.verdict",
    "milp_verix.problem.search",
    "milp_verix.solvers.session",
    "milp_verix.solvers.trust",
    "milp_verix.solvers.remote_session",
    "milp_verix.searches.minimum.minimum_search",
    "milp_verix.searches.minimum.proposals",
    "milp_verix.searches.explain_search",
)


def _small(seed: int, *hidden: int, inputs: int = 8) -> bytes:
    """Return a network with random weights and three classes."""
    rng = np.random.default_rng(seed)
    sizes, nodes, constants, last = (inputs, *hidden, 3), [], {}, "x"
    for layer, (before, after) in enumerate(pairwise(sizes)):
        constants[f"W{layer}"] = rng.normal(size=(before, after)) / before**0.5
        constants[f"b{layer}"] = rng.normal(size=after) / 4
        output = "y" if layer == len(hidden) else f"z{layer}"
        nodes.append(node("MatMul", [last, f"W{layer}"], [f"p{layer}"]))
        nodes.append(node("Add", [f"p{layer}", f"b{layer}"], [output]))
        if output != "y":
            nodes.append(node("Relu", [output], [f"a{layer}"]))
            last = f"a{layer}"
    made = build(nodes, inputs={"x": (1, inputs)}, constants=constants, elem=FLOAT)
    return bytes(made.SerializeToString())


def _x(seed: int, inputs: int = 8) -> np.ndarray:
    return np.random.default_rng(100 + seed).random(inputs).astype(np.float32)


def _digit(number: int) -> np.ndarray:
    return np.asarray(images()[number])


_QUESTIONS: dict[str, Callable[[], Any]] = {
    "explain, all engines": lambda: mv.explain(_small(0, 24, 24), _x(0), epsilon=0.6),
    "explain digits": lambda: mv.explain(network(), _digit(1), epsilon=0.2),
    "explain highs": lambda: mv.explain(network(), _digit(0), epsilon=0.1, solver="highs"),
    "explain scip": lambda: mv.explain(_small(3, 9), _x(3), epsilon=0.4, solver="scip"),
    "explain L2": lambda: mv.explain(_small(2, 9), _x(2), epsilon=0.6, norm="l2"),
    "alpha": lambda: mv.explain(_small(1, 16, 16), _x(1), epsilon=0.4, bounds="alpha"),
    "lp bounds": lambda: mv.explain(_small(1, 9, 9), _x(1), epsilon=0.4, bounds="lp"),
    "minimum": lambda: mv.minimum(_small(4, 10, 8), _x(4), epsilon=0.3),
    "minimum of a digit": lambda: mv.minimum(network(), _digit(0), epsilon=0.1, gap=0.3),
    "minimum by sets": lambda: mv.minimum(_small(4, 10), _x(4), epsilon=0.3, method="hitting_sets"),
    "contrastive": lambda: mv.contrastive(_small(5, 10, 8), _x(5), epsilon=0.4),
    "enumerate": lambda: mv.enumerate_explanations(_small(6, 9), _x(6), epsilon=0.3),
    "radii": lambda: mv.robustness_radius(_small(7, 9), _x(7), each=True),
    "sweep": lambda: mv.epsilon_sweep(_small(8, 9), _x(8), epsilons=[0.2, 0.4]),
    "audit": lambda: mv.audit(_small(9, 9), _x(9), [0, 1], epsilon=0.3),
}


def _untimed(told: Any) -> Any:
    """Return a result as JSON without seconds; who decided stays."""
    if isinstance(told, dict):
        solvers = told.get("solvers")
        kept = {key: _untimed(value) for key, value in told.items() if key not in _TIMED}
        if "trace" in kept:
            kept["trace"] = [bounds for _, *bounds in kept["trace"]]
        if isinstance(solvers, list):
            kept["decided"] = [[s["solver"], s["checks"]] for s in solvers if s["checks"]]
        return kept
    return [_untimed(value) for value in told] if isinstance(told, list) else told


def _answer(question: Callable[[], Any]) -> Any:
    return _untimed(json.loads(question().to_json()))


@pytest.mark.slow
@pytest.mark.parametrize("name", _QUESTIONS)
def test_a_wall_clock_that_leaps_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _answer(_QUESTIONS[name])
    for module in _CLOCKS:
        monkeypatch.setattr(f"{module}.time", WildClock(len(name)))
    assert _answer(_QUESTIONS[name]) == expected


def test_a_limit_that_is_not_reached_chooses_by_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def question() -> mv.Explanation:
        return mv.explain(_small(0, 24, 24), _x(0), epsilon=0.6, time_limit=1e6)

    expected = _answer(question)
    for module in _CLOCKS:
        monkeypatch.setattr(f"{module}.time", WildClock(1))
    assert _answer(question) == expected


def _spin(until: Any) -> None:
    while not until.is_set():
        sum(range(1000))


@contextmanager
def _load() -> Iterator[None]:
    """Keep every core busy several times over."""
    context = multiprocessing.get_context("spawn")
    until = context.Event()
    busy = [context.Process(target=_spin, args=(until,), daemon=True) for _ in range(6)]
    for one in busy:
        one.start()
    try:
        yield
    finally:
        until.set()
        for one in busy:
            one.join()


@pytest.mark.slow
def test_a_busy_machine_changes_nothing() -> None:
    names = ("explain, all engines", "minimum", "contrastive", "enumerate")
    expected = [_answer(_QUESTIONS[name]) for name in names]
    with _load():
        assert [_answer(_QUESTIONS[name]) for name in names] == expected


def test_the_work_done_before_a_question_changes_nothing() -> None:
    first = _answer(_QUESTIONS["minimum"])
    assert _answer(_QUESTIONS["minimum"]) == first


@pytest.mark.slow
def test_all_engines_decide_a_tie_within_their_slices() -> None:
    """A margin that is zero over an area is undecided by every engine, and none takes it all."""
    root = Path(__file__).parents[1] / "fixtures" / "tie"
    x, model = np.load(root / "tie.npy"), root / "tie.onnx"
    reading = worked()
    found = mv.explain(model, x, epsilon=1.0, label=2)
    alone = mv.explain(model, x, epsilon=1.0, label=2, solver="highs")
    assert found.explanation == alone.explanation
    assert found.unknown
    assert elapsed_work(reading) < 60
