"""What every test may rely on."""

import signal
import zlib

import pytest
from hypothesis import settings

from verix_encodings import arrays

# a failure that comes and goes with the seed is no use to the one who finds it
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

# in the background of a shell Ctrl-C is ignored, and whatever the tests start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every second test have sparse matrices however small: networks of tests are small."""
    if zlib.crc32(request.node.nodeid.encode()) % 2:
        monkeypatch.setattr(arrays, "_SMALL", 0)
