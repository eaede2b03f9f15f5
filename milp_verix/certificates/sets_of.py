"""Proofs about all sets of features at once, from sets that keep the prediction and changes of it.

A tree of cases is grown depth first: a feature is in, or out. In an open case a set is asked about
that no change found so far refutes. It has a change, which is made minimal, or it keeps the
prediction, and is made minimal, too; either goes on closing cases, and so few are asked about. A
lower bound needs changes alone; the weights of a leaf are a dual solution of the covering program.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from milp_verix.base.clock import Deadline, Limit
from milp_verix.certificates.certificate import exact
from milp_verix.certificates.phase_leaves import NoProofError, Tree, require_time
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.oracle.verdict import TIME_LIMIT
from milp_verix.problem.problem import ProblemData
from milp_verix.results.importance import Importance
from verix_checker.claim import Claim
from verix_checker.forms import UnitError
from verix_checker.minimum import Budget

Set = frozenset[int]
Keeper = Callable[[Set], list[Tree]]
"""Trees that prove that the prediction stays where these features move; ``NoProofError`` if none.
"""
_WEIGHT = 2**-20


class SetProof:
    """A proof about the sets of features of ``problem``, in the terms of ``claim``."""

    def __init__(self, problem: ProblemData, claim: Claim, deadline: Deadline) -> None:
        self.claim, self.deadline = claim, deadline
        self.count = problem.features.count
        self.changes: list[Set] = []
        self.points: list[dict[str, Any]] = []
        self._oracle = Oracle(problem)
        self._subsets = SubsetOracle(self._oracle, deadline, Limit())
        self._problem = problem

    def close(self) -> None:
        """Close the sessions of solvers."""
        self._oracle.close()

    def changed(self, outside: Set) -> bool:
        """Add a change of features ``outside``; False if there is none; or ``NoProofError``."""
        found = self._subsets.check(outside)
        if found.holds:
            return False
        if not found.violated:
            raise NoProofError(found.reason or TIME_LIMIT)
        self.add(self._subsets.shrink(found)[0].witness)
        if not self.changes[-1] <= outside:
            raise NoProofError("a change moves other features")
        return True

    def add(self, witness: Any) -> None:
        """Add a change; ``NoProofError`` where exact arithmetic does not confirm it."""
        given, centre = witness.reshape(-1).tolist(), self._problem.x.tolist()
        claim = self.claim
        try:
            point = [claim.one, *map(claim.net.number, given)]
        except UnitError as error:
            raise NoProofError("a counterfactual has more digits than the claim") from error
        every = {*range(1, len(point))}
        if not (claim.ball.holds(point, every) and claim.changed(point)):
            raise NoProofError("exact arithmetic does not confirm a counterfactual")
        moved = [i for i, (a, b) in enumerate(zip(given, centre, strict=True)) if a != b]
        owners = self._problem.features.of_coordinate
        self.changes.append(frozenset(int(owners[i]) for i in moved))
        self.points.append({str(i): exact(given[i]) for i in moved})

    def minimal(self, kept: Sequence[int]) -> Set:
        """Return a minimal set inside of ``kept``, without its first features if possible."""
        every = frozenset(range(self.count))
        free, _ = self._subsets.grow(every - {*kept}, kept)
        return every - free


def _split(f: int, grown: Callable[[Set, Set], Tree], inside: Set, outside: Set) -> Tree:
    return {
        "feature": f,
        "out": grown(inside, outside | {f}),
        "in": grown(inside | {f}, outside),
    }


def bound_by_changes(found: SetProof, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a proof that no explanation costs less than ``question`` says; or ``NoProofError``."""
    sets = Budget(found.count, 1, question)
    costs, budget = np.array(sets.costs[1:], dtype=object), sets.budget
    must, must_not = (frozenset(question.get(name) or ()) for name in ("must", "must_not"))

    def grown(inside: Set, outside: Set) -> Tree:
        while True:
            require_time(found.deadline)
            left = [j for j, change in enumerate(found.changes) if not change & inside]
            done = next((j for j in left if found.changes[j] <= outside), None)
            if done is not None:
                return {"weights": {str(done): 1}}
            spare = budget - sum(costs[list(inside)])
            if spare < 0:
                return {"weights": {}}
            weights, point = _covered([found.changes[j] - outside for j in left], costs)
            if sum(weights) > spare:
                return {
                    "weights": {str(j): exact(w) for j, w in zip(left, weights, strict=True) if w}
                }
            chosen = inside | _hitting([found.changes[j] - outside for j in left], costs, point)
            if sum(costs[list(chosen)]) > budget:
                f = max(point, key=lambda one: (min(point[one], 1 - point[one]), point[one], -one))
                return _split(f, grown, inside, outside)
            if not found.changed(frozenset(range(found.count)) - chosen):
                raise NoProofError("a set that is cheaper keeps the prediction")

    tree = grown(must, must_not)
    return {"changes": found.points, "tree": tree}


