"""Published networks and data: tests use them where they are present, and skip by name if not."""

from pathlib import Path

import pytest

from tests.support.repository import ROOT

SHARED = ROOT.parent / "shared"


def shared_file(name: str) -> Path:
    """Return the path of a shared file such as ``models/mnist-10x2.onnx``; skip without it."""
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"the published file {name} is not here")
    return path
