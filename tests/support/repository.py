"""Folders that tests read: the repository, its examples, and files stored for tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
FIXTURES = ROOT / "tests" / "fixtures"
MADE = {"made", "_build"}
"""Folders in ``docs`` that building the site makes."""
