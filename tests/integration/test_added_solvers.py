"""The solver of the documents, installed as a package of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "verix-scipy"
version = "1.0"

[tool.hatch.build.targets.wheel]
include = ["verix_scipy.py"]

"""
ASK = """
import json, sys
import numpy as np
import milp_verix as mv
from milp_verix.solvers import open_session, solver_named

with np.load("examples/digits.npz") as data:
    x = data["images"][15]
checks = [list(range(n)) for n in (4, 12, 40, 60)]
options = {"epsilon": 0.1, "bounds": "interval", "checks": checks}
found = mv.compare("examples/digits.onnx", x, solvers=["scipy", "highs"], **options)
own, other = found.runs
alone = mv.check("examples/digits.onnx", x, checks[1], epsilon=0.1, solver=solver_named("scipy"))
try:
    mv.check("examples/digits.onnx", x, [0], epsilon=0.1, solver="scipyy")
except mv.InputError as error:
    refused = str(error)
print(json.dumps([
    [a.value for a in own.answers], [a.value for a in other.answers], own.solves, own.version,
    found.agree, alone.answer.value, refused,
]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package of the documents is installed."""
    folder = tmp_path_factory.mktemp("package")
    text = (ROOT / "docs/solvers.md").read_text(encoding="utf-8")
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "milp(" in block
    )
    (entry,) = re.findall(r"```toml\n(\[project\.entry-points.*?)```", text, re.S)
    (folder / "verix_scipy.py").write_text(code, encoding="utf-8")
    (folder / "pyproject.toml").write_text(PROJECT + entry, encoding="utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) < 45
    target = folder / "site"
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", *options, str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.mark.slow
def test_an_installed_package_adds_a_solver(installed: Path) -> None:
    path = os.pathsep.join([str(installed), str(ROOT), str(ROOT / "encodings")])
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    own, other, solves, version, agree, alone, refused = json.loads(done.stdout)
    assert own == other
    assert set(own) == {"holds", "violated"}
    assert solves > 0
    assert re.match(r"\d+\.\d+", version)
    assert agree is True
    assert alone == own[1]
    assert "choose one of" in refused
    assert ", scipy, " in refused
