"""The checker as a stranger meets it: two short files, an exit code, and a reason."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import verix_checker
from milp_verix.api.calls import explain, minimum
from milp_verix.base.errors import InputError
from milp_verix.cli.delivery import certified as with_certificate
from milp_verix.models.onnx.onnx_network import load_network
from tests.support import digits_example
from tests.support.certificates import certified, changed, checked
from tests.support.command_line import run
from tests.support.onnx_models import DOUBLE, FLOAT, build, loaded, node, weights
from tests.support.random_networks import convolutional, pooled, residual
from tests.support.repository import ROOT

CHECKER = ROOT / "checker"


def run_checker(
    *arguments: object, folder: Path = CHECKER, options: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    script = str(folder / "verix_check.py")
    return subprocess.run(
        [sys.executable, *options, script, *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_checker_is_short_and_imports_onnx_and_modules_that_are_to_be_read_later() -> None:
    items = re.findall(r"^\d+\. ([^:]+):", verix_checker.__doc__ or "", re.MULTILINE)
    order = ["verix_check", "__init__", *re.findall(r"\w+", " ".join(items))]
    files = {file.stem: file for file in CHECKER.rglob("*.py")}
    assert sorted(order) == sorted(files)
    for place, name in enumerate(order):
        text = files[name].read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 200
        taken = set()
        for part in ast.walk(ast.parse(text)):
            if isinstance(part, ast.Import):
                taken |= {one.name for one in part.names}
            elif isinstance(part, ast.ImportFrom):
                taken |= {f"{part.module}.{one.name}" for one in part.names}
            assert not isinstance(part, ast.Constant) or not isinstance(part.value, float)
            assert not isinstance(part, ast.Assert)  # python -O leaves them out
        own = {module.split(".")[1] for module in taken if module.startswith("verix_checker.")}
        assert own <= {*order[place + 1 :]}
        others = {module.partition(".")[0] for module in taken} - {"verix_checker"}
        assert others <= {*sys.stdlib_module_names, "onnx"}


@pytest.mark.slow
def test_a_copy_of_its_folder_needs_nothing_else_of_the_project(tmp_path: Path) -> None:
    _, _, data = certified(1, tmp_path)
    (tmp_path / "proof.json").write_text(json.dumps(data), encoding="utf-8")
    copy = shutil.copytree(CHECKER, tmp_path / "copy")
    # without the .pth files of an editable install
    packages = {"PYTHONPATH": sysconfig.get_path("purelib")}
    files = (tmp_path / "model.onnx", tmp_path / "proof.json")
    done = run_checker(*files, folder=copy, options=["-S", "-X", "importtime"], **packages)
    assert done.returncode == 0, done.stderr
    assert "verix_checker.claim" in done.stderr
    assert "milp_verix" not in done.stderr
    assert "verix_encodings" not in done.stderr


def test_it_says_what_it_verified_line_by_line(tmp_path: Path) -> None:
    _, _, data = certified(1, tmp_path)
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(data), encoding="utf-8")
    done = run_checker(tmp_path / "model.onnx", proof)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert sum("a margin holds" in line for line in lines) == 2
    assert sum("needed" in line for line in lines[:-1]) == len(data["points"]) == 3
    assert lines[-1].startswith("VERIFIED: 3 features keep the prediction")


@pytest.mark.slow
def test_files_that_cannot_be_read_have_their_own_exit_code(tmp_path: Path) -> None:
    _, _, data = certified(1, tmp_path)
    proof, other = tmp_path / "proof.json", tmp_path / "other.onnx"
    other.write_bytes(b"no network")
    proof.write_text(json.dumps(data), encoding="utf-8")
    assert run_checker(tmp_path / "none.onnx", proof).returncode == 2
    assert run_checker(tmp_path / "model.onnx", tmp_path / "none.json").returncode == 2
    for named in ((), (proof,), (tmp_path / "model.onnx", proof, proof)):
        done = run_checker(*named)
        assert done.returncode == 2
        assert done.stderr.startswith("usage")
    # another file is another network, whatever it holds
    assert run_checker(other, proof).returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
@pytest.mark.parametrize("make", [convolutional, residual, pooled])
def test_explanations_of_all_kinds_are_certified(make: object, norm: str, tmp_path: Path) -> None:
    network = make(tmp_path)  # type: ignore[operator]
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 1, (200, network.input_size))
    x = max(points, key=lambda point: np.ptp(np.sort(network.evaluate(point))[-2:]))
    explanation = explain(network, x, epsilon=0.2 if norm == "linf" else 0.5, norm=norm)
    certificate = explanation.certify(network)
    assert certificate.proven, certificate.reason
    assert not certificate.unproven
    assert checked(network.path.read_bytes(), certificate.to_json())
    assert certificate.data["claim"]["norm"] == norm  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("output", [None, 1])
def test_regression_is_certified(output: int | None, tmp_path: Path) -> None:
    network = residual(tmp_path)
    x = np.random.default_rng(3).uniform(0.3, 0.7, 5)
    explanation = explain(network, x, epsilon=0.2, delta=0.1, output=output)
    certificate = explanation.certify(network)
    assert certificate.proven, certificate.reason
    assert explanation.size > 0
    assert not certificate.unproven
    model = network.path.read_bytes()  # type: ignore[union-attr]
    assert checked(model, certificate.to_json())
    tighter = changed(json.loads(certificate.to_json()), ("claim", "delta"), "1/64")
    assert not checked(model, json.dumps(tighter))


@pytest.mark.slow
def test_the_command_line_writes_certificates(tmp_path: Path) -> None:
    model, data = ROOT / "examples" / "digits.onnx", ROOT / "examples" / "digits.npz"
    result, one, other = (tmp_path / name for name in ("result.json", "one.json", "other.json"))
    asked = [model, f"{data}:images[0]", "--epsilon", 0.1, "--json", result]
    done = run("explain", *asked, "--certificate", one)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "certificate: the prediction is kept" in told
    assert "to check it: verix-check" in told
    done = run("certify", result, model, "-o", other)
    assert done.returncode == 0, done.stderr
    assert one.read_bytes() == other.read_bytes()
    assert run_checker(model, one).returncode == 0
    done = run("minimum", *asked, "--certificate", one, "--time-limit", 20)
    assert "no explanation costs less than 6" in " ".join(done.stdout.split())
    checked_again = run_checker(model, one)
    assert checked_again.returncode == 0
    assert "no explanation costs less than 6: verified" in checked_again.stdout


def test_a_bound_without_a_proof_is_named_in_the_file(tmp_path: Path) -> None:
    network = residual(tmp_path)
    least = minimum(network, [0.5] * 5, epsilon=0.3)
    larger = sorted({*range(5)} - {*least.explanation})[:1]
    assert larger
    claimed = replace(
        least,
        explanation=(*least.explanation, *larger),
        irrelevant=tuple(i for i in least.irrelevant if i not in larger),
        unknown_reasons=dict.fromkeys([*least.explanation, *larger], "not asked"),
        counterfactuals={},
        lower_bound=least.size + 1,
    )
    certificate = claimed.certify(network)
    assert certificate.proven
    assert certificate.bound is None
    assert certificate.data is not None
    assert "minimum" not in certificate.data["claim"]
    note = f"the lower bound {least.size + 1} is not proven here: a set that is cheaper"
    assert note in certificate.data["notes"][0]
    assert note in str(certificate)
    model = network.path.read_bytes()  # type: ignore[union-attr]
    assert checked(model, certificate.to_json())


def test_a_network_without_a_certificate_says_so(tmp_path: Path) -> None:
    nodes = [node("Gemm", ["x", "A"], ["h"]), node("Tanh", ["h"], ["t"])]
    nodes.append(node("Gemm", ["t", "B"], ["y"]))
    constants = {"A": weights(3, 4), "B": weights(4, 2, seed=1)}
    model = build(nodes, inputs={"x": (1, 3)}, constants=constants, elem=DOUBLE)
    network = loaded(model, tmp_path)
    explanation = explain(network, [0.5, 0.5, 0.5], epsilon=0.1)
    path = tmp_path / "proof.json"
    result, _ = with_certificate(explanation, network, path)
    assert "no certificate" in result.notes[-1]
    assert "Tanh" in result.notes[-1]
    assert not path.exists()
    with pytest.raises(InputError, match="no certificate to write"):
        explanation.certify(network).to_json()


def test_a_network_that_the_guard_cannot_run_has_no_certificate(tmp_path: Path) -> None:
    # the reference evaluator of onnx takes no groups with several filters each
    nodes = [
        node("ConvTranspose", ["x", "K"], ["h"], group=2),
        node("ReduceSum", ["h", "at"], ["y"], keepdims=0),
    ]
    constants = {"K": weights(2, 2, 2), "at": np.array([2])}
    model = build(nodes, inputs={"x": (1, 2, 3)}, constants=constants, elem=FLOAT)
    network = loaded(model, tmp_path)
    certificate = explain(network, [0.5] * 6, epsilon=0.1).certify(network)
    assert not certificate.proven
    assert "the reference evaluator of onnx does not run it" in str(certificate.reason)


def test_another_network_is_refused(tmp_path: Path) -> None:
    explanation = digits_example.explained()
    with pytest.raises(InputError, match="not the network explained"):
        explanation.certify(residual(tmp_path))


def test_a_model_in_memory_is_certified_by_its_bytes(tmp_path: Path) -> None:
    network = residual(tmp_path)
    model = network.path.read_bytes()  # type: ignore[union-attr]
    explanation = explain(load_network(model), [0.5] * 5, epsilon=0.1)
    certificate = explanation.certify(load_network(model))
    assert checked(model, certificate.to_json())
