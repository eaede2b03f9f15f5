"""The option ``pytest --milp-verix-solver NAME``: each case of the suite is one test.

pytest imports this module each time that it starts, so all else waits for the option.
"""

from typing import Any

import pytest

_OPTION = "--milp-verix-solver"
_SECONDS = 60.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option, which may be given for several solvers."""
    text = "put a solver of milp-verix to its suite, each case as a test; may be repeated"
    group = parser.getgroup("milp-verix")
    group.addoption(_OPTION, action="append", default=[], metavar="NAME", help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the cases of the solvers asked for; ``-k`` chooses among them as among other tests."""
    for name in config.getoption(_OPTION):
        items += session.genitems(_suite(session, name))


def _suite(session: pytest.Session, name: str) -> "_Suite":
    from milp_verix.base.errors import InputError
    from milp_verix.testing.conformance import solver_of

    try:
        solver = solver_of(name)
    except InputError as error:
        raise pytest.UsageError(str(error)) from error
    at = f"{_OPTION}={name}"
    return _Suite.from_parent(session, name=at, nodeid=at, solver=solver)


class _Suite(pytest.Collector):
    """The cases of one solver."""

    def __init__(self, solver: Any, **given: Any) -> None:
        super().__init__(**given)
        self._solver = solver

    def collect(self) -> list["_Item"]:
        """Return an item for each case that fits the solver's capabilities."""
        from milp_verix.testing.cases import cases_for

        cases, solver = cases_for(self._solver.capabilities), self._solver
        return [_Item.from_parent(self, name=one.name, case=one, solver=solver) for one in cases]


class _Item(pytest.Item):
    """One case of one solver."""

    def __init__(self, case: Any, solver: Any, **given: Any) -> None:
        super().__init__(**given)
        self._trial = case, solver, _SECONDS

    def runtest(self) -> None:
        """Fail the test with what was expected and seen."""
        from milp_verix.testing.conformance import attempt

        if (failure := attempt(*self._trial)) is not None:
            pytest.fail(f"expected {failure.expected}\nseen: {failure.seen}", pytrace=False)
