"""The smallest explanation by implicit hitting sets: a second method beside scenarios.

    C ← ∅
    repeat   A ← a cheapest hitting set of C       its cost is a lower bound on every explanation
             if check(all but A) holds:            A is a minimum explanation
             C ← C ∪ {a contrastive set disjoint from A}

(Ignatiev, Previti, Liffiton, Marques-Silva, *Smallest MUS extraction with minimal hitting set
dualization*, CP 2015.) Each round adds disjoint contrastive sets until none is left. The features
in A and in these sets are then an explanation, so that there is an incumbent at any time. A
contrastive set is the changed features of a counterfactual, as many put back as forward passes
allow: to prove it minimal by checks takes longer than the rounds that this saves. Features in
``must`` and ``must_not`` are clauses of the hitting-set program from the start.
"""

from collections.abc import Callable

import numpy as np

from milp_verix.base.clock import Deadline
from milp_verix.oracle.statistics import SearchEffort
from milp_verix.oracle.subset_oracle import SubsetOracle
from milp_verix.searches.lower_bounds.hitting_set import LISTED, ListedSets, Proposal, propose
from milp_verix.searches.minimum.search import MinimumSearch
from milp_verix.solvers import Session
from verix_encodings.models.cover import Clause


class HittingSets:
    """The master by hitting sets of contrastive sets; see ``master.Master``."""

    notes: tuple[str, ...] = ()

    def __init__(self, search: MinimumSearch, open_session: Callable[[], Session]) -> None:
        self._incumbent = search.incumbent
        self._objective = objective = search.incumbent.objective
        listed = objective.whole and objective.costs.size <= LISTED
        self._listed = ListedSets(objective.costs) if listed else None
        self._session = None if listed else open_session()
        limit = search.incumbent.check_limit
        self._subsets = SubsetOracle(search.incumbent.oracle, search.until, limit)
        self._never = frozenset(np.flatnonzero(objective.must_not).tolist())
        always = np.flatnonzero(objective.must).tolist()
        self._clauses = [Clause(any_of=frozenset([f])) for f in always]
        self._clauses += [Clause(not_all_of=frozenset([f])) for f in sorted(self._never)]
        self._ended = False
        self._given, self._rounds = len(self._clauses), 0
        self.bound = 0.0

    @property
    def done(self) -> bool:
        """True if the bound reaches the cutoff, or a round found no contrastive set."""
        return self._ended or self.bound >= self._incumbent.cutoff

    @property
    def effort(self) -> SearchEffort:
        """The contrastive sets and programs so far: a round solves one, unless sets are listed."""
        known = len(self._clauses) - self._given
        programs = 0 if self._session is None else self._rounds
        return SearchEffort("hitting sets", self._rounds, known, programs=programs)

    def step(self, deadline: Deadline) -> None:
        """Find a cheapest hitting set, and add contrastive sets until an explanation is left."""
        self._rounds += 1
        subsets = self._subsets
        proposal = self._proposal(deadline)
        if not proposal.exhausted:
            self.bound = max(self.bound, proposal.bound)
        self._ended = proposal.chosen is None
        if proposal.chosen is None or self.bound >= self._incumbent.cutoff:
            return
        free, learnt = subsets.everything - proposal.chosen, False
        verdict = subsets.check(free)
        while verdict.violated:
            contrast = subsets.changed(verdict)
            self._clauses.append(Clause(any_of=contrast))
            learnt, free = True, free - (contrast - self._never)
            verdict = subsets.check(free)
        if verdict.holds:
            chosen = np.ones(self._objective.costs.size, dtype=bool)
            chosen[sorted(free)] = False
            self._incumbent.take(chosen)
        self._ended = not learnt

    def _proposal(self, deadline: Deadline) -> Proposal:
        """Return a cheapest set that satisfies all clauses, and a bound on its cost."""
        if self._listed is not None:
            return self._listed.propose(self._clauses)
        assert self._session is not None
        objective = self._objective
        return propose(
            self._session, objective.costs, self._clauses, deadline, whole=objective.whole
        )

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._session.close()
