"""Minima and contrasts of several solvers: the same costs, traces that close in, conflicts told."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from milp_verix import (
    InputError,
    Inputs,
    SearchLimits,
    compare,
    contrastive,
    integer,
    minimum,
    write_report,
)
from milp_verix.cli.app import app
from milp_verix.comparison.timed_solver import SolverClock, TimedSolver
from milp_verix.views.result_words import facts_of
from tests.support.installed_solvers import why_not
from tests.support.random_networks import dense_network, random_layers

X: Any = np.full(6, 0.5)


def _model(folder: Path, seed: int = 5) -> Any:
    return dense_network(random_layers(np.random.default_rng(seed), (6, 9, 7, 3)), folder)


def _installed(*names: str) -> list[str]:
    return [name for name in names if why_not(name) is None]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_every_solver_finds_the_same_minimum(seed: int, tmp_path: Path) -> None:
    model = _model(tmp_path, seed)
    solvers = _installed("highs", "gurobi", "scip", "phase")
    found = compare(model, X, epsilon=0.3, task="minimum", solvers=solvers)
    expected = minimum(model, X, epsilon=0.3)
    assert found.agree
    for run in found.runs:
        assert run.master == "program"
        assert run.cost == run.bound == expected.cost
        seconds, best, bound = zip(*run.trace, strict=True)
        assert list(seconds) == sorted(seconds)
        assert list(best) == sorted(best, reverse=True)
        assert list(bound) == sorted(bound)
        assert (best[-1], bound[-1]) == (run.cost, run.bound)


@pytest.mark.slow
def test_the_programs_of_the_master_are_timed(tmp_path: Path) -> None:
    clock = SolverClock()
    solver: Any = TimedSolver("highs", clock)
    plain = SearchLimits(without=frozenset({"budget bound", "contrast cover"}))
    options: dict[str, Any] = {"epsilon": 0.3, "master": "program", "limits": plain}
    found = minimum(_model(tmp_path), X, solver=solver, **options)
    assert found.statistics.search is not None
    programs = found.statistics.search.programs
    assert programs > 0
    assert clock.time.solves == found.statistics.solves + programs


@pytest.mark.slow
def test_the_master_is_chosen_by_a_word_and_named(tmp_path: Path) -> None:
    model = _model(tmp_path)
    for master in ("tree", "program"):
        found = compare(model, X, epsilon=0.3, task="minimum", solvers=["highs"], master=master)
        assert [run.master for run in found.runs] == [master]
        (line,) = csv.DictReader(found.to_csv().splitlines())
        assert line["master"] == master
        assert master in str(list(found.table().columns[4].cells))
        alone = minimum(model, X, epsilon=0.3, solver="highs", master=master)
        told = dict(facts_of(alone))["master"]
        assert told.startswith("our own branch" if master == "tree" else "mixed-integer programs")
    with pytest.raises(InputError, match="unknown master 'hot'"):
        compare(model, X, epsilon=0.3, task="minimum", solvers=["highs"], master="hot")


@pytest.mark.slow
def test_every_solver_finds_a_smallest_contrast(tmp_path: Path) -> None:
    model = _model(tmp_path)
    solvers = _installed("highs", "gurobi", "scip")
    found = compare(model, X, epsilon=0.3, task="contrastive", solvers=solvers)
    expected = contrastive(model, X, epsilon=0.3)
    for run in found.runs:
        assert run.cost == run.bound == expected.cost
    sure = compare(model, X, epsilon=1e-6, task="contrastive", solvers=["highs"])
    assert sure.runs[0].cost == np.inf
    (line,) = csv.DictReader(sure.to_csv().splitlines())
    assert line["cost"] == ""


@pytest.mark.slow
def test_a_bound_above_a_result_is_a_disagreement(tmp_path: Path) -> None:
    found = compare(_model(tmp_path), X, epsilon=0.3, task="minimum", solvers=["highs", "phase"])
    one, other = found.runs
    assert other.cost is not None
    wrong = replace(found, runs=(replace(one, bound=other.cost + 1), other))
    assert not wrong.agree
    assert "proves that no result costs less than" in wrong.conflicts[0]
    assert json.loads(wrong.to_json())["conflicts"] == list(wrong.conflicts)


@pytest.mark.slow
def test_traces_are_drawn_written_and_printed(tmp_path: Path) -> None:
    model = _model(tmp_path)
    solvers = _installed("highs", "gurobi", "scip")
    found = compare(model, X, epsilon=0.3, task="minimum", solvers=solvers)
    (axes,) = found.plot(tmp_path / "gap.png").axes
    assert len(axes.lines) == 2 * len(solvers)
    data = json.loads(found.to_json(tmp_path / "found.json"))
    assert [len(run["trace"]) for run in data["runs"]] == [len(run.trace) for run in found.runs]
    assert "program" in write_report(tmp_path / "found.json")
    (path,) = tmp_path.glob("*.onnx")
    np.save(tmp_path / "x.npy", X)
    done = CliRunner().invoke(app, ["minimum", str(path), str(tmp_path / "x.npy"), "--epsilon=0.3"])
    assert done.exit_code == 0, done.output
    head = done.output.index("seconds     best    bound")
    lines = [line.split() for line in done.output[head:].splitlines()[1:]]
    cost = minimum(model, X, epsilon=0.3).cost
    assert [float(number) for number in lines[-1][1:]] == [cost, cost]
    asked = ["compare", str(path), str(tmp_path / "x.npy"), "--epsilon=0.3", "--solvers=highs"]
    done = CliRunner().invoke(app, [*asked, "--task", "minimum", "--master", "tree"])
    assert done.exit_code == 0, done.output
    assert "tree" in done.output


@pytest.mark.parametrize("kind", ["tree", "whole numbers"])
def test_the_default_master_is_the_one_that_answers(kind: str, tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    rows = np.random.default_rng(0).integers(0, 9, (60, 3)).astype(float)
    if kind == "tree":
        model: Any = DecisionTreeClassifier(max_depth=3).fit(rows, rows.sum(axis=1) > 12)
        asked: dict[str, Any] = {"domain": (0, 9)}
    else:
        model = _model(tmp_path)
        asked = {"inputs": Inputs([integer(f"n{i}", 0, 3) for i in range(X.size)])}
    x = rows[0] if kind == "tree" else np.ones_like(X)
    found = compare(model, x, epsilon=3, task="minimum", solvers=["highs"], **asked)
    (run,) = found.runs
    assert run.master == "hitting sets"
    assert run.cost == run.bound == minimum(model, x, epsilon=3, **asked).cost
    with pytest.raises(InputError, match="the master there is 'auto'"):
        compare(model, x, epsilon=3, task="minimum", solvers=["highs"], master="program", **asked)
