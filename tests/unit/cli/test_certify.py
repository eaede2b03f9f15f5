"""``milp-verix certify`` and ``--certificate`` on the command line: files that must stay."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from milp_verix import contrastive
from tests.support.command_line import SEVEN, run_here
from tests.support.digits_example import EPSILON, IMAGES, MODEL, explained, images, network


def test_a_certificate_takes_no_place_of_its_sources(tmp_path: Path) -> None:
    result, model = tmp_path / "result.json", tmp_path / "model.onnx"
    explained().to_json(result)
    shutil.copy(MODEL, model)
    before = result.read_bytes(), model.read_bytes()
    for output in (result, model):
        done = run_here("certify", result, model, "-o", output)
        assert done.returncode == 2
        assert "is another file of this command" in done.stderr
    assert (result.read_bytes(), model.read_bytes()) == before


@pytest.mark.parametrize("command", ["explain", "minimum"])
def test_a_result_and_its_certificate_need_two_files(command: str, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    outputs = ("--json", path, "--certificate", path)
    done = run_here(command, MODEL, SEVEN, "--epsilon", EPSILON, *outputs)
    assert done.returncode == 2
    assert "is another file of this command" in done.stderr
    assert not path.exists()


def test_files_in_the_other_order_are_told_apart(tmp_path: Path) -> None:
    """A result was told as a damaged model of XGBoost."""
    result, proof = tmp_path / "result.json", tmp_path / "proof.json"
    explained().to_json(result)
    proof.write_text('{"claim": {}}')
    np.save(tmp_path / "x.npy", np.zeros(3))
    for command, told in (
        (("certify", MODEL, result, "-o", tmp_path / "new.json"), "RESULT comes first, then MODEL"),
        (("certify", result, result, "-o", tmp_path / "new.json"), "it is a result of milp-verix"),
        (("explain", proof, SEVEN, "--epsilon", 0), "it is a certificate of milp-verix, expected"),
        (("explain", tmp_path / "x.npy", MODEL, "--epsilon", 0), "name the model before the input"),
    ):
        done = run_here(*command)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("kind", [["explanation"], {}, "sweep", None])
def test_a_file_of_another_kind_has_no_certificate(kind: object, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text(json.dumps({**json.loads(explained().to_json()), "kind": kind}))
    done = run_here("certify", result, MODEL, "-o", tmp_path / "proof.json")
    assert done.returncode == 2
    assert "of which there are no certificates" in done.stderr


def test_a_resumed_result_may_be_written_over(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for more in ((), ("--resume", path)):
        done = run_here("explain", MODEL, SEVEN, "--epsilon", EPSILON, "--json", path, *more)
        assert done.returncode == 0
        assert json.loads(path.read_text())["explanation"] == list(explained().explanation)


def test_a_resumed_result_is_not_written_over_by_less(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    command = ("minimum", MODEL, SEVEN, "--epsilon", EPSILON, "--json", path)
    assert run_here(*command).returncode == 0
    before = json.loads(path.read_text())
    done = run_here(*command, "--resume", path, "--time-limit", "1e-4")
    assert "keeps the earlier result: this run did not come as far" in done.stderr
    after = json.loads(path.read_text())
    for name in ("lower_bound", "explanation", "bound_cases", "scenarios"):
        assert after[name] == before[name]
    # another objective is another result
    assert run_here(*command, "--must", "3", "--resume", path).returncode == 0
    assert json.loads(path.read_text())["must"] == [3]


@pytest.mark.parametrize(("most", "code"), [("4", 6), ("60", 0)])
def test_the_exit_code_says_whether_so_few_features_are_enough(most: str, code: int) -> None:
    done = run_here("minimum", MODEL, SEVEN, "--epsilon", EPSILON, "--at-most", most)
    assert done.returncode == code
    assert f"{most} features: {'no, proven' if code else 'yes'}" in done.stdout


def test_a_radius_has_a_certificate_and_so_has_its_file(tmp_path: Path) -> None:
    result, proof, again = (tmp_path / name for name in ("radius.json", "proof.json", "again.json"))
    done = run_here(
        *("radius", MODEL, SEVEN, "--free", "0,1,2,3"),
        *("--json", result, "--certificate", proof),
    )
    assert done.returncode == 0
    assert json.loads(proof.read_text())["claim"]["irrelevant"] == [0, 1, 2, 3]
    assert run_here("certify", result, MODEL, "-o", again).returncode == 0
    assert json.loads(again.read_text()) == json.loads(proof.read_text())


def test_a_study_has_a_certificate_for_each_result(tmp_path: Path) -> None:
    journal, proofs = tmp_path / "study.jsonl", tmp_path / "proofs"
    options = ("--epsilon", EPSILON, "--journal", journal, "--indices", "0,1")
    assert run_here("batch", MODEL, f"{IMAGES}:images", *options, "-q").returncode == 0
    command = ("certify", tmp_path / "study.results", MODEL, "-o", proofs)
    done = run_here(*command)
    keys = {json.loads(line)["key"] for line in journal.read_text().splitlines()}
    assert done.returncode == 0
    assert {path.stem for path in proofs.iterdir()} == keys
    assert done.stdout.count("the prediction is kept") == len(keys) == 2
    first, second = sorted(proofs.iterdir())
    first.unlink()
    before = second.stat().st_mtime_ns
    assert run_here(*command).stdout.count("the prediction is kept") == 1
    assert first.exists()
    assert second.stat().st_mtime_ns == before


def test_a_batch_writes_certificates_itself(tmp_path: Path) -> None:
    journal, proofs = tmp_path / "study.jsonl", tmp_path / "proofs"
    options = ("--epsilon", EPSILON, "--journal", journal, "--indices", "0,1")
    options = (*options, "--task", "explain,contrastive", "--certificate", proofs)
    done = run_here("batch", MODEL, f"{IMAGES}:images", *options)
    assert done.returncode == 0
    assert "2 of 4 results have a new certificate" in done.stdout
    assert len([*proofs.iterdir()]) == 2


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    done = run_here("certify", tmp_path, MODEL, "-o", tmp_path / "proofs")
    assert done.returncode == 2
    assert "has no results of a study" in done.stderr


def test_a_contrast_has_no_certificate(tmp_path: Path) -> None:
    result = tmp_path / "contrast.json"
    contrastive(network(), images()[0], epsilon=EPSILON).to_json(result)
    done = run_here("certify", result, MODEL, "-o", tmp_path / "proof.json")
    assert done.returncode == 2
    assert "holds 'contrastive', of which there are no certificates" in " ".join(
        done.stderr.split()
    )
