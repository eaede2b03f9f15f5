"""The command line, in a process of its own or in this one, and the command lines of processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from milp_verix.cli.app import app, escaping
from tests.support.digits_example import IMAGES
from tests.support.repository import PYTHON_PATH, ROOT

SEVEN = f"{IMAGES}:images[15]"
ENVIRONMENT = {**os.environ, "PYTHONPATH": PYTHON_PATH}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "milp_verix", *map(str, arguments)]


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        env={**ENVIRONMENT, **variables},
    )


def python(code: str, path: str) -> str:
    """Run ``code`` at the root in a new interpreter with ``PYTHONPATH=path``; return its output."""
    finished = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def slowed(module: str, method: str, seconds: float, first: str = "") -> str:
    """Return a program: the command line, where each call of ``method`` takes ``seconds`` more.

    ``method`` is that of a class in ``module``, such as ``Oracle.check``; ``first`` is code.
    """
    return f"""
import time
import milp_verix.__main__ as cli
from {module} import {method.split(".", maxsplit=1)[0]}

usual = {method}

def slow(*args, **options):
    time.sleep({seconds})
    return usual(*args, **options)

{method} = slow
{first}
cli.main()
"""


class _Runner(CliRunner):
    @contextmanager
    def isolation(self, *args: Any, **options: Any) -> Iterator[Any]:
        with super().isolation(*args, **options) as streams, escaping():
            yield streams


def run_here(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, which takes a second less; its exceptions pass."""
    given = list(map(str, arguments))
    done = _Runner().invoke(app, given, catch_exceptions=False)
    return subprocess.CompletedProcess(given, done.exit_code, done.stdout, done.stderr)


def commands() -> list[str]:
    """Return the command lines of all processes."""
    files = Path("/proc").glob("[0-9]*/cmdline")
    found = []
    for file in files:
        try:
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # ended meanwhile
            continue
    return found
