"""Certificates of audits: sets that keep the prediction, and points that refute sets."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from milp_verix.api.calls import audit
from milp_verix.inputs.feature import integer
from milp_verix.inputs.inputs import Inputs
from milp_verix.models.onnx.onnx_network import load_network
from tests.support.certificates import changed, checked, explained
from tests.support.command_line import run
from tests.support.exact_pieces import holds, scores
from tests.support.random_networks import dense_network, random_layers
from tests.support.repository import ROOT
from verix_checker.command import main


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 6])
def test_each_set_of_three_features_is_certified_or_refuted(seed: int, tmp_path: Path) -> None:
    layers, model, explanation = explained(seed, tmp_path, 0.3)
    network, answers = load_network(model), set()
    for chosen in combinations(range(5), 3):
        found = audit(network, explanation.input, chosen, epsilon=0.3, sound_only=True)
        certificate = found.certify(network)
        assert certificate.proven, certificate.reason
        text = certificate.to_json()
        assert checked(model, text)
        data = json.loads(text)
        free = [[i for i in range(5) if i not in chosen]]
        claim = {**data["claim"], "features": free, "irrelevant": [0]}
        assert holds(layers, claim) == found.sound == (not certificate.refutes)
        answers.add(found.sound)
        if not certificate.refutes:
            continue
        assert data["claim"]["features"] == [*free, list(chosen)]
        assert set(data["points"]) == {"0"}
        x = [Fraction(entry) for entry in data["claim"]["input"]]
        for i in free[0]:
            mutant = changed(data, ("points", "0"), {str(i): str(x[i])})
            assert not checked(model, json.dumps(mutant))
        for i in chosen:
            moved = {**data["points"]["0"], str(i): str(x[i] + Fraction(1, 64))}
            assert not checked(model, json.dumps(changed(data, ("points", "0"), moved)))
        assert found.counterexample is not None
        values = scores(layers, [Fraction(n) for n in found.counterexample.input.ravel().tolist()])
        assert max(values) > values[data["claim"]["class"]]
    assert answers == {True, False}


def test_audits_of_described_inputs_are_certified(tmp_path: Path) -> None:
    network = dense_network(random_layers(np.random.default_rng(1), [5, 6, 5, 3]), tmp_path)
    assert network.path is not None
    described = Inputs([integer(f"n{i}", 0, 3) for i in range(5)])
    answers = set()
    for chosen in ([0, 1, 2, 3, 4], [0, 1, 2], [0], []):
        found = audit(network, [1, 2, 0, 3, 1], chosen, epsilon=np.inf, inputs=described)
        certificate = found.certify(network)
        assert certificate.proven, certificate.reason
        assert checked(network.path.read_bytes(), certificate.to_json())
        assert certificate.refutes == (not found.sound)
        answers.add(certificate.refutes)
    assert answers == {True, False}


@pytest.mark.slow
def test_the_command_line_writes_certificates_of_audits(tmp_path: Path) -> None:
    model, data = ROOT / "examples" / "digits.onnx", ROOT / "examples" / "digits.npz"
    for name, features in (("sound", list(range(64))), ("refuted", [0])):
        chosen, result, one, other = (
            tmp_path / f"{name}-{part}.json" for part in ("set", "result", "one", "other")
        )
        chosen.write_text(json.dumps(features), encoding="utf-8")
        asked = [model, f"{data}:images[0]", "--explanation", chosen, "--epsilon", 0.3]
        done = run("audit", *asked, "--sound-only", "--json", result, "--certificate", one)
        assert done.returncode == (0 if name == "sound" else 1), done.stderr
        assert "certificate: the" in " ".join(done.stdout.split())
        done = run("certify", result, model, "-o", other)
        assert done.returncode == 0, done.stderr
        assert one.read_bytes() == other.read_bytes()
        assert main([str(model), str(one)]) == 0
