"""Tests are found from what they test, and share helpers through ``tests/support`` alone."""

import re
from pathlib import Path

import pytest

from tests.support.repository import ROOT

UNIT = ROOT / "tests" / "unit"
ROOMS = sorted(path.parent for path in UNIT.rglob("test_*.py"))
PYTHON = sorted((ROOT / "tests").rglob("*.py"))


def test_no_module_uses_a_test_module() -> None:
    # scripts in strings count, too
    taken = re.compile(r"\btests\.(?:\w+\.)*(?:test_|unit|agreement|integration)")
    assert taken.search("from tests.unit.oracle.test_reuse import it")
    users = [path for path in PYTHON if taken.search(path.read_text(encoding="utf-8"))]
    assert users == [Path(__file__)]


@pytest.mark.parametrize("room", sorted({str(path.relative_to(UNIT)) for path in ROOMS}))
def test_a_folder_of_unit_tests_is_one_of_a_package(room: str) -> None:
    parts = Path(room).parts
    if parts[:1] in {("checker",), ("encodings",)}:
        assert ROOT.joinpath(parts[0], f"verix_{parts[0]}", *parts[1:]).is_dir()
    else:
        assert ROOT.joinpath("milp_verix", *parts).is_dir()
