"""Folders that tests read: the repository, its examples, and files stored for tests."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
FIXTURES = ROOT / "tests" / "fixtures"
PYTHON_PATH = os.pathsep.join(str(ROOT / source) for source in ("", "encodings", "checker"))
MADE = {"made", "_build"}
"""Folders in ``docs`` that building the site makes."""
