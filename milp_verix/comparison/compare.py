"""Ask several solvers and formulations the same question, and see that their answers agree.

Lists of checks stand in files, so that every solver can answer the same checks:

    {"schema": 1, "features": 64, "checks": [[0], [0, 5], ...]}

A check is the list of the features that are free; ``features`` is the number of all features.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from math import inf, isfinite
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, TypedDict

from milp_verix.base.arguments import indices_of, integer_of
from milp_verix.base.clock import NO_LIMIT, Deadline, deadline_in
from milp_verix.base.errors import InputError, SolverError, refusing, require_one_of
from milp_verix.base.files import write_atomically
from milp_verix.base.stored_kinds import Count, Indices
from milp_verix.base.stored_numbers import json_in
from milp_verix.base.tolerances import Tolerances
from milp_verix.comparison.contradictions import contradictions
from milp_verix.comparison.prepared import Prepared, prepare
from milp_verix.comparison.repeated import EarlierComparison, EarlierPrograms, earlier_comparison
from milp_verix.comparison.runs import contrasted, explained, minimised, pairs_for, solved, unrun
from milp_verix.comparison.surroundings import all_take, dropped_by, libraries, machine
from milp_verix.comparison.timed_solver import Handling, Relaxations
from milp_verix.inputs.radii import Labels, features_listed
from milp_verix.oracle.verdict import INTERRUPTED, TIME_LIMIT
from milp_verix.problem.problem import ProblemData, features_in
from milp_verix.problem.search import USUAL, OrderLike, Request, Search
from milp_verix.results.base import array_hash, question_of
from milp_verix.results.build import package_versions, shared_fields
from milp_verix.results.comparison import Comparison, Pair, ProgramRecord, Run, Skipped
from milp_verix.results.explanation import Explanation
from milp_verix.searches.explain_search import explain_problem
from milp_verix.searches.minimum.smallest import excludes_scenarios
from milp_verix.searches.runner import AnytimeSearch
from milp_verix.solvers import OWN_ENGINES

SCHEMA = 1


class ChecksFile(TypedDict):
    """Written by ``compare --save-checks``, and read by ``compare --checks``.

    Attributes:
        schema: Number of the format.
        features: Number of features.
        checks: The free features of each check.
    """

    schema: Literal[1]
    features: Count
    checks: list[Indices]


def checks_of(explanation: Explanation, until: Deadline = NO_LIMIT) -> tuple[tuple[int, ...], ...]:
    """Return the checks that the sequential traversal to ``explanation`` asks, one a feature.

    Together they take the square of the features: those are left out that would be made later than
    ``until``.
    """
    irrelevant = set(explanation.irrelevant)
    free: list[int] = []
    checks = []
    for feature in explanation.permutation:
        checks.append((*free, feature))
        if feature in irrelevant:
            free.append(feature)
        if until.passed():
            break
    return tuple(checks)


def write_checks(path: str | Path, checks: Sequence[Sequence[int]], features: int) -> None:
    """Write ``checks`` on ``features`` features to ``path``; ``InputError`` where that fails."""
    lists = [indices_of(free, features) for free in checks]
    text = json.dumps({"schema": SCHEMA, "features": features, "checks": lists})
    write_atomically(Path(path), text + "\n")


def read_checks(path: str | Path, features: int) -> tuple[tuple[int, ...], ...]:
    """Return the checks in a file; ``InputError`` for one that holds none on ``features``."""
    texts = f"cannot read the checks in {path}", f"{path} holds no checks: it is not JSON"
    with refusing(texts[0]), refusing(texts[1], ValueError):
        data = json_in(Path(path))
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or "checks" not in data:
        raise InputError(
            f'{path} holds no checks: expected {{"schema": {SCHEMA}, "features": N, '
            '"checks": [[free features], ...]}'
        )
    if data.get("features") != features:
        raise InputError(
            f"the checks in {path} are on {data.get('features')} features, here are {features}"
        )
    labels = Labels(None, features)
    return as_checks(
        data["checks"],
        lambda free: indices_of(features_listed(free, labels, "checks"), features, "checks"),
    )


def as_checks(
    given: Sequence[Sequence[int | str]], indices: Callable[[Sequence[int | str]], Sequence[int]]
) -> tuple[tuple[int, ...], ...]:
    """Return ``given`` as checks; ``InputError`` unless it lists lists of distinct features.

    ``indices`` returns the indices of the features in such a list.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError("checks are a list of lists or masks of features")
    if not given:
        raise InputError("the list of checks is empty: there is nothing to compare")
    return tuple(tuple(indices(free)) for free in given)


