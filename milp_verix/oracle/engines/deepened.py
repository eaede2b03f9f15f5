"""Claims with deeper bounds of neurons: fewer binaries and smaller big-Ms for programs.

On `vnncomp-mnist-256x2` (MNIST image 24, ε = 0.05) Gurobi left 5 features undecided after 19 s of
work with CROWN's bounds, and none after 7 s with slopes and trees. A program that is easy without
them does not pay for them: it has half a second of work first.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from milp_verix.oracle.engines.claim import Claim, Decision, Deeper
from milp_verix.oracle.verdict import Answer, Stage, Verdict
from verix_encodings.propagation.alpha import beyond_input
from verix_encodings.propagation.deepening import Deepening

MANY = 12
"""Undecided neurons beyond the input; fewer leave little to gain."""

_DEEPEST = 2
_PART = 0.2
"""Of the work left: where rows are dear, as in convolutions, trees would take all of it."""


@dataclass(slots=True, eq=False)
class DeeperBounds:
    """Deepens the bounds of one claim after the other, by slopes and trees.

    ``seconds`` are those of the wall clock that stages took for the last claim.
    """

    seconds: dict[Stage, float] = field(default_factory=dict)

    def may_gain(self, claim: Claim) -> bool:
        """Return whether a stage is left that may gain something."""
        if claim.depth is None or claim.depth >= _DEEPEST:
            return False
        return beyond_input(claim.margins, claim.bounds) >= MANY

    def deepened(self, claim: Claim) -> Claim:
        """Return what deeper bounds leave open of ``claim``, after a part of the work left."""
        until, self.seconds = claim.deadline.share(_PART), {}
        deepening = Deepening(claim.margins, claim.region, claim.bounds, claim.depth or 0)
        while deepening.depth < _DEEPEST and not until.passed():
            stage, began = stage_of(deepening.depth + 1), time.monotonic()
            claim.on_stage(stage)
            deepening.go_on(until.passed)
            self.seconds[stage] = time.monotonic() - began
        claim.on_stage(Stage.SOLVES)
        upper = np.fmin(claim.upper, deepening.bounds[-1].upper)
        deeper = Deeper(deepening.bounds, deepening.depth)
        return claim.after(Decision(Verdict(Answer.UNKNOWN), upper, {}, deeper))


def stage_of(depth: int) -> Stage:
    """Return the stage whose bounds are so deep."""
    return (Stage.BOUNDS, Stage.SLOPES)[depth] if depth < 2 else Stage.TREES


def staged(verdict: Verdict, seconds: Mapping[Stage, float], stage: Stage) -> Verdict:
    """Return ``verdict`` of a ``stage``; its ``seconds`` of bounds are none of the search."""
    # whoever asked counts all seconds as those of the search
    spent = {**seconds, Stage.SOLVES: -sum(seconds.values())}
    stages = tuple(spent.get(one, 0.0) for one in Stage)
    return replace(verdict, effort=replace(verdict.effort, stages=stages), stage=stage)
