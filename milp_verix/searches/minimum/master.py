"""The interface of masters: the methods that raise the lower bound of a search."""

from typing import Protocol

from milp_verix.base.clock import Deadline
from milp_verix.oracle.statistics import SearchEffort


class Master(Protocol):
    """A method that raises the lower bound step by step."""

    @property
    def bound(self) -> float:
        """A lower bound on the cost of every explanation cheaper than the incumbent.

        It is infinite once no cheaper explanation exists.
        """

    @property
    def done(self) -> bool:
        """True if no further step can raise the bound, or none is needed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the reader of the result on how the bound came about."""

    @property
    def effort(self) -> SearchEffort:
        """The programs, nodes and iterations spent on the bound so far."""

    def step(self, deadline: Deadline) -> None:
        """Do one step, which ends at ``deadline`` at the latest."""

    def close(self) -> None:
        """Release the solver."""
