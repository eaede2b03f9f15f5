"""A sample of damaged files and odd arguments; ``python -m tests.fuzz`` makes more."""

import os
import subprocess
import sys

import pytest

from tests.support.repository import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

FAST = [
    (("files",), 400),
    (("arguments",), 150),
    (("studies", "embed", "compare", "commands"), 60),
]
"""Kinds of trials in one process, and how many of each the default run makes."""


def run(kinds: tuple[str, ...], tries: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--kinds", *kinds, "--tries", str(tries)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        # a child of a process whose OpenMP has threads would wait for them
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize(("kinds", "tries"), FAST)
def test_a_sample(kinds: tuple[str, ...], tries: int) -> None:
    run(kinds, tries)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [kind for kinds, _ in FAST for kind in kinds])
def test_fifty_thousand_each(kind: str) -> None:
    run((kind,), 50_000)
