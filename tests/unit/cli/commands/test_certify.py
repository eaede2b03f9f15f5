"""``milp-verix certify`` and ``--certificate`` on the command line: files that must stay."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command_line import SEVEN, run_here
from tests.support.digits_example import EPSILON, MODEL, explained


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


def test_a_resumed_result_may_be_written_over(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for more in ((), ("--resume", path)):
        done = run_here("explain", MODEL, SEVEN, "--epsilon", EPSILON, "--json", path, *more)
        assert done.returncode == 0
        assert json.loads(path.read_text())["explanation"] == list(explained().explanation)
