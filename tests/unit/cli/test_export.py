"""``milp-verix export`` writes the program that a check solves."""

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import highspy
import numpy as np
import pytest
from typer.testing import CliRunner

import milp_verix
from milp_verix.cli.app import app
from milp_verix.solvers.backends.cbc import binary as cbc_binary
from tests.support.installed_solvers import needs
from tests.support.random_networks import as_layers, dense_network, random_layers


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["export", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.fixture(name="given")
def given_(tmp_path: Path) -> list[object]:
    network = dense_network(random_layers(np.random.default_rng(4), (4, 6, 3)), tmp_path)
    np.save(tmp_path / "x.npy", np.full(4, 0.5))
    return [network.path, tmp_path / "x.npy", "--epsilon", 0.3]


def least(path: Path) -> float:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
@pytest.mark.parametrize("extra", [[], ["--formulation", "partition"], ["--free", "FILE"]])
def test_the_file_decides_the_check(
    suffix: str, extra: list[str], given: list[object], tmp_path: Path
) -> None:
    free = [0, 2] if extra == ["--free", "FILE"] else [0, 1, 2, 3]
    (tmp_path / "free.json").write_text(str(free))
    extra = [str(tmp_path / "free.json") if word == "FILE" else word for word in extra]
    network = milp_verix.load_network(str(given[0]))
    label = int(np.argmax(network.ir.evaluate(np.full(4, 0.5))))
    worst = []
    for rival in {0, 1, 2} - {label}:
        out = tmp_path / f"check{suffix}"
        code, text = run(*given, "--rival", rival, "--out", out, *extra)
        assert code == 0
        found = re.search(rf"f_{rival} - f_{label} = (\S+) - cost", text)
        assert found, text
        worst.append(float(found.group(1)) - least(out))
    verdict = milp_verix.check(network, np.full(4, 0.5), free, epsilon=0.3)
    assert verdict.holds == (max(worst) < 0)


def test_the_rival_is_the_runner_up_by_default(given: list[object], tmp_path: Path) -> None:
    network = milp_verix.load_network(str(given[0]))
    last, runner_up, label = np.argsort(network.ir.evaluate(np.full(4, 0.5)))
    code, text = run(*given, "--out", tmp_path / "check.lp")
    assert code == 0
    assert f"f_{runner_up} - f_{label} = " in text
    assert f"f_{last}" not in text


def test_the_margin_is_that_of_a_class_compared_with(given: list[object], tmp_path: Path) -> None:
    network = milp_verix.load_network(str(given[0]))
    *rivals, label = np.argsort(network.ir.evaluate(np.full(4, 0.5))).tolist()
    out = tmp_path / "check.lp"
    for rival, other in (rivals, rivals[::-1]):
        least_of = set()
        for extra in (["--against", rival], ["--rival", rival]):
            code, text = run(*given, "--out", out, *extra)
            assert (code, f"f_{rival} - f_{label} = " in text) == (0, True)
            least_of.add(round(least(out), 6))
        assert len(least_of) == 1
        code, text = run(*given, "--out", out, "--against", rival, "--rival", other)
        assert (code, "one of those --against" in text) == (2, True)


def test_a_regression_is_exported(tmp_path: Path) -> None:
    network = dense_network(as_layers(([[1, -1]], [0]), ([[2.0]], [1])), tmp_path)
    np.save(tmp_path / "x.npy", np.full(2, 0.5))
    out = tmp_path / "check.lp"
    code, text = run(
        *(network.path, tmp_path / "x.npy", "--epsilon", 0.25, "--delta", 0.4, "--out", out)
    )
    assert code == 0
    found = re.search(r"= (\S+) - cost", text)
    assert found
    # f goes from 1 to 1 + 2 · ½
    assert float(found.group(1)) - least(out) == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "OUT/check.txt"], r"\.lp or \.mps"),
        (["--out", "OUT/none/check.lp"], "cannot write"),
        (["--out", "OUT/check.lp", "--rival", "7"], "--rival is a class"),
        (["--out", "OUT/check.lp", "--free", "some"], "there is no feature 'some'"),
        (["--out", "OUT/check.lp", "--formulation", "big"], "unknown formulation"),
    ],
)
def test_what_cannot_be_written_is_refused(
    arguments: list[str], message: str, given: list[object], tmp_path: Path
) -> None:
    code, text = run(*given, *(word.replace("OUT", str(tmp_path)) for word in arguments))
    assert code == 2
    assert re.search(message, text)
    assert "Traceback" not in text


