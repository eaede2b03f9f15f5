"""The engines of ``auto``: which of them is asked about a claim, and first."""

from typing import Any

import pytest

from milp_verix import explain
from milp_verix.oracle.engines import programs as reopening
from milp_verix.solvers import Session, open_session
from tests.support.digits_example import images, network


@pytest.mark.parametrize(
    ("norm", "epsilon", "first"),
    [("linf", 0.1, "phase"), ("l1", 0.8, "beta"), ("l2", 0.35, "beta")],
)
def test_the_first_engine_suits_the_norm(norm: str, epsilon: float, first: str) -> None:
    found = explain(network(), images()[16], epsilon=epsilon, norm=norm)
    assert found.minimal
    assert found.statistics.solvers[0].solver == first
    assert found.statistics.solvers[0].checks > 0


def test_phases_are_bounded_in_batches_however_few_are_open() -> None:
    # in a short slice no engine decides, so that all of them are asked
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("milp_verix.oracle.engines.portfolio._FIRST_SLICE", 1e-6)
        found = explain(network(), images()[16], epsilon=0.1)
    assert "beta" in {one.solver for one in found.statistics.solvers}


def test_a_solver_of_the_portfolio_has_the_threads_of_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[tuple[Any, int]] = []

    def opening(solver: Any, *, threads: int, **options: Any) -> Session:
        opened.append((getattr(solver, "name", solver), threads))
        return open_session(solver, threads=threads, **options)

    monkeypatch.setattr(reopening, "open_session", opening)
    # in a short slice no engine decides, so that all of them are asked
    monkeypatch.setattr("milp_verix.oracle.engines.portfolio._FIRST_SLICE", 1e-6)
    alone = explain(network(), images()[16], epsilon=0.1)
    assert {threads for _, threads in opened} == {1}
    opened.clear()
    found = explain(network(), images()[16], epsilon=0.1, threads=2)
    assert {threads for _, threads in opened} == {2}
    assert len(opened) > 1
    assert found.explanation == alone.explanation
