"""The engine ``beta``: claims decided by branching on phases, over bounds that become deeper.

The search on margins and the deepening of neurons' bounds take turns: the search goes on for a
fifth of the work that the next stage is expected to take, and begins anew after each stage.

Over balls of L1 and L2 a search begins with the nodes of the last one, over whatever ball: phases
cover all inputs. Of the nodes of `mnist-10x2` most are closed by the multipliers that they have.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.oracle.engines.beta_search import PhaseNodes, PhaseSearch
from milp_verix.oracle.engines.engine import BoundsEngine, Claim, Decision, Deeper, Replays, decided
from milp_verix.oracle.engines.programs import MANY, stage_of, staged
from milp_verix.oracle.verdict import Stage
from milp_verix.problem.problem import ProblemData
from verix_encodings import Bounds, Network, NormBall
from verix_encodings.alpha import beyond_input
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.deepening import Deepening
from verix_encodings.interval_bounds import cone, kept_neurons
from verix_encodings.row_slopes import Relaxed
from verix_encodings.work import worked

_FIRST = 0.25  # seconds of work on margins before the first stage; not measured
_PART = 0.2  # of the work that the next stage is expected to take; not measured
_TREES = 5.0  # times the work of slopes that the first trees take: 5.5 and 6.2 on two networks
_DEEPER = 2.0  # times the work that the trees before take
_RESUMED = 1.5  # of the work left: a search for a block is resumed once
_RECENT = 2  # searches that are kept
_MOST_INHERITED = 1024  # nodes of a search that the next one begins with; 512 was slower
_MOST_VALUES = 2**22  # of the network, at all of these nodes: 32 MB
_STUCK = "phases are split, and bounds still leave margins open; the worst seen is {:.2e}"


class PhaseSplit(BoundsEngine):
    """Decides claims by phase searches; the last ones go on where they stopped if asked again."""

    name = "beta"

    def __init__(self, problem: ProblemData) -> None:
        super().__init__(problem)
        self._recent: list[_Turns] = []
        self._costs: dict[int, float] = {}

    def close(self) -> None:
        """Forget the last searches."""
        self._recent = []

    def decide(self, claim: Claim) -> Decision:
        """Decide ``claim`` by its deadline, which is looked at between batches."""
        turns = self._turns_for(claim)
        before, turns.seconds = turns.nodes, {}
        search = turns.search
        search.wanted = np.isin(turns.margins, claim.open_)
        with np.errstate(over="ignore", invalid="ignore"):
            holds = turns.run(claim.deadline, claim.on_stage)
        search = turns.search
        upper = claim.upper.copy()
        upper[turns.margins] = search.upper
        points = {
            int(margin): search.tried.worst[place]
            for place, margin in enumerate(turns.margins)
            if np.isfinite(search.tried.reached[place])
        }
        reason = None if holds else search.reason(claim.deadline, _STUCK)
        nodes = turns.nodes - before
        found = decided(claim, upper, points, turns.replays.verdict, reason, nodes=nodes)
        by_bounds = holds and not search.nodes
        stage = stage_of(turns.deepening.depth) if by_bounds else Stage.SOLVES
        found = replace(found, verdict=staged(found.verdict, turns.seconds, stage))
        if claim.depth is None:
            return found
        return replace(found, deeper=Deeper(turns.deepening.bounds, turns.deepening.depth))

    def _turns_for(self, claim: Claim) -> "_Turns":
        """Return the search for ``claim``, begun anew unless it is among the recent ones."""
        for turns in self._recent:
            known = np.isin(claim.open_, turns.margins).all()
            if turns.deepening.bounds is claim.bounds and known:
                return turns
        cover = self._recent[0].cover if self._recent else None
        turns = _Turns(self._problem, claim, self._costs, cover)
        self._recent = [turns, *self._recent[: _RECENT - 1]]
        return turns


@dataclass(slots=True, eq=False)
class _Turns:
    """The ``search`` for the open ``margins`` of a claim in ascending order, and its bounds.

    ``seconds`` are those of the wall clock that stages took, for readers. ``costs`` has the work of
    each stage of ``deepening`` so far, in seconds, by the depth before, for other claims, too.
    ``inherited`` are the nodes of another claim, to begin with.
    """

    problem: ProblemData
    first: Claim
    costs: dict[int, float]
    inherited: "Cover | None" = None
    margins: IntArray = field(init=False)
    deepening: Deepening = field(init=False)
    replays: Replays = field(init=False)
    search: PhaseSearch = field(init=False)
    seconds: dict[Stage, float] = field(default_factory=dict)
    _searched: float = 0.0
    _stage_so_far: float = 0.0
    _closed_nodes: int = 0
    _names: IntArray = field(init=False)

    def __post_init__(self) -> None:
        claim = self.first
        self.margins = np.sort(claim.open_)
        self.replays = Replays(self.problem, claim.free)
        self.deepening = Deepening(claim.margins, claim.region, claim.bounds, claim.depth or 0)
        self.search = self._started(claim.bounds, claim.upper[self.margins])

    @property
    def nodes(self) -> int:
        """The nodes of all searches and trees so far."""
        return self._closed_nodes + self.search.nodes + self.deepening.nodes

    def run(self, deadline: Deadline, on_stage: Callable[[Stage], None]) -> bool:
        """Search and deepen in turns; return whether all margins hold.

        ``on_stage`` is called where a stage begins.
        """
        while True:
            search, began = self.search, worked()
            if np.all(search.upper < -search.needed):
                return True
            deepens = self._deepens(deadline)
            # no work on margins within a stage
            turn = 0.0 if self.deepening.started else max(_FIRST, _PART * self._expected)
            until = deadline.within(max(turn - self._searched, 0.0)) if deepens else deadline
            holds = search.run(until.passed)
            self._searched += elapsed_work(began)
            if holds or search.tried.found or deadline.passed() or not deepens:
                return holds
            self._deepen(deadline, on_stage)
            if deadline.passed() and not np.all(self.search.upper < -search.needed):
                return False

    def _deepens(self, deadline: Deadline) -> bool:
        """Return whether a stage is left that may gain something, and can end by the deadline."""
        deepening = self.deepening
        if self.first.depth is None or deepening.ended:
            return False
        if deepening.started:
            return True
        fits = self._expected <= _RESUMED * deadline.left
        return fits and beyond_input(deepening.network, deepening.bounds) >= MANY

    @property
    def _expected(self) -> float:
        """The work that the next stage is expected to take, in seconds."""
        depth = self.deepening.depth
        before = self.costs.get(depth - 1, 0.0) * (_TREES if depth == 1 else _DEEPER)
        return self.costs.get(depth, before)

    def _deepen(self, deadline: Deadline, on_stage: Callable[[Stage], None]) -> None:
        """Go on with the next stage; once it is finished, begin the search anew."""
        began, started, before = worked(), time.monotonic(), self.deepening.depth
        stage = stage_of(before + 1)
        on_stage(stage)
        self.deepening.go_on(deadline.passed)
        on_stage(Stage.SOLVES)
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.monotonic() - started
        self._stage_so_far += elapsed_work(began)
        self.costs[before] = max(self._stage_so_far, self.costs.get(before, 0.0))
        last = self.deepening.bounds[-1].upper[self.margins]
        proven = np.all(last < -self.search.needed)
        if self.deepening.depth == before and not proven:
            return
        self._stage_so_far = 0.0
        self._closed_nodes += self.search.nodes
        self.inherited = self.cover or self.inherited
        tried, wanted = self.search.tried, self.search.wanted
        self.search = self._started(self.deepening.bounds, np.fmin(self.search.upper, last))
        self.search.tried, self.search.wanted = tried, wanted
        self._searched = 0.0

    def _started(self, bounds: Bounds, upper: FloatArray) -> PhaseSearch:
        claim = self.first
        network, inner, _ = cone(claim.margins, bounds, len(claim.margins.nodes), self.margins)
        needed = claim.needed[self.margins]
        search = PhaseSearch(network, claim.region, inner, upper, needed, self.replays)
        if isinstance(claim.region, NormBall) and not search.relaxed.points:
            search.proof = []
            search.most = min(_MOST_INHERITED, _MOST_VALUES // sum(network.sizes))
            self._names = _names(claim.margins, bounds, self.margins, search.relaxed)
            if self.inherited is not None and self.inherited.network is claim.margins:
                search.inherited = self.inherited.begun(search, self.margins, self._names, bounds)
        return search

    @property
    def cover(self) -> "Cover | None":
        """The nodes of the search, to begin others with; None if it kept none, or too many."""
        nodes = self.search.cover
        if nodes is None or len(nodes) > self.search.most:
            return None
        margin = self.margins[nodes.margin]
        return Cover(self.first.margins, margin, self._names, nodes.signs, nodes.dials)


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Phases of neurons of ``network`` that cover all inputs, for each of some margins.

    ``margin`` are the margins, (N,), ``names`` numbers of the neurons, (count,), and ``signs`` and
    ``dials`` those of nodes, (N, count). Each input has one of the phases of a split, whatever the
    ball, so that nodes serve all balls; dials are a first guess.
    """

    network: Network
    margin: IntArray
    names: IntArray
    signs: FloatArray
    dials: FloatArray

    def begun(
        self, search: PhaseSearch, margins: IntArray, names: IntArray, bounds: Bounds
    ) -> PhaseNodes:
        """Return nodes for ``search`` on ``margins``, whose dials are those of ``names``."""
        _, old, new = np.intersect1d(self.names, names, return_indices=True)
        # of neurons without a choice in this ball, nodes of the other phase are empty
        gone = np.setdiff1d(np.arange(self.names.size), old)
        low, high = (
            np.concatenate([getattr(b, end) for b in bounds]) for end in ("lower", "upper")
        )
        low, high, signs = low[self.names[gone]], high[self.names[gone]], self.signs[:, gone]
        empty = (signs > 0) & (high < 0) | (signs < 0) & (low > 0)
        kept = np.isin(self.margin, margins) & ~empty.any(axis=1)
        dials = search.relaxed.first_dials(int(kept.sum()))
        signs = np.zeros_like(dials)
        signs[:, new], dials[:, new] = self.signs[kept][:, old], self.dials[kept][:, old]
        return search.begun(np.searchsorted(margins, self.margin[kept]), signs, dials)


def _names(network: Network, bounds: Bounds, margins: IntArray, relaxed: Relaxed) -> IntArray:
    """Return the numbers among all values of the neurons whose phases are dials, (count,).

    They are numbers in ``network``, and dials of ``relaxed``, the cone of ``margins``.
    """
    kept = list(kept_neurons(network, bounds, len(network.nodes), margins).items())
    first = np.cumsum([0, *network.sizes])
    sources = ((kept[one.source], one.free) for one in relaxed.layers)
    names = [first[value] + neurons[free] for (value, neurons), free in sources]
    return np.concatenate([np.zeros(0, dtype=np.intp), *names])