def test_programs_of_many_checks_are_read_back_by_all(tmp_path: Path) -> None:
    checks = tmp_path / "checks.json"
    checks.write_text(json.dumps({"schema": 1, "features": 64, "checks": [[*range(30)], [1, 9]]}))
    given = ("examples/digits.onnx", "examples/digits.npz:images[15]", "--epsilon", "0.2")
    folder = tmp_path / "programs"
    code, text = run(*given, "--checks", checks, "--rival", "all", "--out", folder)
    assert code == 0, text
    assert text == f"{folder}: 36 files, and manifest.csv\n"
    lines = list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))
    assert {line["file"] for line in lines} == {p.name for p in folder.glob("check*")}
    assert {(line["check"], line["rival"]) for line in lines} == {
        (check, str(rival)) for check in "01" for rival in range(10) if rival != 7
    }
    for line in lines:
        assert line["sha256"] == sha256((folder / line["file"]).read_bytes()).hexdigest()
    assert len({line["digest"] for line in lines}) == len(lines) / 2
    code, text = run(*given, "--checks", checks, "--rival", "3", "--out", tmp_path / "one")
    assert (code, len([*(tmp_path / "one").glob("check*-rival3.*")])) == (0, 4)
    for extra, said in (
        (("--rival", "7"), "the rival 7 is none of 0, 1, 2"),
        (("--rival", "x"), "--rival is the number of a class, or all, got 'x'"),
        (("--free", "1,2"), "--checks has the free features of each check"),
    ):
        code, text = run(*given, "--checks", checks, *extra, "--out", tmp_path / "none")
        assert code == 2
        assert said in text


READERS: dict[str, Callable[[Path], float]] = {}


class RefusedError(Exception):
    """A reader takes a file for no program."""


@contextmanager
def reading() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise RefusedError from error


def reader(read: Callable[[Path], float]) -> Callable[[Path], float]:
    READERS[read.__name__] = read
    return read


@reader
def gurobi(path: Path) -> float:
    gurobipy = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    with gurobipy.Env(params={"OutputFlag": 0}) as env:
        with reading():
            model = gurobipy.read(str(path), env)
        model.optimize()
        return float(model.ObjVal)


@reader
def highs(path: Path) -> float:
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    with reading():
        assert model.readModel(str(path)) != highspy.HighsStatus.kError
    model.run()
    return float(model.getInfo().objective_function_value)


@reader
def scip(path: Path) -> float:
    pyscipopt = pytest.importorskip("pyscipopt", reason="PySCIPOpt is not installed")
    model = pyscipopt.Model()
    model.hideOutput()
    with reading():
        model.readProblem(str(path))
    model.optimize()
    return float(model.getObjVal())