def _covered(changes: Sequence[Set], costs: Any) -> tuple[list[Fraction], dict[int, float]]:
    """Return weights of ``changes`` within ``costs``, exactly, and a fractional cover of them."""
    from scipy.optimize import linprog  # it takes a third of a second to load

    members = sorted({f for change in changes for f in change})
    if not members:
        return [], {}
    place = {f: i for i, f in enumerate(members)}
    rows = [j for j, change in enumerate(changes) for _ in change]
    columns = [place[f] for change in changes for f in change]
    matrix = sp.csr_array((np.ones(len(rows)), (rows, columns)), (len(changes), len(members)))
    most = max([1, *(int(costs[f]) for f in members)])
    prices = np.array([float(Fraction(costs[f], most)) for f in members])
    solved = linprog(prices, A_ub=-matrix, b_ub=-np.ones(len(changes)), method="highs-ds")
    if not solved.success:
        raise NoProofError(f"HiGHS finds no weights of changes: {solved.message}")
    duals = np.maximum(-np.asarray(solved.ineqlin.marginals), 0.0)
    weights = [most * Fraction(int(np.round(w / _WEIGHT))) * Fraction(_WEIGHT) for w in duals]
    spent = [Fraction(0)] * len(members)
    for weight, change in zip(weights, changes, strict=True):
        for f in change:
            spent[place[f]] += weight
    over = max((s / costs[f] for s, f in zip(spent, members, strict=True) if costs[f]), default=1)
    free = any(s and not costs[f] for s, f in zip(spent, members, strict=True))
    weights = [Fraction(0) if free else w / max(over, 1) for w in weights]
    return weights, dict(zip(members, np.clip(solved.x, 0.0, 1.0).tolist(), strict=True))


def _hitting(changes: Sequence[Set], costs: Any, point: Mapping[int, float]) -> Set:
    """Return features that hit all of ``changes``, cheap ones that a cover wants first."""
    chosen: set[int] = {f for f, share in point.items() if share > 1 - 1e-6}
    left = [change for change in changes if not change & chosen]
    while left:
        hits = {f: sum(f in change for change in left) for change in left for f in change}
        best = max(hits, key=lambda f: (hits[f] / float(costs[f] or 0.5), point[f], -f))
        chosen.add(best)
        left = [change for change in left if best not in change]
    for f in sorted(chosen, key=lambda one: -costs[one]):
        if all(change & (chosen - {f}) for change in changes):
            chosen.remove(f)
    return frozenset(chosen)


def no_part_proof(found: SetProof, protected: Set, keeper: Keeper) -> dict[str, Any]:
    """Prove that no minimal explanation has a ``protected`` feature; or ``NoProofError``."""
    others = frozenset(range(found.count)) - protected
    kept: list[Set] = []

    def grown(inside: Set, outside: Set) -> Tree:
        require_time(found.deadline)
        for name, closed in (
            ("change", [j for j, one in enumerate(found.changes) if one <= outside]),
            ("kept", [j for j, one in enumerate(kept) if one <= inside]),
        ):
            if closed:
                return {name: closed[0]}
        open_ = others - inside - outside
        if not any(one <= outside | open_ for one in found.changes) and not any(
            one <= inside | open_ for one in kept
        ):
            # the smallest set of the case, with the protected features
            if found.changed(outside | open_):
                return grown(inside, outside)
            smallest = found.minimal([*sorted(protected), *sorted(inside)])
            if smallest & protected:
                raise NoProofError("a minimal explanation has such a feature")
            kept.append(smallest)
            return grown(inside, outside)
        near: list[Set] = [one - inside for one in kept if not one & outside]
        near += [one - outside for one in found.changes if not one & (inside | protected)]
        smallest_open = sorted((sorted(one) for one in near), key=lambda one: (len(one), one))
        return _split(smallest_open[0][0], grown, inside, outside)

    tree = grown(frozenset(), frozenset())
    return {"changes": found.points, "kept": _proven(found, kept, keeper), "tree": tree}


def importance_proof(found: SetProof, importance: Importance, keeper: Keeper) -> dict[str, Any]:
    """Return a proof of all that the brackets rest on; or ``NoProofError``."""
    for one in importance.contrasts:
        found.add(one.counterfactual.input)
    kept = [frozenset(one) for one in importance.sufficient]
    return {"changes": found.points, "kept": _proven(found, kept, keeper)}


def _proven(found: SetProof, kept: Sequence[Set], keeper: Keeper) -> list[dict[str, Any]]:
    """Return sets that keep the prediction with their trees."""
    every = frozenset(range(found.count))
    return [{"features": sorted(one), "trees": keeper(every - one)} for one in kept]
