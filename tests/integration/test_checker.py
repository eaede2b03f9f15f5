"""The checker as a stranger meets it: two short files, an exit code, and a reason."""

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onnx_neurons
import verix_ball
import verix_check
from milp_verix.cli.certificates import certified as with_certificate
from milp_verix.errors import InputError
from milp_verix.global_search.minimum import minimum
from milp_verix.onnx_reader.onnx_network import load_network
from milp_verix.traversal.explain import explain
from tests.support import digits_example
from tests.support.certificates import certified, changed, checked
from tests.support.command_line import run
from tests.support.onnx_models import DOUBLE, FLOAT, build, loaded, node, weights
from tests.support.random_networks import convolutional, pooled, residual
from tests.support.repository import ROOT

FILES = sorted((ROOT / "checker").glob("*.py"))
_ONE = 2**400
_LEAF = {"slopes": {}, "multipliers": {"0": -1}}
_NEGATIVE = {"neuron": 0, "below": _LEAF, "above": _LEAF}


def run_checker(*arguments: object) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "checker" / "verix_check.py")
    return subprocess.run(
        [sys.executable, script, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_checker_is_short_and_stands_alone() -> None:
    own = {file.stem for file in FILES}
    assert own == {
        "onnx_forms",
        "onnx_integers",
        "onnx_signatures",
        "verix_guard",
        "verix_numbers",
        "verix_words",
        "verix_check",
        "verix_ball",
        "verix_minimum",
        "onnx_neurons",
        "onnx_operators",
        "onnx_shapes",
        "onnx_windows",
    }
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 200
        taken = set()
        for part in ast.walk(ast.parse(text)):
            if isinstance(part, ast.Import):
                taken |= {name.name.partition(".")[0] for name in part.names}
            elif isinstance(part, ast.ImportFrom):
                taken.add(str(part.module).partition(".")[0])
            assert not isinstance(part, ast.Constant) or not isinstance(part.value, float)
            assert not isinstance(part, ast.Assert)  # python -O leaves them out
        assert taken <= {*sys.stdlib_module_names, "onnx", *own}


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


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("claim", "sha256"), "0" * 64, "another network"),
        (("claim", "epsilon"), 10, "a case proves no more than"),
        (("claim", "epsilon"), -1, "not in the ball"),
        (("trees", 0), {"slopes": {}, "multipliers": {"0": 1}}, "KeyError"),
        (("trees", 0), {"slopes": {"0": 1.5}, "multipliers": {}}, "not in [0, 1]"),
        (("trees", 0), {"slopes": {"0": -0.5}, "multipliers": {}}, "not in [0, 1]"),
        (("trees", 0), _NEGATIVE, "a multiplier is negative"),
        (("points",), {}, "a feature has no point"),
        (("points", "0"), {}, "the same prediction"),
        (("claim", "class"), -1, "no such class"),
    ],
)
def test_the_first_failure_is_named(
    path: tuple[object, ...],
    value: object,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, _, data = certified(1, tmp_path)
    if path == ("points", "0"):
        path = ("points", next(iter(data["points"])))
    proof = tmp_path / "proof.json"
    proof.write_text(json.dumps(changed(data, path, value)), encoding="utf-8")
    assert verix_check.main(str(tmp_path / "model.onnx"), str(proof)) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("REFUSED")
    assert reason in last


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


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "1", '{"claim": 1}', '{"claim": {}, "trees": [], "points": {}}', "NaN",
     '{"claim": {"sha256": 1}, "trees": 1, "points": 1}', "[" * 100_000, '"\\ud800"', "\x00"],
)  # fmt: skip
def test_malformed_json_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "proof.json").write_text(text, encoding="utf-8")
    assert verix_check.main(str(tmp_path / "model.onnx"), str(tmp_path / "proof.json")) == 1
    assert capsys.readouterr().out.startswith("REFUSED")


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_certificates_end_in_an_exit_code(data: st.DataObject) -> None:
    folder = Path(_folder())
    content = bytearray((folder / "proof.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from(b'0123456789{}[]",:.-tfn '))
    damaged = folder / "damaged.json"
    damaged.write_bytes(content)
    assert verix_check.main(str(folder / "model.onnx"), str(damaged)) in (0, 1)


_FOLDERS: list[str] = []


def _folder() -> str:
    if not _FOLDERS:
        import tempfile

        _FOLDERS.append(tempfile.mkdtemp())
        _, _, proof = certified(1, Path(_FOLDERS[0]))
        (Path(_FOLDERS[0]) / "proof.json").write_text(json.dumps(proof), encoding="utf-8")
    return _FOLDERS[0]


@pytest.mark.parametrize("make", [convolutional, residual, pooled])
def test_networks_are_read_as_onnxruntime_runs_them(make: object, tmp_path: Path) -> None:
    network = make(tmp_path)  # type: ignore[operator]
    model = onnx.load(network.path)
    neurons = onnx_neurons.Network(network.path.read_bytes(), _ONE, network.output_name)
    session = onnxruntime.InferenceSession(network.path)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.uniform(-1, 1, network.input_size).astype(network.dtype)
        point = [_ONE, *(neurons.number(entry) for entry in x.tolist())]
        ours = np.array([float(value) for value in neurons.values(point, neurons.forms)])
        theirs = session.run(None, {network.input_name: x.reshape(network.input_shape)})[0].ravel()
        if neurons.ordered:
            ours = np.exp(ours) / np.exp(ours).sum()
        assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert model.graph.node


@pytest.mark.parametrize(
    "extra",
    [
        node("Tanh", ["x"], ["y"]),
        node("Gemm", ["x", "A"], ["y"], alpha=0.5),
        node("Gemm", ["x", "A"], ["y"], transA=1),
        node("Mul", ["x", "x"], ["y"]),
        node("Relu", ["x"], ["y"], unknown=1),
        node("Relu", ["x"], ["y"], domain="elsewhere"),
        node("Sigmoid", ["x"], ["s"]),
    ],
)
def test_other_operators_are_refused(extra: onnx.NodeProto) -> None:
    nodes = [extra]
    if extra.op_type == "Sigmoid":
        nodes.append(node("Relu", ["s"], ["y"]))
    model = build(nodes, inputs={"x": (1, 3)}, constants={"A": weights(3, 3)}, elem=FLOAT)
    with pytest.raises(onnx_neurons.UnreadableError):
        onnx_neurons.Network(model.SerializeToString(), _ONE, "y")


def test_a_unit_that_is_too_coarse_is_refused(tmp_path: Path) -> None:
    network = residual(tmp_path)
    with pytest.raises(onnx_neurons.UnreadableError, match="finer unit"):
        onnx_neurons.Network(network.path.read_bytes(), 2**50, network.output_name)  # type: ignore[union-attr]


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


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_the_reach_of_a_ball_is_above_all_its_points_and_close(norm: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, one = 6, 2**30
    ball = object.__new__(verix_ball.Ball)
    whole = [one, *(int(v) for v in rng.integers(0, one, size))]
    ball.x, ball.norm, ball.epsilon, ball.size = whole, norm, one // 2, size
    ball.blocks, ball.hot = [], set()
    rooms = rng.integers(1, one, (2, size)).tolist()
    low = [one, *(v - room for v, room in zip(whole[1:], rooms[0], strict=True))]
    high = [one, *(v + room for v, room in zip(whole[1:], rooms[1], strict=True))]
    form = {v: int(k) for v, k in enumerate(rng.integers(-one, one, size + 1))}
    bound = ball.reach(form, low, high)
    best = -np.inf
    for _ in range(4000):
        move = rng.normal(size=size) * rng.random(size) ** 3
        move *= 0.5 * one / np.linalg.norm(move, norm)
        point = np.clip(np.array(whole[1:]) + move, low[1:], high[1:])
        best = max(best, sum(form[v + 1] * point[v] for v in range(size)) + form[0] * one)
    assert best <= bound
    # over the box alone the bound is far wider
    box = sum(k * (high[v] if k > 0 else low[v]) for v, k in form.items())
    assert bound - best < 0.3 * (box - best)


@pytest.mark.slow
def test_the_command_line_writes_certificates(tmp_path: Path) -> None:
    model, data = ROOT / "examples" / "digits.onnx", ROOT / "examples" / "digits.npz"
    result, one, other = (tmp_path / name for name in ("result.json", "one.json", "other.json"))
    asked = [model, f"{data}:images[0]", "--epsilon", 0.1, "--json", result]
    done = run("explain", *asked, "--certificate", one)
    assert done.returncode == 0, done.stderr
    assert "certificate: the prediction is kept" in " ".join(done.stdout.split())
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
    note = f"the lower bound {least.size + 1} is not proven here: no perturbation is found"
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
    result = with_certificate(explanation, network, path)
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