@reader
def cbc(path: Path) -> float:
    command = [str(cbc_binary()), str(path), "-ratio", "0", "-solve", "-quit"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    with reading():
        assert "errors on input" not in done.stdout
    return float(re.findall(r"Objective value:\s+(\S+)", done.stdout)[-1])


@reader
def glpk(path: Path) -> float:
    if (binary := shutil.which("glpsol")) is None:
        pytest.skip("glpsol is not installed")
    kind = "--lp" if path.suffix == ".lp" else "--freemps"
    found = path.with_suffix(".out")
    with reading():  # it has no other exit code
        subprocess.run(
            [binary, kind, path, "-o", found, "--mipgap", "0"], capture_output=True, check=True
        )
    return float(re.findall(r"Objective: .* = (\S+)", found.read_text())[-1])


@reader
def xpress(path: Path) -> float:
    package = pytest.importorskip("xpress", reason="xpress is not installed")
    model = package.problem()
    model.controls.outputlog = 0
    with reading():
        model.read(str(path))
    model.optimize()
    return float(model.attributes.objval)


@reader
def copt(path: Path) -> float:
    package = pytest.importorskip("coptpy", reason="coptpy is not installed")
    model = package.Envr().createModel("")
    model.setParam("Logging", 0)
    with reading():
        model.read(str(path))
    model.solve()
    return float(model.objval)


@reader
def cplex(path: Path) -> float:
    package = pytest.importorskip("cplex", reason="cplex is not installed")
    model = package.Cplex()
    for stream in (model.set_log_stream, model.set_results_stream, model.set_warning_stream):
        stream(None)
    with reading():
        model.read(str(path))
    model.solve()
    return float(model.solution.get_objective_value())


READ = {
    "big_m": {suffix: {*READERS} for suffix in (".lp", ".mps")},
    "partition:2": {suffix: {*READERS} for suffix in (".lp", ".mps")},
    "sos1": {
        ".lp": {"gurobi", "scip", "cbc", "xpress", "copt", "cplex"},
        ".mps": {"gurobi", "scip", "cbc", "xpress", "copt", "cplex"},
    },
    "indicator": {
        ".lp": {"gurobi", "scip", "xpress", "copt", "cplex"},
        ".mps": {"gurobi", "scip", "xpress", "copt", "cplex"},
    },
    "general": {".lp": {"gurobi", "xpress"}},
}
"""Who reads a formulation in a format, as ``docs/programs.md`` says."""

MISREAD = {("cbc", "indicator", ".lp"), ("cbc", "general", ".lp")}
"""Files that are taken for something else; whoever reads a file neither so nor so refuses it."""


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("formulation", READ)
def test_files_are_read_back_with_the_same_optimum(
    formulation: str, name: str, tmp_path: Path
) -> None:
    given = ("examples/digits.onnx", "examples/digits.npz:images[15]", "--epsilon", "0.2")
    (tmp_path / "free.json").write_text(json.dumps([*range(12, 40)]))
    given = (*given, "--free", tmp_path / "free.json", "--rival", "9")
    code, _ = run(*given, "--out", tmp_path / "reference.mps")
    assert code == 0
    expected = highs(tmp_path / "reference.mps")
    for suffix, readers in READ[formulation].items():
        path = tmp_path / f"check{suffix}"
        code, text = run(*given, "--formulation", formulation, "--out", path)
        assert code == 0, text
        if name in readers:
            assert READERS[name](path) == pytest.approx(expected, abs=1e-5)
        elif (name, formulation, suffix) not in MISREAD:
            with pytest.raises(RefusedError):
                READERS[name](path)


@needs("cbc")
@pytest.mark.parametrize("formulation", ["indicator", "general"])
def test_cbc_misreads_what_the_page_says(formulation: str, tmp_path: Path) -> None:
    path, free, found = tmp_path / "check.lp", tmp_path / "free.json", []
    free.write_text(json.dumps([*range(12, 40)]))
    given = ("examples/digits.onnx", "examples/digits.npz:images[15]", "--free", free)
    for name in ("big_m", f"{formulation}:plain"):
        run(*given, "--epsilon", "0.2", "--formulation", name, "--rival", "9", "--out", path)
        command = [str(cbc_binary()), str(path), "-ratio", "0", "-solve", "-quit"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found.append(re.findall(r"Objective value:\s+(\S+)|(?:is|says) (infeasible)", told))
    assert found[1]
    assert found[0] != found[1]
