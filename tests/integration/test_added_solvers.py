"""The solver of the documents, installed as a package of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import python
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
from milp_verix.testing import check_solver

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
faults = []
for name in ("scipy?presolve=maybe", "scipy?presolve", "scipy?threads=2"):
    try:
        open_session(name)
    except mv.InputError as error:
        faults.append(str(error))
named = open_session("scipy?presolve=off")
outcome = check_solver("scipy?presolve=off").sentence(), check_solver("scipy?x=1").sentence()
print(json.dumps([
    [a.value for a in own.answers], [a.value for a in other.answers], own.solves, own.version,
    found.agree, alone.answer.value, refused, faults, [named.name, named.options], outcome,
]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package of the documents is installed."""
    folder = tmp_path_factory.mktemp("package")
    text = (ROOT / "docs/own_solver.md").read_text(encoding="utf-8")
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "milp(" in block
    )
    (entry,) = re.findall(r"```toml\n(\[project\.entry-points.*?)```", text, re.S)
    (folder / "verix_scipy.py").write_text(code, encoding="utf-8")
    (folder / "pyproject.toml").write_text(PROJECT + entry, encoding="utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) < 60
    target = folder / "site"
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", *options, str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.mark.slow
def test_an_installed_package_adds_a_solver(installed: Path) -> None:
    path = os.pathsep.join([str(installed), str(ROOT), str(ROOT / "encodings")])
    # SciPy itself prints a line now and then
    told = json.loads(python(ASK, path).splitlines()[-1])
    own, other, solves, version, agree, alone, refused, faults, named, outcome = told
    assert own == other
    assert set(own) == {"holds", "violated"}
    assert solves > 0
    assert re.match(r"\d+\.\d+", version)
    assert agree is True
    assert alone == own[1]
    assert "choose one of" in refused
    assert ", scipy, " in refused
    assert faults[0].endswith("of 'scipy?presolve=maybe': it takes presolve=on and presolve=off")
    assert "are not OPTION=VALUE" in faults[1]
    assert "refuses the options of 'scipy?threads=2'" in faults[2]
    assert named == ["scipy?presolve=off", {"presolve": False}]
    assert re.fullmatch(r"scipy\?presolve=off passes all \d+ cases\.", outcome[0])
    assert outcome[1].startswith("scipy?x=1 fails 1 of 1 cases, first it opens: expected a solver")


@pytest.mark.slow
def test_pytest_puts_the_installed_solver_to_the_suite(installed: Path) -> None:
    path = os.pathsep.join([str(installed), str(ROOT), str(ROOT / "encodings")])
    command = [sys.executable, "-m", "pytest", "-p", "milp_verix.testing.pytest_plugin"]
    options = ["-p", "no:xdist", "-q", "--milp-verix-solver", "scipy?presolve=on"]
    done = subprocess.run(
        [*command, *options],
        cwd=installed,
        # its plugin has none of the options of the tests around it
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"^\d\d+ passed", done.stdout, re.MULTILINE), done.stdout
