"""What every test may rely on."""

import signal
import zlib

import pytest
from hypothesis import settings

from milp_verix.solvers.phase import row_differences
from tests.allowed_skips import allowed_here, not_allowed
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


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "fail on a skip that tests/allowed_skips.py does not list"
    parser.addoption("--strict-skips", action="store_true", help=text)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a test was skipped that may not be; xdist's workers report to one process."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not session.config.getoption("strict_skips"):
        return
    messages = [report.longrepr[2] for report in reporter.stats.get("skipped", [])]
    found = not_allowed(messages, allowed_here())
    reporter.ensure_newline()
    for message in found:
        reporter.write_line(f"SKIPPED WITHOUT LEAVE: {message}", red=True)
    if found and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
