"""What every test may rely on."""

import signal

import pytest
from hypothesis import settings

from tests.allowed_skips import allowed_here, not_allowed

# a failure that comes and goes with the seed, or the load, is no use to the one who finds it
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# in the background of a shell Ctrl-C is ignored, and whatever the tests start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Networks of tests are small: storage meant for large ones would go untested. Modules whose code
# depends on storage ask for these fixtures, and each of their tests then runs once for each way.


@pytest.fixture(params=["dense", "sparse"])
def matrix_storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store the matrices of networks as ndarrays, as small ones are, or sparse where that pays."""
    if request.param == "sparse":
        monkeypatch.setattr("verix_encodings.arrays._SMALL", 0)


@pytest.fixture(params=["rows", "differences"])
def row_storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give similar rows to a linear program as they are, as short ones are, or as differences."""
    if request.param == "differences":
        monkeypatch.setattr("milp_verix.solvers.phase.row_differences._LONG", 2)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of a solver that cannot be used here."""
    for mark in item.iter_markers("solver"):
        from tests.support.installed_solvers import why_not

        if reason := why_not(*mark.args):
            pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "fail on a skip that tests/allowed_skips.py does not list"
    parser.addoption("--strict-skips", action="store_true", help=text)
    text = "seeds of random networks over mixed domains, each for one solver in turn"
    parser.addoption("--mixed-seeds", type=int, default=5, help=text)
    text = "batches of a hundred random uses of operators, read by the checker"
    parser.addoption("--operator-seeds", type=int, default=10, help=text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in ("mixed_seed", "operator_seed"):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, range(metafunc.config.getoption(f"{name}s")))


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
