"""The notice names a file as a proof once it is read, fits the ranges, and is checked."""

import json
import re
import shlex
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import milp_verix
from milp_verix import InputError, Inputs, Ranges, binary, integer, load_network
from milp_verix.base.errors import printable
from milp_verix.cli.app import app
from tests.support.random_networks import as_layers, dense_network

INPUTS = Inputs([integer("income", 0, 10), binary("arrears")], class_names=["refused", "granted"])
LAYERS = as_layers(([[0, 0], [1, -8]], [0, -3.5]))


def _ranges(network: Any, **more: Any) -> Ranges:
    asked = {"epsilon": np.inf, "inputs": INPUTS, **more}
    return milp_verix.inflate(network, [9, 0], **asked)


def _told(page: str) -> str:
    found = re.search(r"<li>(The proof of the first claim.*?)</li>", unescape(page), re.DOTALL)
    assert found is not None
    return " ".join(found[1].split())


def _checked_by_its_command(told: str) -> str:
    """Return what the command prints when it is pasted into a shell."""
    code = "import sys; from verix_checker.command import main; sys.exit(main())"
    checker = f'verix-check() {{ {shlex.quote(sys.executable)} -c {shlex.quote(code)} "$@"; }}'
    run = ["bash", "-c", f"{checker}\n{told[told.index('verix-check') :]}"]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


NAMES = ["proof.json", "a proof, really.json", "two  spaces, it’s “a” $HOME `proof`.json"]
NAMES += ["an 'odd' \"one\" \\ here.json", "\x1b[2K\n\u202eproof\t1.json"]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_that_is_told_works(name: str, tmp_path: Path) -> None:
    folder = tmp_path / ("some folder" if name.isprintable() else "a\x9bfolder\r")
    folder.mkdir()
    network = dense_network(LAYERS, folder)
    ranges, proof = _ranges(network), folder / name
    ranges.certify(network).to_json(proof)
    told = _told(milp_verix.write_notice(ranges, certificate=proof))
    shown = " ".join(printable(name).split())
    assert f"is the file {shown}, which was checked when this page was written" in told
    assert "VERIFIED" in _checked_by_its_command(told)


@pytest.mark.parametrize("name", [*NAMES, "-proof.json"])
def test_a_command_writes_the_line_that_checks_its_certificate(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dense_network(LAYERS, tmp_path)
    (tmp_path / "row.json").write_text(json.dumps({"income": 9, "arrears": "no"}))
    (tmp_path / "inputs.json").write_text(json.dumps(INPUTS.to_data()))
    asked = ["explain", "model.onnx", "row.json", "--inputs", "inputs.json", "--epsilon", "inf"]
    app([*asked, f"--certificate={name}"], standalone_mode=False)
    (line,) = (one for one in capsys.readouterr().out.splitlines() if "verix-check" in one)
    assert "VERIFIED" in _checked_by_its_command(line)


def test_a_model_beside_the_page_or_in_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = dense_network(LAYERS, tmp_path)
    ranges, proof = _ranges(network), tmp_path / "proofs" / "proof.json"
    proof.parent.mkdir()
    ranges.certify(network).to_json(proof)
    unseen = _told(milp_verix.write_notice(ranges, certificate=proof))
    assert "is said to be the file proof.json" in unseen
    assert "was not checked" in unseen
    assert "verix-check" not in unseen
    page = tmp_path / "page.html"
    assert "VERIFIED" in _checked_by_its_command(
        _told(milp_verix.write_notice(ranges, None, page, certificate=proof))
    )
    monkeypatch.chdir(tmp_path)
    told = _told(milp_verix.write_notice(ranges, certificate="proofs/proof.json"))
    assert told.endswith("verix-check model.onnx proofs/proof.json")


def test_of_a_model_in_memory_no_command_is_told(tmp_path: Path) -> None:
    network = load_network(onnx.load(dense_network(LAYERS, tmp_path).path))
    ranges, proof = _ranges(network), tmp_path / "proof.json"
    ranges.certify(network).to_json(proof)
    (tmp_path / "model.onnx").unlink()
    told = _told(milp_verix.write_notice(ranges, certificate=proof))
    assert "was not checked" in told
    assert "verix-check" not in told


def test_trees_in_memory_are_checked_with_their_own_file(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    rows = np.array([[i, a] for i in range(11) for a in (0, 1)], dtype=float)
    model = DecisionTreeClassifier(random_state=0).fit(rows, rows[:, 0] - 8 * rows[:, 1] > 3.5)
    network = load_network(model)
    ranges, proof = _ranges(network), tmp_path / "proof.json"
    ranges.certify(network).to_json(proof)
    told = _told(milp_verix.write_notice(ranges, certificate=proof))
    assert "has the file of the trees that were read from the model" in told
    assert "VERIFIED" in _checked_by_its_command(told)
    next(tmp_path.glob("trees-*.json")).unlink()
    assert "was not checked" in _told(milp_verix.write_notice(ranges, certificate=proof))


def test_what_is_no_proof_of_the_ranges_is_refused(tmp_path: Path) -> None:
    network = dense_network(LAYERS, tmp_path)
    ranges, proof = _ranges(network), tmp_path / "proof.json"

    def refused(data: Any, told: str) -> None:
        proof.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        with pytest.raises(InputError, match=told):
            milp_verix.write_notice(ranges, certificate=proof)

    with pytest.raises(InputError, match="cannot read the certificate"):
        milp_verix.write_notice(ranges, certificate=tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot read the certificate"):
        milp_verix.write_notice(ranges, certificate=tmp_path)
    for given in ("", "[1]", '"claim"', "{}", '{"claim": 3}', "[build-system]"):
        refused(given, "is no certificate")
    refused(ranges.to_json(), "is no certificate")
    certificate = ranges.certify(network).data
    assert certificate is not None
    claim = certificate["claim"]
    changes: list[tuple[dict[str, Any], str]] = [
        ({"sha256": "0" * 64}, "another model"),
        ({"input": [8, 0]}, "its input differs"),
        ({"domain": [[0, 0], [10, 1]]}, "its domain differs"),
        ({"irrelevant": [0]}, "its irrelevant differs"),
        ({"class": 0}, "its class differs"),
        ({"against": [0]}, "its against differs"),
        ({"rules": [[{"factors": {"0": 1}, "limit": 5}]]}, "its rules differs"),
        ({"importance": {}}, "its importance differs"),
    ]
    for change, told in changes:
        refused({**certificate, "claim": {**claim, **change}}, told)
    # the claim fits, and nothing proves it
    refused({**certificate, "trees": []}, "verix-check refuses the certificate")
    refused({**certificate, "points": {"0": {"0": 0}}}, "verix-check refuses the certificate")
    explained = milp_verix.explain(network, [9, 0], epsilon=np.inf, inputs=INPUTS)
    refused(explained.certify(network).to_json(), "is a certificate of other ranges")
    narrower = _ranges(network, within=1)
    refused(narrower.certify(network).to_json(), "is a certificate of other ranges")


def test_scores_of_another_output_are_not_taken_for_the_models(tmp_path: Path) -> None:
    network = dense_network(LAYERS, tmp_path)
    assert network.path is not None
    ranges, proof = _ranges(network), tmp_path / "proof.json"
    data = dict(ranges.certify(network).data or {})
    proof.write_text(json.dumps({**data, "claim": {**data["claim"], "output": "other"}}))
    with pytest.raises(InputError, match="of the output 'other', expected"):
        milp_verix.write_notice(ranges, certificate=proof)
