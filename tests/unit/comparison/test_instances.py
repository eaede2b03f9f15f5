"""A library of instances: files that others read, proofs by two solvers, the same on each run."""

import csv
import gzip
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from typer.testing import CliRunner

from milp_verix import InputError
from milp_verix.cli.app import app
from milp_verix.comparison import instances, proofs
from milp_verix.comparison.generated_models import KINDS, generated
from milp_verix.comparison.instance_sources import CATALOGUE, SIZES, Source
from milp_verix.comparison.instances import make_library
from milp_verix.comparison.proofs import SolverProof
from tests.support.installed_solvers import needs
from tests.support.program_readers import by_cbc, by_gurobi, by_highs

FEW = tuple(
    replace(source, formulations=source.formulations[1:2])
    for source in CATALOGUE
    if source.size == "small" and source.kind in ("digits", "forest", "boosted")
)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "CATALOGUE", FEW)


def manifest(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))


def bytes_in(folder: Path) -> dict[str, str]:
    kept = [p for p in folder.rglob("*") if p.suffix in (".gz", ".onnx", ".npy", ".json")]
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in kept}


READERS = [
    pytest.param(by_highs, "big_m", id="highs"),
    pytest.param(by_cbc, "sos1", id="cbc", marks=needs("cbc")),
    pytest.param(by_gurobi, "sos1", id="gurobi", marks=needs("gurobi")),
]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("read", "formulation"), READERS)
def test_optima_are_those_that_readers_find(read: Any, formulation: str, tmp_path: Path) -> None:
    found = make_library(tmp_path, ["small"], 20.0)
    assert len(found.instances) == len(manifest(tmp_path)) == 7
    solu = dict(re.findall(r"=opt= (\S+) (\S+)", (tmp_path / "milp-verix.solu").read_text()))
    for line in manifest(tmp_path):
        content = (tmp_path / line["file"]).read_bytes()
        assert sha256(content).hexdigest() == line["sha256"]
        if line["formulation"] not in ("big_m", formulation):
            continue
        plain = tmp_path / f"{line['name']}.mps"
        plain.write_bytes(gzip.decompress(content))
        best = read(plain)
        assert best == pytest.approx(float(line["best"]), abs=1e-5)
        if line["optimum"]:
            assert best == pytest.approx(float(solu[line["name"]]), abs=1e-5)
            assert line["proved_by"].count(" in ") == 2
    assert (tmp_path / "README.md").read_text().count("7 instances")


@pytest.mark.usefixtures("few")
def test_a_second_run_writes_the_same(tmp_path: Path) -> None:
    make_library(tmp_path / "a", ["small"], 0.0)
    make_library(tmp_path / "b", ["small"], 0.0)
    assert bytes_in(tmp_path / "a") == bytes_in(tmp_path / "b")
    assert "=unkn= digits-small-0-sos1\n" in (tmp_path / "a" / "milp-verix.solu").read_text()


def test_the_command_of_the_readme_writes_the_same_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dense = [one for one in CATALOGUE if (one.size, one.kind) == ("small", "dense")]
    monkeypatch.setattr(instances, "CATALOGUE", [one for one in dense if one.norm == "linf"])
    make_library(tmp_path, ["small"], 0.0)
    (command,) = re.findall("    milp-verix (.+)", (tmp_path / "README.md").read_text())
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    written = {line["digest"] for line in manifest(tmp_path / "programs")}
    mine = {line["digest"] for line in manifest(tmp_path) if line["formulation"] == "big_m"}
    assert len(mine) == 2
    assert mine <= written


@pytest.mark.usefixtures("few")
def test_an_interrupted_library_goes_on(tmp_path: Path) -> None:
    made: list[str] = []

    def interrupt(name: str) -> None:
        made.append(name)
        if len(made) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_library(tmp_path, ["small"], 20.0, interrupt)
    assert [line["name"] for line in manifest(tmp_path)] == sorted(made[:2])
    again: list[str] = []
    whole = make_library(tmp_path, ["small"], 20.0, again.append)
    assert again[0] == made[2]
    assert len(again) == 5
    # nothing is left to do, unless a file is another one than the manifest says
    assert make_library(tmp_path, ["small"], 20.0, pytest.fail) == whole
    (tmp_path / whole.instances[4].file).write_bytes(b"")
    (tmp_path / whole.instances[5].file).unlink()
    again.clear()
    make_library(tmp_path, ["small"], 0.0, again.append)
    assert again == [one.name for one in whole.instances[4:6]]


