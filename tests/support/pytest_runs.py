"""Runs of pytest on test files that a test writes."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in ``folder`` in a process of its own, with the options of this repository."""
    command = ["pytest", "-p", "no:cacheprovider", "-p", "tests.conftest", *options, str(folder)]
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"},
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "encodings")]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
