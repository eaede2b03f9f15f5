"""Whatever the files hold, the command ends in an exit code."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import verix_checker
from tests.support.certificates import certified, changed
from tests.support.hand_made import about, explained, network, scenario, trees
from tests.support.onnx_models import FLOAT, build, node
from verix_checker.command import main


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
    assert main([str(tmp_path / "model.onnx"), str(tmp_path / "proof.json")]) == 1
    assert capsys.readouterr().out.startswith("REFUSED")


def refused(made: tuple[bytes, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the line that refuses a certificate."""
    (folder / "model.onnx").write_bytes(made[0])
    (folder / "proof.json").write_text(json.dumps(made[1]), encoding="utf-8")
    assert main([str(folder / "model.onnx"), str(folder / "proof.json")]) in (1, 2)
    return capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("proof", "told"),
    [([], "[] is no object"), (None, "None is no object"), ("x", "x is no object"),
     ({}, "must be given"), ({"claim": 1, "trees": [], "points": {}}, "claim: 1 is no object"),
     ({"claim": {"beside": 1}, "trees": [], "points": {}}, "must be given"),
     ({"claim": {"beside": ["a"]}, "trees": [], "points": {}}, "must be given")],
)  # fmt: skip
def test_parts_of_another_type_are_refused_in_words(
    proof: Any, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused((b"{}", proof), tmp_path, capsys)
    assert line.startswith("REFUSED: ValueError: ")
    assert told in line


@pytest.mark.parametrize(
    ("made", "path", "value"),
    [(network, ("trees", 0), {}), (scenario, ("minimum", "tree"), {}),
     (explained, ("points", "0", "start"), 7), (explained, ("no_part", "tree"), {}),
     (explained, ("minimum", "tree", "weights"), {"9": 1})],
)  # fmt: skip
def test_parts_that_are_not_there_are_refused_in_words(
    made: Any, path: Any, value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, proof = made()
    line = refused((model, changed(proof, path, value)), tmp_path, capsys)
    assert "it lacks a part, or names one that is not there: " in line


@pytest.mark.parametrize("tree", [[1], [None], [[0, 1, 2]], ["abcd"]])
def test_a_node_of_trees_of_another_type_is_refused_in_words(
    tree: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = trees(1, tree)
    proof = about(model, {"source": "by hand", "input": [0]})[1]
    assert "a node is no leaf and no split" in refused((model, proof), tmp_path, capsys)


def test_windows_beyond_all_memory_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = {"kernel_shape": [10**5, 10**5], "pads": [10**5 - 1, 10**5 - 1, 0, 0]}
    nodes = [node("MaxPool", ["x"], ["p"], **shape), node("Flatten", ["p"], ["y"])]
    model = build(nodes, inputs={"x": [1, 1, 1, 1]}, elem=FLOAT).SerializeToString()
    proof = about(model, {"output": "y", "input": [0], "bits": 32})[1]
    assert "a kernel of shape [100000, 100000]" in refused((model, proof), tmp_path, capsys)


def test_inputs_beyond_floating_point_are_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, proof = scenario()
    proof["claim"] |= {"input": ["1e900", "1e900"], "domain": [0, "1e901"]}
    assert "the reference evaluator of onnx does not run it" in refused(
        (model, proof), tmp_path, capsys
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
@pytest.mark.parametrize("name", ["model.onnx", "none.onnx"])
def test_lines_that_nobody_reads_end_without_a_traceback(name: str, tmp_path: Path) -> None:
    model, proof = explained()
    (tmp_path / "model.onnx").write_bytes(model)
    (tmp_path / "proof.json").write_text(json.dumps(proof), encoding="utf-8")
    script = Path(verix_checker.__file__).parents[1] / "verix_check.py"
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, script, name, "proof.json"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (2, "cannot print: No space left on device\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network and its certificate."""
    path = tmp_path_factory.mktemp("certified")
    _, _, proof = certified(1, path)
    (path / "proof.json").write_text(json.dumps(proof), encoding="utf-8")
    return path


def test_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--help"])
    assert "Exit code 0: the claim is proven." in capsys.readouterr().out


def test_files_in_the_other_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.npy").write_bytes(b"\x93NUMPY")
    assert main([str(folder / "proof.json"), str(folder / "model.npy")]) == 1
    assert "name the model first" in capsys.readouterr().out
    (folder / "trees.json").write_text('{"learner": {}}', encoding="utf-8")
    for first, second in (("proof.json", "trees.json"), ("trees.json", "proof.json")):
        assert main([str(folder / first), str(folder / second)]) == 1
        assert "name the model first" in capsys.readouterr().out


def test_a_result_in_the_place_of_its_proof(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that no field is called “against or bounds or …”."""
    (folder / "result.json").write_text('{"schema": 3, "kind": "audit"}', encoding="utf-8")
    assert main([str(folder / "model.onnx"), str(folder / "result.json")]) == 1
    assert "milp-verix certify RESULT MODEL" in capsys.readouterr().out


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_certificates_end_in_an_exit_code(folder: Path, data: st.DataObject) -> None:
    content = bytearray((folder / "proof.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from(b'0123456789{}[]",:.-tfn '))
    damaged = folder / "damaged.json"
    damaged.write_bytes(content)
    assert main([str(folder / "model.onnx"), str(damaged)]) in (0, 1)
