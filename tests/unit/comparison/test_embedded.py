"""One optimisation over an embedded network, by all solvers of each library."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import Embedded, InputError, compare_embedded
from milp_verix.comparison.embedded_runs import EmbeddedComparison
from tests.support.embedding import drawn, in_gurobi, in_pulp, in_pyomo
from tests.support.installed_solvers import needs

HOSTS = [
    pytest.param(in_pyomo, id="pyomo", marks=needs("pyomo")),
    pytest.param(in_gurobi, id="gurobi", marks=needs("gurobi")),
    pytest.param(in_pulp, id="pulp"),
]


@pytest.mark.parametrize("build_task", HOSTS)
@pytest.mark.parametrize("seed", range(10))
def test_solvers_and_formulations_agree_with_brute_force(
    build_task: Callable[..., Any], seed: int
) -> None:
    task = drawn(seed)
    formulations = ["big_m", "partition:2", "sos1", "indicator", "general"]
    found = compare_embedded(
        lambda **options: build_task(task, **options)[1], formulations=formulations
    )
    assert found.agree
    assert found.replayed
    optimal = [run for run in found.runs if run.optimal]
    assert len(optimal) >= 2
    for run in optimal:
        assert run.objective == pytest.approx(task.least, abs=2e-5)
    assert {run.formulation for run in found.runs} == {*formulations}
    refused = [run.status for run in found.runs if run.solver == "–"]
    assert len(refused) == {in_pyomo: 2, in_gurobi: 0, in_pulp: 3}[build_task]


def test_what_disagrees_is_seen() -> None:
    task = drawn(0)
    found = compare_embedded(
        lambda **options: in_pulp(task, **options)[1], ["cbc"], bounds=["crown", "alpha"]
    )
    assert [run.bounds for run in found.runs] == ["crown", "alpha"]
    assert found.agree
    first, second = found.runs
    assert first.objective is not None
    wrong = type(first)(**{**_fields(first), "objective": first.objective + 0.5})
    assert not EmbeddedComparison((wrong, second), found.tolerance).agree
    off = type(first)(**{**_fields(first), "difference": 0.5})
    assert not EmbeddedComparison((off, second), found.tolerance).replayed
    late = type(first)(**{**_fields(wrong), "optimal": False})
    assert EmbeddedComparison((late, second), found.tolerance).agree


def _fields(run: milp_verix.EmbeddedRun) -> dict[str, Any]:
    return {name: getattr(run, name) for name in run.__slots__}


def test_a_solver_that_fails_is_listed_with_the_reason() -> None:
    task = drawn(0)
    found = compare_embedded(lambda **options: in_pulp(task, **options)[1], ["no such", "cbc"])
    assert found.runs[0].objective is None
    assert "no such" in found.runs[0].status
    assert found.runs[1].optimal
    assert "no such" in str(found).splitlines()[1]
    assert str(found).splitlines()[0].split()[:2] == ["solver", "formulation"]


def test_two_networks_in_one_model() -> None:
    pyo = pytest.importorskip("pyomo.environ")

    def build(**options: Any) -> list[Embedded]:
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(4), bounds=(0, 1))
        both = [milp_verix.embed(model, drawn(k).network, model.x, **options) for k in (0, 1)]
        model.goal = pyo.Objective(expr=both[0].outputs[0] - both[1].outputs[0])
        return both

    found = compare_embedded(build, ["highs"])
    (run,) = found.runs
    assert run.optimal
    assert found.replayed
    rng = np.random.default_rng(0)
    seen = [
        np.subtract(*(drawn(k).network.ir.evaluate(x)[0] for k in (0, 1)))
        for x in rng.random((300, 4))
    ]
    assert run.objective is not None
    assert run.objective <= min(seen) + 1e-6


def test_refusals() -> None:
    task = drawn(0)
    with pytest.raises(InputError, match="build must return what embed returns"):
        compare_embedded(lambda **_: 3)  # type: ignore[arg-type, return-value]
    one = compare_embedded(lambda **o: in_pulp(task, **o)[1], "highs", formulations="big_m")
    assert [(run.solver, run.formulation) for run in one.runs] == [("highs", "big_m")]
    with pytest.raises(InputError, match="unknown formulation"):
        compare_embedded(lambda **options: in_pulp(task, **options)[1], formulations=["x"])
    with pytest.raises(InputError, match="time_limit must be positive"):
        compare_embedded(lambda **options: in_pulp(task, **options)[1], time_limit=-1)
