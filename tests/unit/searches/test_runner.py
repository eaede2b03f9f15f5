"""A search that is run ends with its result, whatever stops it, and tells of each step."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from milp_verix.base.clock import OutOfTimeError
from milp_verix.searches.runner import AnytimeSearch, stopping
from tests.support.interrupts import interrupt


@dataclass(eq=False)
class Counting(AnytimeSearch[int, tuple[int, ...]]):
    """Counts to four; the steps in ``errors`` raise theirs."""

    errors: dict[int, type[BaseException]] = field(default_factory=dict)
    found: list[int] = field(default_factory=list)

    def _search(self) -> None:
        for step in range(4):
            if step in self.errors:
                raise self.errors[step]
            self.found.append(step)
            self.tell()

    def _state(self) -> int:
        return len(self.found)

    def _snapshot(self) -> Callable[[], tuple[int, ...]]:
        known = tuple(self.found)
        return lambda: known


@pytest.mark.parametrize(
    ("error", "why"),
    [(None, None), (OutOfTimeError, "time limit"), (KeyboardInterrupt, "interrupted")],
)
@pytest.mark.parametrize("step", range(4))
def test_what_stops_a_search_leaves_the_result_so_far(
    step: int, error: type[BaseException] | None, why: str | None
) -> None:
    search = Counting({} if error is None else {step: error})
    steps = tuple(range(4 if error is None else step))
    states: list[int] = []
    kept: list[Callable[[], tuple[int, ...]]] = []
    assert search.run(states.append, kept.append) == steps
    assert search.stopped == why
    assert states == [one + 1 for one in steps]
    # the first snapshot is of the beginning; later steps change none
    assert [snapshot() for snapshot in kept] == [steps[:count] for count in range(len(steps) + 1)]


def test_ctrl_c_by_a_watcher_and_while_the_result_is_built_gives_the_result() -> None:
    for watchers, found in (((None, interrupt), ()), ((interrupt, None), (0,))):
        search = Counting()
        assert search.run(*watchers) == found
        assert search.stopped == "interrupted"

    class Slow(Counting):
        def result(self) -> tuple[int, ...]:
            if self.stopped is None:
                raise KeyboardInterrupt
            return super().result()

    search = Slow()
    assert search.run(None, None) == (0, 1, 2, 3)
    assert search.stopped == "interrupted"


def test_any_other_error_ends_a_search() -> None:
    with pytest.raises(ZeroDivisionError):
        Counting({2: ZeroDivisionError}).run(None, None)
    search = Counting()
    with pytest.raises(ZeroDivisionError), stopping(search):
        raise ZeroDivisionError
    assert search.stopped is None
