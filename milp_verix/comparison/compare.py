"""Ask several solvers and formulations the same question, and see that their answers agree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from milp_verix.argument_kinds import checked
from milp_verix.arguments import integer_of
from milp_verix.comparison.contradictions import contradictions
from milp_verix.comparison.pairs import fitting_pairs
from milp_verix.comparison.runs import ENCODING, PROBLEM, answered, explained, part_of
from milp_verix.comparison.stored_checks import as_checks
from milp_verix.errors import InputError, SolverError
from milp_verix.onnx_reader.onnx_network import NetworkLike
from milp_verix.problem.problem import Problem, make_problem
from milp_verix.results.public import Comparison, Run
from milp_verix.results.records.comparison import Pair, Skipped
from milp_verix.results.records.statistics import INTERRUPTED
from milp_verix.runner import AnytimeSearch


@checked()
def compare(
    network: NetworkLike,
    x: ArrayLike,
    *,
    solvers: Sequence[str] | None = None,
    formulations: Sequence[str] = ("big_m",),
    checks: Sequence[Sequence[int]] | None = None,
    rounds: int = 1,
    progress: Callable[[Pair], None] | None = None,
    snapshots: Callable[[Callable[[], Comparison]], None] | None = None,
    **options: Any,
) -> Comparison:
    """Find the same explanation with each solver and formulation, or answer the same checks.

    Every definite verdict of a run is held against every counterfactual of the others, see
    ``comparison.contradictions``; contradictions are in ``disagreements``. A pair that does not
    fit (the solver is not installed, or does not take the formulation) is in ``skipped`` with the
    reason. Ctrl-C ends the comparison with the runs finished by then.

    Args:
        network: an :class:`OnnxNetwork`, the path of an ONNX file, its bytes, or an
            ``onnx.ModelProto``.
        x: the input, of the network's input shape (dimensions of 1 may be left out) or flat; for a
            network with a flat input also an image of one channel, or of ``image_shape``.
        solvers: their names, of ``"highs"``, ``"phase"``, ``"cbc"``, ``"gurobi"``, ``"scip"``,
            ``"split"``, ``"beta"``, ``"pulp"`` or ``"pulp:NAME"``, ``"pyomo"`` or
            ``"pyomo:NAME"``; by default all that are installed.
        formulations: their names, such as ``"big_m"`` or ``"partition:4"``.
        checks: lists of free features, each a check that is answered by itself, with nothing
            learned from the ones before; by default an explanation is found.
        rounds: how often each pair runs, in turns; the run with the median time counts.
        progress: called with each pair before it runs.
        snapshots: called as by :func:`milp_verix.explain`: at the start and after each run.
        options: those of :func:`milp_verix.explain` but ``solver``, ``formulation`` and
            ``progress``; ``epsilon`` has no default. ``time_limit`` holds for each run. With
            ``checks``, options about the order do not apply.

    Raises:
        InputError: an argument does not fit, or no pair does.
        ModelError: the network cannot be read or encoded.
        TypeError: an option that there is not, or none for ``epsilon``.
    """
    problem = make_problem(network, x, **part_of(options, PROBLEM))
    pairs, skipped = fitting_pairs(solvers, formulations)
    rounds = integer_of(rounds, "rounds")
    asked = None if checks is None else as_checks(checks, problem.features.count)
    search = CompareSearch(problem, pairs, skipped, options, asked, rounds)
    return search.run(progress, snapshots)


@dataclass(eq=False)
class CompareSearch(AnytimeSearch[Pair, Comparison]):
    """The runs that are finished, of each of the ``pairs``.

    ``options`` are those of :func:`compare`, ``checks`` the checks to answer; None to find an
    explanation.
    """

    problem: Problem
    pairs: Sequence[Pair]
    skipped: list[Skipped]
    options: dict[str, Any]
    checks: tuple[tuple[int, ...], ...] | None
    rounds: int

    def __post_init__(self) -> None:
        self._finished: dict[Pair, list[Run]] = {pair: [] for pair in self.pairs}
        self._pair: Pair

    def _search(self) -> None:
        """Run the pairs in turns; raises ``InputError`` if no run ends."""
        for pair in [*self.pairs] * self.rounds:
            runs = self._finished.get(pair)
            if runs is None:
                continue
            self._pair = pair
            self.show()
            try:
                run = self._run(pair)
            except SolverError as error:
                self.skipped.append(Skipped(pair, str(error)))
                del self._finished[pair]
                continue
            if run.stopped != INTERRUPTED or not runs:
                runs.append(run)
            if run.stopped == INTERRUPTED:
                raise KeyboardInterrupt
            self.save()
        if not self._finished:
            raise InputError(f"nothing to compare: {'; '.join(map(str, self.skipped))}")

    def _state(self) -> Pair:
        return self._pair

    def _snapshot(self) -> Callable[[], Comparison]:
        runs = [[*some] for some in self._finished.values() if some]
        why = self.stopped or "not finished yet"
        waiting = [Skipped(pair, why) for pair, some in self._finished.items() if not some]
        return partial(self._result, runs, (*self.skipped, *waiting))

    def _run(self, pair: Pair) -> Run:
        if self.checks is None:
            return explained(self.problem, pair, self.options)
        return answered(self.problem, pair, self.checks, self.options)

    def _result(self, runs: list[list[Run]], skipped: tuple[Skipped, ...]) -> Comparison:
        problem, question = self.problem, self.problem.question
        everything = [run for some in runs for run in some]
        settings = part_of(self.options, (*PROBLEM, *ENCODING))
        settings |= {"image_shape": problem.image_shape}
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
            disagreements=contradictions(problem, everything, self.checks or (), settings),
            stopped=self.stopped,
            against=getattr(question, "against", None),
            output=problem.output,
            rules=() if problem.inputs is None else tuple(r.text for r in problem.inputs.rules),
        )


def _median(runs: list[Run]) -> Run:
    """Return the run with the median time; of an even number, the faster of the middle two."""
    return sorted(runs, key=lambda run: run.seconds)[(len(runs) - 1) // 2]
