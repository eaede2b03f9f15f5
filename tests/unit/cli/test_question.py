"""No output of a command replaces a file that it reads."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import run_here
from tests.support.digits_example import IMAGES, MODEL

SAID = "is another file of this command"
COMMANDS = (
    "explain",
    "minimum",
    "contrastive",
    "enumerate",
    "audit",
    "compare",
    "relevance",
    "importance",
)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Return files that a command may read, by their names."""
    model, images = tmp_path / "digits.onnx", tmp_path / "digits.npz"
    shutil.copy(MODEL, model)
    shutil.copy(IMAGES, images)
    groups, order, some = (tmp_path / f"{name}.json" for name in ("groups", "order", "some"))
    groups.write_text(json.dumps(np.arange(64).reshape(8, 8).tolist()))
    order.write_text(json.dumps([*range(8)]))
    some.write_text("[1]")
    return {path.stem if path != images else "images": path for path in tmp_path.iterdir()}


def refused(output: Path, *arguments: object) -> None:
    before = output.read_bytes()
    done = run_here(*arguments)
    assert (done.returncode, SAID in done.stderr) == (2, True), done.stderr
    assert output.read_bytes() == before


@pytest.mark.parametrize("name", ["digits", "images", "groups"])
@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_no_file_that_is_read(command: str, name: str, files: dict[str, Path]) -> None:
    named = {"audit": ["--explanation", files["some"]], "relevance": ["--protected", "1"]}
    more = [*named.get(command, []), "--features", files["groups"], "--epsilon", 0.1]
    case = [files["digits"], f"{files['images']}:images[0]"]
    refused(files[name], command, *case, *more, "--json", files[name])


@pytest.mark.parametrize(
    ("command", "output", "read"),
    [
        (["explain", "--epsilon", "0.1"], "--plot", "--order"),
        (["explain", "--epsilon", "0.1"], "--certificate", "--order"),
        (["minimum", "--epsilon", "0.1"], "--certificate", "--costs"),
        (["audit", "--epsilon", "0.1"], "--json", "--explanation"),
        (["sweep", "--epsilons", "0.1"], "--json", "--order"),
        (["radius"], "--json", "--free"),
        (["compare", "--epsilon", "0.1"], "--csv", "--order"),
        (["export", "--epsilon", "0.1"], "--out", "--free"),
    ],
)
def test_outputs_are_no_files_of_options(
    command: list[str], output: str, read: str, files: dict[str, Path]
) -> None:
    case = [files["digits"], f"{files['images']}:images[0]"]
    path = files["order"]
    refused(path, command[0], *case, *command[1:], read, path, output, path)


def test_a_result_goes_on_into_its_own_file(files: dict[str, Path]) -> None:
    result = files["digits"].with_name("result.json")
    case = [files["digits"], f"{files['images']}:images[0]", "--epsilon", 0.1]
    for more in ([], ["--resume", result]):
        done = run_here("explain", *case, "--json", result, *more)
        assert done.returncode == 0, done.stderr
