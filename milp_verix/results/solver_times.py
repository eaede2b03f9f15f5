"""Times of solvers and formulations over many programs, and the numbers that a paper prints.

An instance is one program of one question: a network, an input, a ball, free features, a rival. A
pair solves it if its answer is definite. A run that is not solved is censored: its time is no time
to an answer, only a lower bound on one. No instance is left out of a mean for being unsolved.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.comparable import Compared
from milp_verix.results.comparison import Pair

SHIFT = 1.0
"""Seconds that the shifted geometric mean adds to each time, so that tiny times weigh little."""

_RESAMPLES, _LEVEL = 2000, 0.95
_LEAST = 1e-3
"""Seconds that shorter times count as in ratios: some clocks have no finer parts."""


@dataclass(frozen=True, slots=True)
class PairSummary:
    """One pair over the instances of a study.

    ``attempted`` of the ``instances`` were put to it, it ``solved`` some, and was the fastest on
    ``fastest`` of them. ``shifted_mean`` is the shifted geometric mean ``exp(mean log(t + s)) − s``
    in which a censored run counts as the limit; ``par2`` and ``par10`` are mean times in which it
    counts twice and ten times the limit (penalised average runtime). All are in seconds, over the
    instances attempted, NaN if there are none.

    ``whole_mean`` is the shifted mean of the wall-clock time of whole questions, replays included.

    ``ratio`` is that of ``shifted_mean + s`` to the best pair's, over the instances that both
    attempted; it is NaN if there are none. The interval from ``ratio_low`` to
    ``ratio_high`` has a level of 95 %, by a bootstrap over checks: rivals of one check are drawn
    together. ``p`` is that of Wilcoxon's signed-rank test on the paired times, 1 for the best pair
    itself.
    """

    pair: Pair
    instances: int
    attempted: int
    solved: int
    fastest: int
    shifted_mean: float
    par2: float
    par10: float
    ratio: float
    ratio_low: float
    ratio_high: float
    p: float
    whole_mean: float

    @property
    def differs(self) -> bool:
        """True if the interval of the ratio excludes 1: only then is it called a difference."""
        return self.ratio_low > 1.0 or self.ratio_high < 1.0


@dataclass(frozen=True, slots=True, eq=False)
class SolverTimes(Compared):
    """Seconds of each of the ``pairs`` on each of the ``instances``.

    ``seconds`` has shape (pairs, instances), infinite where the run is censored; ``attempted``
    has the same shape, False where a pair does not take the program. ``limit`` is the limit of one
    program in seconds, or the longest time where there was no limit and it is not ``limited``;
    ``shift`` is what shifted means add. ``whole`` are those of the whole check, as ``seconds``, and
    ``clock`` says what the others are by.
    """

    pairs: tuple[Pair, ...]
    instances: tuple[str, ...]
    seconds: NDArray[np.float64]
    attempted: NDArray[np.bool_]
    limit: float
    shift: float = SHIFT
    limited: bool = True
    whole: NDArray[np.float64] | None = None
    clock: str = "solver"

    def summary(self) -> tuple[PairSummary, ...]:
        """Return the summary of each pair: most solved first, then the least shifted mean."""
        size = len(self.instances)
        if not size or not self.pairs:
            return ()
        solved = np.isfinite(self.seconds)
        best = np.min(self.seconds, axis=0, initial=np.inf)
        fastest = solved & (self.seconds <= best)
        asked = self.attempted.sum(axis=1)
        counts = np.where(asked, asked, np.nan)

        def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(np.where(self.attempted, values, 0.0).sum(axis=1) / counts)

        both = self.seconds, self.seconds if self.whole is None else self.whole
        logs, all_logs = (np.log(np.where(solved, own, self.limit) + self.shift) for own in both)
        means, all_means = np.exp(mean(logs)), np.exp(mean(all_logs))
        order = np.lexsort((means, -solved.sum(axis=1)))
        first = int(order[0])
        apart = np.where(self.attempted & self.attempted[first], logs - logs[first], np.nan)
        middle, low, high = self._intervals(apart)
        par2, par10 = (
            mean(np.where(solved, self.seconds, times * self.limit)) for times in (2, 10)
        )
        return tuple(
            PairSummary(
                self.pairs[k],
                instances=size,
                attempted=int(self.attempted[k].sum()),
                solved=int(solved[k].sum()),
                fastest=int(fastest[k].sum()),
                shifted_mean=float(means[k] - self.shift),
                par2=float(par2[k]),
                par10=float(par10[k]),
                ratio=float(middle[k]),
                ratio_low=float(low[k]),
                ratio_high=float(high[k]),
                p=1.0 if k == first else _signed_rank(apart[k][~np.isnan(apart[k])]),
                whole_mean=float(all_means[k] - self.shift),
            )
            for k in order.tolist()
        )

    def _intervals(self, logs: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the means of ``logs``, (pairs, instances), and their intervals' ends, as ratios.

        A resample draws checks, with all their rivals, from those of the study.
        """
        names = [instance.partition(", rival ")[0] for instance in self.instances]
        _, check = np.unique(names, return_inverse=True)
        known = ~np.isnan(logs)
        sums = np.stack([np.bincount(check, weights=row) for row in np.nan_to_num(logs)])
        sizes = np.stack([np.bincount(check, weights=row) for row in known])
        count = sums.shape[1]
        drawn = np.random.default_rng(0).integers(count, size=(_RESAMPLES, count))
        tail, found = (1 - _LEVEL) / 2, np.full((3, len(logs)), np.nan)
        for k in np.flatnonzero(known.any(axis=1)):
            total = sizes[k, drawn].sum(axis=1)
            means = (sums[k, drawn].sum(axis=1) / np.maximum(total, 1))[total > 0]
            ends = np.quantile(means, (tail, 1 - tail))
            found[:, k] = np.exp([sums[k].sum() / sizes[k].sum(), *ends])
        return found[0], found[1], found[2]

    def ratios(self) -> NDArray[np.float64]:
        """Return each time divided by the best time of any pair on the instance, as ``seconds``.

        The share of instances whose ratio is at most ``τ`` is the performance profile of a pair
        (Dolan and Moré, 2002). It is infinite where the run is censored, and times
        below a millisecond count as one.
        """
        seconds = np.maximum(self.seconds, _LEAST)
        best = np.min(seconds, axis=0, initial=np.inf)
        return seconds / np.where(np.isfinite(best), best, 1.0)


def _signed_rank(differences: NDArray[np.float64]) -> float:
    """Return the p-value of Wilcoxon's signed-rank test: 1 for equal times, NaN for no times."""
    from scipy.stats import wilcoxon

    if not np.any(differences):
        return 1.0 if differences.size else float("nan")
    return float(wilcoxon(differences).pvalue)
