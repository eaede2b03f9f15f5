"""Times of solvers and formulations over many checks, and the numbers that a paper prints of them.

An instance is one check of one question: a network, an input, a ball, free features. A pair solves
it if its answer is definite. A run that is not solved is censored: its time is no time to an
answer, only a lower bound on one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.comparable import Compared
from milp_verix.results.comparison import Pair

SHIFT = 1.0
"""Seconds that the shifted geometric mean adds to each time, so that tiny times weigh little."""


@dataclass(frozen=True, slots=True)
class PairSummary:
    """One pair over the instances of a study.

    ``attempted`` of the ``instances`` were put to it, it ``solved`` some, and was the fastest on
    ``fastest`` of them. ``shifted_mean`` is the shifted geometric mean ``exp(mean log(t + s)) − s``
    with ``s = SHIFT``, in which a censored run counts as the limit; ``par2`` is the mean time in
    which it counts twice the limit (penalised average runtime). Both are in seconds, over all
    instances.
    """

    pair: Pair
    instances: int
    attempted: int
    solved: int
    fastest: int
    shifted_mean: float
    par2: float


@dataclass(frozen=True, slots=True, eq=False)
class SolverTimes(Compared):
    """Seconds of each of the ``pairs`` on each of the ``instances``.

    ``seconds`` has shape (pairs, instances), infinite where the run is censored; ``attempted``
    has the same shape, False where a pair does not take the program. ``limit`` is the
    limit of one check in seconds.
    """

    pairs: tuple[Pair, ...]
    instances: tuple[str, ...]
    seconds: NDArray[np.float64]
    attempted: NDArray[np.bool_]
    limit: float

    def summary(self) -> tuple[PairSummary, ...]:
        """Return the summary of each pair: most solved first, then the least shifted mean."""
        solved = np.isfinite(self.seconds)
        best = np.min(self.seconds, axis=0, initial=np.inf)
        fastest = solved & (self.seconds <= best)
        censored = np.where(solved, self.seconds, self.limit)
        shifted = np.exp(np.mean(np.log(censored + SHIFT), axis=1)) - SHIFT
        par2 = np.mean(np.where(solved, self.seconds, 2 * self.limit), axis=1)
        counts = (np.sum(one, axis=1).tolist() for one in (self.attempted, solved, fastest))
        columns = (self.pairs, *counts, shifted.tolist(), par2.tolist())
        size = len(self.instances)
        found = [PairSummary(pair, size, *row) for pair, *row in zip(*columns, strict=True)]
        return tuple(sorted(found, key=lambda one: (-one.solved, one.shifted_mean)))

    def ratios(self) -> NDArray[np.float64]:
        """Return each time divided by the best time of any pair on the instance, as ``seconds``.

        The share of instances whose ratio is at most ``τ`` is the performance profile of a pair
        (Dolan and Moré, 2002). It is infinite where the run is censored.
        """
        best = np.min(self.seconds, axis=0, initial=np.inf)
        return self.seconds / np.where(np.isfinite(best), best, 1.0)
