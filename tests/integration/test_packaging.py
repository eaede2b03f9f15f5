"""What the repository promises about its own layout, versions and documented commands."""

import os
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tests.selection import DEFAULT, MARKS
from tests.support.command_line import python
from tests.support.repository import ROOT


def lines(path: str) -> list[str]:
    return [line.strip() for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    found = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in found if line and not line.startswith("#")]


def test_encodings_folder_is_no_package() -> None:
    assert not (ROOT / "encodings" / "__init__.py").exists()


def test_python_starts_with_the_root_on_its_path() -> None:
    found = python("import encodings; print(encodings.__file__)", path=".")
    assert not Path(found).is_relative_to(ROOT / "encodings")


@pytest.mark.slow
def test_encodings_need_nothing_of_the_toolkit() -> None:
    others = "{'milp_verix', 'onnx', 'onnxruntime', 'highspy', 'pulp', 'gurobipy', 'pyomo'}"
    code = f"import sys, verix_encodings; print(sorted({others} & set(sys.modules)))"
    assert python(code, path="encodings") == "[]"


PACKAGES = ["milp_verix", "checker/verix_checker", "encodings/verix_encodings"]


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_installed_version_is_the_declared_one() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    try:
        installed = metadata.version(declared["name"])
    except metadata.PackageNotFoundError:
        pytest.skip("milp-verix is not installed here")
    assert installed == declared["version"]


def test_ci_runs_exactly_the_commands_of_the_readme() -> None:
    run_by_ci = [line for line in lines(".ci/run") if line.startswith("python3 -m venv ")]
    assert sorted(readme_commands()) == sorted(run_by_ci)
    assert len(run_by_ci) == 2


def test_ci_lets_no_test_skip_but_those_listed() -> None:
    assert "export PYTEST_ADDOPTS=--strict-skips" in lines(".ci/run")


def test_makefile_runs_what_the_readme_shows() -> None:
    recipes = {line.replace("$(BIN)", ".venv/bin") for line in lines("Makefile")}
    shown = {command.split(" && ")[-1] for command in readme_commands()}
    assert shown <= recipes


def test_ci_and_the_nightly_run_have_the_tests_of_each_mark() -> None:
    workflows = ".github/workflows/ci.yml", ".github/workflows/nightly.yml"
    for name, seeds in zip(workflows, MARKS.values(), strict=True):
        assert f"- run: python -m pytest --seeds {seeds} --strict-skips" in lines(name)
    assert f".venv/bin/pytest --seeds {MARKS['slow']} --after {DEFAULT}" in lines(".ci/run")


def test_ci_is_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
