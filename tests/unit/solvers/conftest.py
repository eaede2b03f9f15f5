"""A session of the solver that a test is asked with."""

from collections.abc import Iterator

import pytest

from milp_verix.solvers import Session, open_session


@pytest.fixture
def session(solver: str) -> Iterator[Session]:
    """An open session, closed after the test."""
    opened = open_session(solver)
    yield opened
    opened.close()
