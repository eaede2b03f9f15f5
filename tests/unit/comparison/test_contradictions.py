"""A solver that lies is found out, and its check written for others to see."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pytest

import milp_verix
from milp_verix import Answer, Comparison, Problem, Verdict, compare
from milp_verix.comparison.contradictions import contradictions
from milp_verix.oracle.oracle import Oracle
from milp_verix.problem.search import USUAL
from milp_verix.results.comparison import Pair, Run, SolverTime
from milp_verix.views.text_tables import remarks
from tests.support.digits_example import images, network
from tests.support.lying_solvers import all_holds, register
from tests.support.random_networks import as_layers, dense_network, random_layers

X: Any = images()[15]
CHECKS = [list(range(count)) for count in range(8, 65, 8)]


def least(path: Path) -> float:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("small_matrix_value", 1e-12)
    # it warns of the network's denormal weights
    assert highs.readModel(str(path)) != highspy.HighsStatus.kError
    highs.run()
    return float(highs.getInfo().objective_function_value)


def assert_reproduced(found: Comparison, folder: Path, x: Any, model: Any, **options: Any) -> None:
    """Assert that the files show, to a solver that has no part in it, that the liar lied."""
    assert found.disagreements
    paths = found.write_disagreements(folder)
    assert [path.name for path in paths] == [
        f"disagreement-{i + 1}.lp" for i in range(len(found.disagreements))
    ]
    for path, what in zip(paths, found.disagreements, strict=True):
        assert (what.holding.solver, what.violated.solver) == ("liar", "highs")
        most = float(what.encoding.output.constant[what.index]) - least(path)
        assert most >= what.margin - 1e-6
        assert what.margin > 0
        moved = np.flatnonzero(what.witness.reshape(-1) != np.asarray(x).reshape(-1))
        assert set(moved.tolist()) <= set(what.free)
        assert "liar" in str(what)
        assert "highs" in str(what)
        assert milp_verix.check(model, x, what.free, **options).violated


@pytest.mark.slow
@pytest.mark.parametrize("checks", [None, CHECKS])
@pytest.mark.parametrize("solvers", [("liar", "highs"), ("highs", "liar")])
def test_a_liar_is_found_out(
    checks: Any, solvers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    liar = register(monkeypatch, "liar", all_holds)
    monkeypatch.setattr(Oracle, "attacked", lambda *_: {})  # an attack decides before it can lie
    options: dict[str, Any] = {"epsilon": 0.1, "bounds": "interval"}
    asked: dict[str, Any] = {"checks": checks} if checks else {"task": "explain"}
    # what is known from earlier checks would catch most of its lies
    found = compare(network(), X, solvers=solvers, reuse=False, **asked, **options)
    assert liar.opened
    assert not found.agree
    assert_reproduced(found, tmp_path, X, network(), **options)


def test_a_liar_about_a_regression_with_groups(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, "liar", all_holds)
    model = dense_network(random_layers(np.random.default_rng(5), (6, 6, 2)), tmp_path)
    options: dict[str, Any] = {"epsilon": 0.6, "delta": 0.4, "bounds": "interval"}
    x = np.full(6, 0.5)
    found = compare(model, x, solvers=["highs", "liar"], task="explain", reuse=False, **options)
    assert_reproduced(found, tmp_path, x, model, **options)


def run(name: str, verdicts: list[Verdict]) -> Run:
    answers = tuple(verdict.answer for verdict in verdicts)
    pair = Pair(name, "big_m")
    return Run(pair, "1", answers, len(answers), 0, 0, 0, 1.0, SolverTime(), verdicts=verdicts)  # type: ignore[arg-type]


def ramp(tmp_path: Path) -> tuple[Any, Any]:
    """Return class 0 at (x₀ − ½) + 2 (x₁ − ½) < 0.1, and the middle."""
    model = dense_network(as_layers(([[0, 0], [1, 2]], [0.1, -1.5])), tmp_path)
    return model, np.array([0.5, 0.5])


def test_what_refutes_what(tmp_path: Path) -> None:
    model, x = ramp(tmp_path)
    problem = Problem(model, x, epsilon=0.2)
    assert problem.question.prediction == 0

    def at(*point: float) -> Verdict:
        witness = np.array([point], dtype=model.dtype)
        return Verdict(Answer.VIOLATED, witness=witness, prediction=1)

    holds, unknown = Verdict(Answer.HOLDS, bound=-1.0), Verdict(Answer.UNKNOWN, reason="?")
    both, first, second = [0, 1], [0], [1]

    def between(checks: list[list[int]], one: list[Verdict], other: list[Verdict]) -> list[Any]:
        runs = [run("one", one), run("other", other)]
        found = contradictions(problem, runs, checks, USUAL)
        return [(what.holding.solver, what.violated.solver, what.free) for what in found]

    # the same check, and one that is larger than what the point moves
    assert between([second], [holds], [at(0.5, 0.7)]) == [("one", "other", (1,))]
    assert between([both], [at(0.5, 0.7)], [holds]) == [("other", "one", (0, 1))]
    assert between([second, both], [unknown, holds], [at(0.5, 0.7), unknown]) == [
        ("one", "other", (0, 1))
    ]
    # of two the smaller
    assert between([both, second], [holds, holds], [at(0.5, 0.7), unknown]) == [
        ("one", "other", (1,))
    ]
    # a run that contradicts itself
    assert between([second, both], [at(0.5, 0.7), holds], [unknown, unknown]) == [
        ("one", "one", (0, 1))
    ]
    # a point outside of what is claimed, and unknowns, refute nothing
    assert between([first, both], [holds, unknown], [unknown, at(0.5, 0.7)]) == []
    assert between([both], [unknown], [at(0.5, 0.7)]) == []
    # a margin of zero or below in real arithmetic is rounding
    assert between([both], [holds], [at(0.5, 0.54)]) == []
    assert between([both], [holds], [at(0.5, 0.5)]) == []


def test_the_shortest_refuted_prefix_as_by_sets(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ones = [[0] * 6, [1] * 6]
    model = dense_network(as_layers((ones, [0.1, -3.0])), tmp_path)
    problem = Problem(model, np.full(6, 0.5), epsilon=0.2)
    refuted = 0
    for _ in range(60):
        freed = rng.permutation(6)[: rng.integers(7)].tolist()
        moves = [rng.permutation(6)[: rng.integers(1, 7)].tolist() for _ in range(3)]
        points = []
        for number, free in enumerate(moves):
            point = np.full(6, 0.5, dtype=model.dtype)
            # every third is no counterfactual in real arithmetic
            point[free] += 0.15 if number else -0.15
            points.append(point.reshape(1, -1))
        explanation = SimpleNamespace(
            irrelevant=tuple(sorted(freed)),
            permutation=(*freed, *(set(range(6)) - set(freed))),
            counterfactuals={i: SimpleNamespace(input=p) for i, p in enumerate(points)},
        )
        alone = replace(run("one", []), explanation=explanation)  # type: ignore[arg-type]
        found = contradictions(problem, [alone], (), USUAL)
        prefixes = [freed[:count] for count in range(1, len(freed) + 1)]
        expected = [p for p in prefixes if any(set(m) <= set(p) for m in moves[1:])]
        assert [list(what.free) for what in found] == expected[:1]
        refuted += len(found)
    assert 0 < refuted < 60


def test_no_margin_is_computed_where_no_claim_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(network(), X, epsilon=0.1, task="explain", solvers=["phase", "highs"])
    assert found.runs[0].explanation is not None
    assert found.runs[0].explanation.counterfactuals
    monkeypatch.setattr("milp_verix.comparison.contradictions.interval_bounds", None)
    problem = Problem(network(), X, epsilon=0.1)
    assert contradictions(problem, found.runs, (), USUAL) == ()


def test_runs_that_differ_without_a_contradiction_are_remarked(tmp_path: Path) -> None:
    model, x = ramp(tmp_path)
    found = compare(model, x, epsilon=0.2, checks=[[0, 1]], solvers=["highs"])
    rounding = Verdict(Answer.VIOLATED, witness=np.full((1, 2), 0.5, model.dtype), prediction=1)
    holds = Verdict(Answer.HOLDS, bound=-1.0)
    one, other = run("one", [holds]), run("other", [rounding])
    assert not any("differ" in line for line in remarks(replace(found, runs=(one, one))))
    assert any("differ" in line for line in remarks(replace(found, runs=(one, other))))
    noted = replace(one, notes=("about all",)), replace(other, notes=("about all", "about one"))
    told = remarks(replace(found, runs=noted))
    assert told[-2:] == [f"{other.pair}: about one", "about all"]
    assert remarks(replace(found, runs=noted[:1]))[-1] == f"{one.pair}: about all"
