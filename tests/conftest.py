"""What every test may rely on."""

import os
import signal
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.allowed_skips import allowed_here, not_allowed
from tests.selection import DEFAULT, MARKS, chosen, repeated, told

LEFT_OUT = pytest.StashKey[dict[str, int]]()

# a failure that comes and goes with the seed, or the load, is no use to the one who finds it
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

# in the background of a shell Ctrl-C is ignored, and whatever the tests start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Without caches of bytecode each worker would rewrite all tests anew, for half a minute, and each
# process of a test would compile all that it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


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
        monkeypatch.setattr("milp_verix.solvers.warm_lp._LONG", 2)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of a solver that cannot be used here."""
    for mark in item.iter_markers("solver"):
        from tests.support.installed_solvers import why_not

        if reason := why_not(*mark.args):
            pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "fail on a skip that tests/allowed_skips.py does not list"
    parser.addoption("--strict-skips", action="store_true", help=text)
    more = " and ".join(map(str, MARKS.values()))
    text = f"how many seeds each test of random cases gets; {more} run slower tests, too"
    parser.addoption("--seeds", type=int, default=DEFAULT, metavar="N", help=text)
    text = "leave out what a run with --seeds N has"
    parser.addoption("--after", type=int, default=0, metavar="N", help=text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in metafunc.fixturenames:
        if name.endswith("_seed"):
            metafunc.parametrize(name, range(metafunc.config.getoption("seeds")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that ``--seeds`` and ``--after`` leave out, and remember how many."""
    kept, out = chosen(items, config.getoption("seeds"), config.getoption("markexpr"))
    if again := set(repeated(items, config.getoption("after"))):
        out[f"run by --seeds {config.getoption('after')}"] = list(again)
    items[:] = [item for item in kept if item not in again]
    config.stash[LEFT_OUT] = {reason: len(tests) for reason, tests in out.items()}
    config.hook.pytest_deselected(items=[test for tests in out.values() for test in tests])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the numbers from a worker of xdist: each collects all tests, the first process none."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which tests were left out, and why."""
    if left_out := config.stash.get(LEFT_OUT, {}):
        terminalreporter.write_line(told(left_out, config.getoption("seeds")))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a test was skipped that may not be; xdist's workers report to one process."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, {})
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