TASKS = ("check", "explain", "minimum", "contrastive")
_MASTERS = ("auto", "tree", "program")
_MOST_ROUNDS = 100
"""Runs are compared in pairs, and more of them make no median steadier."""


def compare_solvers(
    problem: ProblemData,
    *,
    solvers: str | Sequence[str] | None = None,
    formulations: str | Sequence[str] = ("big_m",),
    task: str = "check",
    master: str | None = None,
    checks: Sequence[Sequence[int | str]] | None = None,
    most_checks: int | None = None,
    rounds: int = 1,
    seeds: int = 1,
    substitutes: bool = False,
    relaxations: bool = False,
    order: OrderLike = "influence",
    transformation: str = "reversal",
    traversal: str = "galloping",
    search: Search = USUAL,
    progress: Callable[[Pair], None] | None = None,
    snapshots: Callable[[Callable[[], Comparison]], None] | None = None,
    resume: EarlierComparison | None = None,
) -> Comparison:
    """Answer :func:`milp_verix.compare`, which describes the arguments."""
    search.require_only("compare", "a comparison")
    require_one_of(TASKS, task, "task")
    if task != "check" and checks is not None:
        raise InputError("explanations ask their own checks: leave checks or task out")
    if master is None:
        master = "auto" if excludes_scenarios(problem) else "program"
    require_one_of(_MASTERS, master, "master")
    if task in ("minimum", "contrastive"):
        search.require_only(task, f"a comparison of {task} explanations")
    pairs, skipped = pairs_for(problem, solvers, formulations)
    rounds = integer_of(rounds, "rounds")
    for name, value in (("rounds", rounds), ("seeds", seeds)):
        if integer_of(value, name) > _MOST_ROUNDS:
            raise InputError(f"{name} must be at most {_MOST_ROUNDS}, got {value}")
    if seeds > 1 and task != "check":
        raise InputError("seeds are of the programs of checks: leave seeds or task out")
    if resume is not None and (task != "check" or rounds > 1):
        raise InputError("resume goes on with the programs of checks: leave task and rounds out")
    chosen = _checks_in(checks, order, problem)
    ordering = {"order": order, "transformation": transformation, "traversal": traversal}
    if most_checks is not None:
        integer_of(most_checks, "most_checks")
        if chosen is not None or task != "check":
            raise InputError("most_checks chooses among the checks of an explanation: leave it out")
    solved = Relaxations(search.tolerances) if relaxations else None
    run = CompareSearch(
        problem,
        pairs,
        skipped,
        search,
        ordering,
        task,
        master,
        chosen,
        rounds,
        solved,
        most_checks,
        seeds,
        Handling(
            tiny=dropped_by(pairs) if task == "check" else 0.0,
            substitutes=substitutes,
            tangents=task == "check"
            and problem.ball.norm == "l2"
            and not all_take(pairs, "quadratic"),
        ),
    )
    if resume is not None:
        run.go_on_from(resume)
    return run.run(progress, snapshots)


