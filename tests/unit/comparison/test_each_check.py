"""The record of each program: held against SciPy and the encoding."""

import csv
import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from typer.testing import CliRunner

from milp_verix import InputError, compare, encode_check
from milp_verix.base.errors import LicenceLimitError
from milp_verix.cli.app import app
from milp_verix.comparison.timed_solver import size_of
from milp_verix.oracle.oracle import Oracle
from milp_verix.results.comparison import ProgramSize
from milp_verix.results.comparison_files import EACH_COLUMNS, compared_checks
from milp_verix.solvers import SOLVERS, Session, SolveResult, Targets
from milp_verix.study.solver_study import _rows, times_of
from tests.support.digits_example import images, network
from tests.support.fake_session import FakeSession
from tests.support.installed_solvers import why_not
from tests.support.lying_solvers import Made, honest, register
from tests.support.random_networks import cube, dense_network, network_of, random_layers
from tests.support.scipy_reference import optimum, over
from verix_encodings import Program

COLUMNS_OF_SIZE = [one.name for one in fields(ProgramSize)]
X: Any = images()[15]
FREE = [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]


@pytest.fixture
def unattacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no attack decide a check before the solvers."""
    monkeypatch.setattr(Oracle, "attacked", lambda *_: {})


def _relaxed_optimum(program: Program, cost: NDArray[np.float64]) -> float:
    rows = program.matrix.toarray()
    above, below = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    found = linprog(
        cost,
        A_ub=np.vstack([rows[above], -rows[below]]),
        b_ub=np.concatenate([program.row_upper[above], -program.row_lower[below]]),
        bounds=np.column_stack([program.column_lower, program.column_upper]),
    )
    assert found.status == 0
    return float(found.fun)


@pytest.mark.usefixtures("unattacked")
@pytest.mark.parametrize("seed", range(8))
def test_records_agree_with_scipy_about_the_program(seed: int, tmp_path: Path) -> None:
    model = dense_network(random_layers(np.random.default_rng(seed), (6, 8, 6, 2)), tmp_path)
    x = np.random.default_rng(seed).uniform(size=6)
    solvers = [name for name in ("highs", "phase", "gurobi", "scip", "cbc") if not why_not(name)]
    options: dict[str, Any] = {"epsilon": 0.4, "bounds": "interval"}
    found = compare(model, x, solvers=solvers, checks=FREE, relaxations=True, **options)
    seen = 0
    for free, numbers in zip(FREE, range(len(FREE)), strict=True):
        encoding = encode_check(model, x, free, **options)
        program = encoding.program
        row, _ = encoding.output.row(0, program.columns)
        best, relaxed = optimum(program, -row)[0], _relaxed_optimum(program, -row)
        for run in found.runs:
            record = next((one for one in run.each if one.check == numbers), None)
            if record is None:
                assert numbers in {one.check for one in found.decided}
                continue
            assert record.answer is record.check_answer is run.answers[numbers]
            assert record.digest == program.without_tiny(found.options["dropped"]).digest(-row)
            seen += 1
            assert record.size == size_of(program)
            assert record.relaxation == pytest.approx(relaxed, abs=1e-7)
            assert record.bound is None or record.bound <= best + 1e-6
            assert record.incumbent is None or best - 1e-6 <= record.incumbent
            if record.root_bound is not None:
                assert record.root_bound <= best + 1e-6
                # a target may end the root node before its linear program is solved
                assert record.status != "optimal" or relaxed - 1e-6 <= record.root_bound
            assert record.solve_seconds + record.load_seconds <= record.seconds
            if record.first_seconds is not None and record.solves == 1:
                assert 0 <= record.first_seconds <= record.solve_seconds
    assert seen


@pytest.mark.usefixtures("unattacked")
def test_a_line_for_each_check_solver_and_formulation(tmp_path: Path) -> None:
    if (reason := why_not("pulp")) is not None:
        pytest.skip(reason)
    model = dense_network(random_layers(np.random.default_rng(3), (6, 8, 6, 3)), tmp_path)
    options: dict[str, Any] = {"epsilon": 0.3, "bounds": "interval", "relaxations": True}
    pairs = {"solvers": ["highs", "pulp"], "formulations": ["big_m", "partition:2"]}
    found = compare(model, np.full(6, 0.5), checks=FREE, **pairs, **options)
    text = found.each_to_csv(tmp_path / "each.csv")
    lines = list(csv.DictReader(text.splitlines()))
    ran = [(run.pair.solver, run.pair.formulation) for run in found.runs]
    assert len(ran) == 3
    ran += [(left.pair.solver, left.pair.formulation) for left in found.skipped]
    assert ran[3:] == [("pulp", "partition:2")]
    assert {line["reason"] for line in lines if line["status"] == "not run"} == {
        f"not run: {left.reason}" for left in found.skipped
    }
    keys = [(line["solver"], line["formulation"], line["check"], line["rival"]) for line in lines]
    asked = [key[2:] for key in keys[: found.programs]]
    assert keys == [(*pair, *one) for pair in ran for one in asked]
    digests: dict[tuple[str, ...], set[str]] = {}
    for line, key in zip(lines, keys, strict=True):
        digests.setdefault(key[1:], set()).add(line["digest"])
    assert all(len(one) == 1 for one in digests.values())
    assert len(digests) == 2 * found.programs
    assert tuple(lines[0]) == EACH_COLUMNS
    solved = [line for line in lines if line["solves"] != "0"]
    assert {line["solver"] for line in solved} == {"highs", "pulp"}
    for line in solved:
        told = line["solver"] == "highs"
        assert bool(line["nodes"]) is bool(line["iterations"]) is told
        assert float(line["relaxation"]) <= float(line["bound"] or math.inf) + 1e-6
    frame = found.each()
    assert list(frame.columns) == list(EACH_COLUMNS)
    assert frame["answer"].tolist() == [line["answer"] for line in lines]
    assert frame["solve_seconds"].tolist() == [float(line["solve_seconds"]) for line in lines]


class _Refusing(FakeSession):
    """A session that raises where it gets a program."""

    def load(self, program: Program) -> None:
        raise self.answering(program)  # type: ignore[call-arg, misc]


@pytest.mark.usefixtures("unattacked")
@pytest.mark.parametrize("warm", ["auto", "in_place"])
def test_programs_that_no_solver_took_are_told_as_those_that_one_did(
    warm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raising(Made):
        def open(self, **_options: object) -> Session:
            raised = {"small": LicenceLimitError, "broken": ZeroDivisionError}[self.name]
            able = frozenset({"in_place_bounds"})
            answer: Any = lambda *_: raised("too large")  # noqa: E731
            return _Refusing(answer, self.name, capabilities=able)

    for name in ("small", "broken"):
        monkeypatch.setitem(SOLVERS, name, Raising(name, honest))
    register(monkeypatch, "absent", honest, reason="pip install absent")
    register(monkeypatch, "missing", honest, reason="pip install missing")
    model = dense_network(random_layers(np.random.default_rng(3), (6, 8, 6, 3)), tmp_path)
    options: dict[str, Any] = {"epsilon": 0.3, "bounds": "interval", "warm": warm, "checks": FREE}
    options |= {"solvers": ["absent", "small", "broken", "highs", "leaves", "missing"]}
    options["relaxations"] = True
    found = compare(model, np.full(6, 0.5), **options)
    by = {name: rows.reset_index() for name, rows in found.each().groupby("solver")}
    same = ["check", "rival", "free", "digest", *COLUMNS_OF_SIZE, "relaxation"]
    for name, status, reason in (
        ("absent", "not run", "not run: solver 'absent': pip install absent"),
        ("missing", "not run", "not run: solver 'missing': pip install missing"),
        ("small", "not run", "not run: too large"),
        ("broken", "failed", "too large"),
    ):
        assert by[name][same].equals(by["highs"][same])
        assert set(by[name]["status"]) == {status}
        assert set(by[name]["reason"]) == {reason}
        assert set(by[name]["answer"]) == {"unknown"}
    assert by["highs"][same].notna().all(axis=None)
    record = json.loads(found.to_json())
    assert [row["digest"] for row in record["skipped"][0]["each"]] == [*by["highs"]["digest"]]
    # a study keeps these rows, and does not count them as asked
    kept = compared_checks(found)
    rows = _rows({"index": 0, "epsilon": 0.3, "settings": {}, "comparison": kept})
    assert len(rows) == 5 * found.programs
    asked = {one.pair.solver: one.attempted for one in times_of(rows).summary()}
    every = found.programs
    assert asked == {"highs": every, "broken": every, "small": 0, "absent": 0, "missing": 0}
    assert [(left.pair.solver, len(left.each)) for left in found.skipped] == [
        ("absent", every),
        ("leaves", 0),  # an engine that has no programs
        ("missing", every),
    ]


def test_a_solver_that_opens_once_alone_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Once(Made):
        def open(self, **options: object) -> Session:
            if len(self.opened) == 2:  # one to see whether it opens, one for what it drops
                raise OSError("no licence is left")
            return super().open(**options)

    monkeypatch.setitem(SOLVERS, "once", Once("once", honest))
    found = compare(network(), X, epsilon=0.2, solvers=["once", "highs"], most_checks=1)
    (left,) = found.skipped
    assert left.reason == "once does not open: no licence is left"
    assert [one.digest for one in left.each] == [one.digest for one in found.runs[0].each]


def test_the_command_writes_it(tmp_path: Path) -> None:
    dense_network(random_layers(np.random.default_rng(3), (6, 8, 6, 3)), tmp_path)
    (model,) = tmp_path.glob("*.onnx")
    np.save(tmp_path / "x.npy", np.full(6, 0.5))
    start = ["compare", str(model), str(tmp_path / "x.npy"), "--epsilon", "0.3"]
    start += ["--solvers", "highs,phase", "--each", str(tmp_path / "each.csv")]
    done = CliRunner().invoke(app, start)
    assert done.exit_code == 0, done.output
    lines = list(csv.DictReader((tmp_path / "each.csv").read_text().splitlines()))
    assert {line["solver"] for line in lines} == {"highs", "phase"}
    assert len({line["digest"] for line in lines}) == len(lines) / 2 > 0
    refused = CliRunner().invoke(app, [*start, "--task", "explain"])
    assert refused.exit_code == 2
    assert "--each needs --task check" in refused.output


def test_explanations_have_no_records_of_each(tmp_path: Path) -> None:
    model = dense_network(random_layers(np.random.default_rng(3), (3, 4, 2)), tmp_path)
    found = compare(model, np.full(3, 0.5), epsilon=0.1, task="explain", solvers=["phase"])
    with pytest.raises(InputError, match="records of each need task='check'"):
        found.each_to_csv()


@pytest.mark.usefixtures("unattacked")
def test_a_limit_holds_for_the_whole_comparison(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    allowed: dict[str, list[float]] = {"one": [], "two": []}
    for name, seconds in allowed.items():

        def answering(
            program: Program,
            cost: NDArray[np.float64],
            targets: Targets,
            seconds: list[float] = seconds,
        ) -> SolveResult:
            seconds.append(targets.seconds)
            return honest(program, cost, targets)

        register(monkeypatch, name, answering)
    model = dense_network(random_layers(np.random.default_rng(3), (6, 8, 6, 3)), tmp_path)
    options: dict[str, Any] = {"epsilon": 0.3, "bounds": "interval", "time_limit": 1000.0}
    found = compare(model, np.full(6, 0.5), checks=FREE, solvers=["one", "two"], **options)
    assert found.time_limit == pytest.approx(1000.0, abs=10)
    assert 0 < max(allowed["one"]) <= 500.0
    assert 500.0 < max(allowed["two"]) <= 1000.0
    assert set(allowed) <= set(SOLVERS)


def test_sizes_of_programs_are_counted() -> None:
    program = over(network_of(random_layers(np.random.default_rng(0), (3, 4, 2))), cube(3)).program
    size = size_of(program)
    entries = np.abs(program.matrix.toarray())
    assert (size.rows, size.columns) == entries.shape
    assert size.largest_coefficient == entries.max()
    assert size.least_coefficient == entries[entries > 0].min()
    assert size.largest_big_m == entries[:, program.integer].max()
    assert size.binaries == program.integer.sum()