@pytest.mark.usefixtures("few")
def test_one_solver_alone_verifies_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "PROVERS", ("highs",))
    found = make_library(tmp_path, ["small"], 20.0)
    for one in found.instances:
        assert one.optimum is None
        proven = "sos1" not in one.name  # which HiGHS does not take
        assert bool(re.fullmatch(r"highs \S+ in \S+ s", one.proved_by)) is proven
        assert (one.hardness == "open") is not proven
    text = (tmp_path / "milp-verix.solu").read_text()
    assert "=opt=" not in text
    assert "=best= boosted-small-0-big_m" in text
    assert "=bestdual= boosted-small-0-big_m" in text


@pytest.mark.usefixtures("few")
def test_solvers_that_contradict_each_other_end_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = proofs._proof_by

    def lying(name: str, *given: Any) -> SolverProof:
        proof = honest("highs", *given)
        shift = 0.1 if name == "liar" else 0.0
        assert proof.value is not None
        return replace(proof, solver=name, bound=proof.bound + shift, value=proof.value + shift)

    monkeypatch.setattr(proofs, "_proof_by", lying)
    monkeypatch.setitem(proofs.SOLVERS.data, "liar", proofs.SOLVERS["highs"])
    monkeypatch.setattr(instances, "PROVERS", ("highs", "liar"))
    result = CliRunner().invoke(app, ["instances", str(tmp_path), "--sizes", "small"])
    assert result.exit_code == 4
    assert "error: solvers contradict each other on forest-small-1-big_m" in result.output
    assert {line["hardness"] for line in manifest(tmp_path) if "sos1" not in line["name"]} == {
        "disputed"
    }
    assert "=opt=" not in (tmp_path / "milp-verix.solu").read_text()


def test_points_outside_of_the_program_count_for_nothing() -> None:
    source = Source("dense", "small", 0.1, (4,))
    problem = source.problem(source.made())
    for formulation in ("big_m", "sos1", "indicator"):
        search = instances.Search(formulation=formulation)
        program = instances.encode_problem(problem, search=search).program
        cost = np.ones(program.columns)
        if not program.needs <= proofs.SOLVERS["highs"].capabilities:
            pytest.importorskip("gurobipy")
        name = "highs" if formulation == "big_m" else "gurobi"
        session = proofs.SOLVERS[name].open(threads=1, tolerances=proofs.Tolerances())
        session.load(program)
        point = session.minimise(cost, proofs.Targets()).point
        session.close()
        assert point is not None
        assert proofs._feasible(program, point)
        assert not proofs._feasible(program, point + 0.01)
        if formulation == "sos1":
            worse = point.copy()
            worse[program.sos1[0].columns] = 0.3
            assert not proofs._feasible(replace(program, row_lower=program.row_lower - 9), worse)


@pytest.mark.parametrize("kind", KINDS)
def test_generated_models_know_their_patterns(kind: str) -> None:
    widths = (20, 5) if kind in ("forest", "boosted") else (16, 16)
    made = generated(kind, widths, 3)
    assert made.model == generated(kind, widths, 3).model
    session = onnxruntime.InferenceSession(made.model, providers=["CPUExecutionProvider"])
    scores = session.run([session.get_outputs()[-1].name], {"x": made.inputs})[0]
    labels = np.arange(len(made.inputs)) % 10
    if kind == "boosted":
        assert np.mean((scores[:, 0] - labels / 10) ** 2) < 0.03
    else:
        assert np.mean(scores.argmax(axis=1) == labels) > 0.7


def test_each_size_has_networks_and_trees() -> None:
    for size in SIZES:
        kinds = {source.kind for source in CATALOGUE if source.size == size}
        assert kinds >= set(KINDS)
    assert len({source.name for source in CATALOGUE}) == len(CATALOGUE)


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="size"):
        make_library(tmp_path, ["tiny"])
    for sizes, limit in (([], 1.0), (["small"], -1.0), (["small"], np.nan), (["small"], np.inf)):
        with pytest.raises(InputError, match="number of seconds from 0 on"):
            make_library(tmp_path, sizes, limit)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot make the folder"):
        make_library(tmp_path / "file", ["small"])
    (tmp_path / "manifest.csv").write_text("name,age\nx,3\n")
    with pytest.raises(InputError, match="is no manifest of a library"):
        make_library(tmp_path, ["small"])
    result = CliRunner().invoke(app, ["instances", str(tmp_path), "--sizes", "smal"])
    assert result.exit_code == 2
    assert "did you mean 'small'" in result.output


@pytest.mark.usefixtures("few")
def test_without_a_checkout_shipped_models_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "SHIPPED", tmp_path / "none")
    given = ["instances", str(tmp_path / "lib"), "--sizes", "small", "--time-limit", "0"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0
    assert "4 instances, 4 open; the optima of 0 are proven by two solvers" in result.output
    assert "shipped models are left out" in result.output