@dataclass(eq=False)
class CompareSearch(AnytimeSearch[Pair, Comparison]):
    """The runs that are finished, of each of the ``pairs``.

    ``checks`` are the checks to answer, None before they are known and where explanations are
    found; the ``ordering`` is that of explanations.
    """

    problem: ProblemData
    pairs: Sequence[Pair]
    skipped: list[Skipped]
    search: Search
    ordering: dict[str, Any]
    task: str
    master: str
    checks: tuple[tuple[int, ...], ...] | None
    rounds: int
    relaxations: Relaxations | None = None
    most: int | None = None
    seeds: int = 1
    handling: Handling = field(default_factory=Handling)
    prepared: Prepared | None = None
    earlier: EarlierPrograms = field(default_factory=EarlierPrograms)

    def __post_init__(self) -> None:
        self._whole = Request.now(self.problem, self.search).deadline
        self._finished: dict[Pair, list[Run]] = {pair: [] for pair in self.pairs}
        self._pair: Pair
        self._partial: list[Run] = []
        self._listed: dict[str, tuple[ProgramRecord, ...]] = {}

    def go_on_from(self, earlier: EarlierComparison) -> None:
        """Take the checks of an earlier comparison, and the programs that it answered."""
        self.earlier = earlier_comparison(earlier, self.result())
        self.checks = self.checks if self.earlier.checks is None else self.earlier.checks

    def _search(self) -> None:
        """Run the pairs in turns; raises ``InputError`` if no run ends."""
        turns = [(pair, seed) for seed in range(self.seeds) for pair in self.pairs] * self.rounds
        if self.task == "check" and self.pairs:
            if self.checks is None:
                share = replace(self._share(len(turns) + 2), warm="auto")
                found = explain_problem(self.problem, search=share, **self.ordering)
                self.checks = checks_of(found, self._whole.leaving(0.5))
                if len(self.checks) < self.problem.features.count:
                    self.stopped = TIME_LIMIT
            deadline = Request.now(self.problem, self._share(len(turns) + 1)).deadline
            # what bounds and an attack decide, and what they leave to the solvers
            self.prepared = prepare(self.problem, self.checks, self.most, self.search, deadline)
            self.checks = self.prepared.checks
            self.skipped = [self._unrun(left.pair, left.reason) for left in self.skipped]
        for number, (pair, seed) in enumerate(turns):
            runs = self._finished.get(pair)
            if runs is None:
                continue
            self._pair = pair
            self.show()
            try:
                run = self._run(pair, self._share(len(turns) - number), seed)
            except (SolverError, InputError) as error:  # a way of warm that it does not have
                self.skipped.append(self._unrun(pair, str(error)))
                del self._finished[pair]
                continue
            finally:
                self._partial = []
            if seed > 0 or run.stopped != INTERRUPTED or not runs:
                self._finished[pair] = _together(runs, run) if seed > 0 else [*runs, run]
            if run.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            self.save()
        if not self._finished:
            raise InputError(f"nothing to compare: {'; '.join(map(str, self.skipped))}")

    def _unrun(self, pair: Pair, reason: str) -> Skipped:
        """Return a pair that is left out, with a row for each program that it would have got."""
        if self.prepared is None or pair.solver.partition("?")[0] in OWN_ENGINES:
            return Skipped(pair, reason)
        known, name = self._listed, pair.formulation
        given = self.problem, pair, self.prepared, self._share(2), self.handling
        with suppress(InputError):  # the question may not have this formulation
            known[name] = known.get(name) or unrun(*given, self.relaxations)
        rows = known.get(name, ())
        return Skipped(pair, reason, tuple(replace(e, reason=f"not run: {reason}") for e in rows))

    def _state(self) -> Pair:
        return self._pair

    def _snapshot(self) -> Callable[[], Comparison]:
        finished = {pair: [*some] for pair, some in self._finished.items()}
        for part in self._partial:
            finished[part.pair] = _together(finished[part.pair], part)
        runs = [some for some in finished.values() if some]
        why = self.stopped or "not finished yet"
        waiting = [Skipped(pair, why) for pair, some in finished.items() if not some]
        return partial(self._result, runs, (*self.skipped, *waiting))

    def _options(self) -> dict[str, Any]:
        """Return how the programs were made and solved, by the names of options, and the domain."""
        search, ball = self.search, self.problem.ball
        tolerances = Tolerances() if search.tolerances is None else search.tolerances
        names = ("bounds", "exactness", "warm", "segments", "threads", "seed")
        low, high = float(ball.domain_lower.min()), float(ball.domain_upper.max())
        return {
            **{name: getattr(search, name) for name in names},
            "tolerances": asdict(tolerances),
            "domain": [end if isfinite(end) else None for end in (low, high)],
            "question": _digest_of(self.problem),
            "dropped": self.handling.tiny,
            "substitutes": self.handling.substitutes,
            "tangents": self.handling.tangents,
        }

    def _share(self, of: int) -> Search:
        """Return the search with an equal share of the seconds left, one ``of`` so many."""
        left = self._whole.seconds
        limit = self.search.time_limit if left == inf else deadline_in(max(left, 0.0) / of)
        return replace(self.search, time_limit=limit)

    def _run(self, pair: Pair, search: Search, seed: int) -> Run:
        if self.task == "minimum":
            return minimised(self.problem, pair, search, self.handling, self.master)
        if self.task == "contrastive":
            return contrasted(self.problem, pair, search, self.handling)
        if self.prepared is None:
            return explained(self.problem, pair, search, self.handling, self.ordering)
        handling = replace(self.handling, seed=seed)
        return solved(
            self.problem,
            pair,
            self.prepared,
            search,
            handling,
            relaxations=self.relaxations,
            earlier=self.earlier,
            tell=partial(self._save_part, seed),
        )

    def _save_part(self, seed: int, run: Run) -> None:
        if seed > 0 or not self._finished[run.pair]:  # a later round tells nothing new
            self._partial = [run]
            self.save()

    def _result(self, runs: list[list[Run]], skipped: tuple[Skipped, ...]) -> Comparison:
        problem, question = self.problem, self.problem.question
        everything = [run for some in runs for run in some]
        limit = self.search.time_limit
        return Comparison(
            model=problem.network.name,
            sha256=problem.network.sha256,
            prediction=question.prediction,
            epsilon=problem.ball.epsilon,
            norm=problem.ball.norm,
            delta=getattr(question, "delta", None),
            checks=self.checks,
            features=problem.features.count,
            rounds=self.rounds,
            runs=tuple(map(_median, runs)),
            skipped=skipped,
            disagreements=contradictions(problem, everything, self.checks or (), self.search),
            stopped=self.stopped,
            against=getattr(question, "against", None),
            output=problem.output,
            input_sha256=array_hash(problem.x),
            task=self.task,
            time_limit=limit.planned if isinstance(limit, Deadline) else limit,
            check_time_limit=self.search.check_time_limit,
            rules=() if problem.inputs is None else tuple(r.text for r in problem.inputs.rules),
            seeds=self.seeds,
            decided=() if self.prepared is None else tuple(self.prepared.decided),
            prepared_seconds=0.0 if self.prepared is None else self.prepared.seconds,
            machine=machine(),
            versions={**package_versions(), **libraries()},
            options=self._options(),
        )


def _checks_in(
    checks: Sequence[Sequence[int | str]] | None, order: OrderLike, problem: ProblemData
) -> tuple[tuple[int, ...], ...] | None:
    if checks is None:
        return None
    if not (isinstance(order, str) and order == "influence"):
        raise InputError("checks are answered as they are: leave order out")
    return as_checks(checks, lambda free: features_in(free, problem, "checks", ordered=True))


def _digest_of(problem: ProblemData) -> str:
    """Return a digest of the whole question: radii, domains, groups and descriptions included."""
    parts = question_of(SimpleNamespace(**shared_fields(problem, "", {}, ())))
    return sha256(repr(parts).encode()).hexdigest()


def _together(runs: list[Run], run: Run) -> list[Run]:
    """Return ``runs`` of a pair with the programs of another seed in the last one."""
    return [*runs[:-1], replace(runs[-1], each=runs[-1].each + run.each)] if runs else [run]


def _median(runs: list[Run]) -> Run:
    """Return the run with the median time; of an even number, the faster of the middle two."""
    return sorted(runs, key=lambda run: run.seconds)[(len(runs) - 1) // 2]
