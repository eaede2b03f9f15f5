"""What every test may rely on."""

import signal
import zlib

import pytest
from hypothesis import settings

from milp_verix.solvers import row_differences
from verix_encodings import arrays

# a failure that comes and goes with the seed is no use to the one who finds it
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

# in the background of a shell Ctrl-C is ignored, and whatever the tests start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every second test have sparse matrices and differences of rows, however small these are.

    Networks of tests are small: what is for larger ones would go untested.
    """
    code = zlib.crc32(request.node.nodeid.encode())
    if code % 2:
        monkeypatch.setattr(arrays, "_SMALL", 0)
    if code // 2 % 2:
        monkeypatch.setattr(row_differences, "_LONG", 2)
