"""Tests are found from what they test, and share helpers through ``tests/support`` alone."""

import re
from pathlib import Path

from tests.support.repository import ROOT

UNIT = ROOT / "tests" / "unit"
PACKAGES = {
    Path(): "milp_verix",
    Path("checker"): "checker/verix_checker",
    Path("encodings"): "encodings/verix_encodings",
}
ELSEWHERE: dict[str, str] = {}
"""Rooms without a folder of their own, and what tests them."""
PYTHON = sorted((ROOT / "tests").rglob("*.py"))


def test_no_module_uses_a_test_module() -> None:
    # scripts in strings count, too
    taken = re.compile(r"\btests\.(?:\w+\.)*(?:test_|unit|agreement|integration)")
    assert taken.search("from tests.unit.oracle.test_reuse import it")
    users = [path for path in PYTHON if taken.search(path.read_text(encoding="utf-8"))]
    assert users == [Path(__file__)]


def test_each_room_has_its_folder_of_unit_tests() -> None:
    rooms = {
        room / path.parent.relative_to(ROOT / package)
        for room, package in PACKAGES.items()
        for path in (ROOT / package).rglob("[!_]*.py")
    }
    folders = {path.parent.relative_to(UNIT) for path in UNIT.rglob("test_*.py")}
    assert {str(room) for room in rooms - folders} == set(ELSEWHERE)
    assert folders <= rooms.union(*(room.parents for room in rooms))
    assert all((UNIT / path).is_file() for path in ELSEWHERE.values())
