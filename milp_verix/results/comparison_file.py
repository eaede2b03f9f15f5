"""The file of a comparison: a row for each run, and what the rows are about."""

from typing import Annotated, Literal, NotRequired, TypedDict

from milp_verix.base.stored_kinds import Amount, Count, Indices, Norm, Prediction, Sha256


class RunNumbers(TypedDict):
    """A run as a line of CSV."""

    solver: Annotated[str, "Name of the solver."]
    formulation: Annotated[str, "Encoding of ReLUs."]
    version: Annotated[str, "Version of the solver."]
    size: Annotated[Count | None, "Size of the explanation; None for checks."]
    holds: Annotated[Count, "Answers that hold."]
    violated: Annotated[Count, "Answers with a counterfactual."]
    unknown: Annotated[Count, "Answers that are unknown."]
    seconds: Annotated[Amount, "Wall-clock time in all."]
    build_seconds: Annotated[Amount, "Seconds that loading programs took."]
    solve_seconds: Annotated[Amount, "Seconds that solving took."]
    resolve_seconds: Annotated[Amount, "The part of it on programs solved before."]
    checks: Annotated[Count, "Checks answered."]
    builds: Annotated[Count, "Programs loaded."]
    solves: Annotated[Count, "Programs solved."]
    resolves: Annotated[Count, "Solves that were not the first on their program."]
    nodes: Annotated[Count | None, "Nodes of the solver; None where it tells none."]
    iterations: Annotated[Count | None, "Simplex iterations; None where it tells none."]
    handed_over: Annotated[Count, "Solves that another solver did, for want of a licence."]
    handed_to: Annotated[str | None, "That solver; None if there was none."]
    master: NotRequired[Annotated[str | None, "Of a minimum: the method that raised the bound."]]
    cost: NotRequired[
        Annotated[Amount | None, "Cost of a minimum or a contrast; None if there is none."]
    ]
    bound: NotRequired[Annotated[Amount | None, "Proven lower bound of it; None if there is none."]]


class RunRow(RunNumbers):
    """A run of one pair of solver and formulation."""

    trace: NotRequired[
        Annotated[
            tuple[tuple[Amount, Amount, Amount], ...],
            "Of a minimum: seconds, best cost and lower bound at each change.",
        ]
    ]
    answers: Annotated[
        tuple[Literal["holds", "violated", "unknown"], ...], "One for each check or feature."
    ]
    stopped: Annotated[str | None, "Reason of an early end, or None."]
    notes: Annotated[tuple[str, ...], "Reservations."]


class PairNames(TypedDict):
    """A solver and a formulation."""

    solver: Annotated[str, "Name of the solver."]
    formulation: Annotated[str, "Encoding of ReLUs."]


class SkippedPair(PairNames):
    """A pair without a run."""

    reason: Annotated[str, "Why there is none."]


class CheckRow(PairNames):
    """One check by one pair; the fields of ``CheckRecord``, and None where nobody tells them."""

    version: Annotated[str, "Version of the solver."]
    check: Annotated[Count, "Number of the check."]
    free: Annotated[Count, "Number of free features."]
    answer: Annotated[Literal["holds", "violated", "unknown"], "The answer."]
    seconds: Annotated[Amount, "Wall-clock time of the check."]
    cpu_seconds: Annotated[Amount, "Processor time of the check."]
    load_seconds: Annotated[Amount, "Seconds that loading programs took."]
    solve_seconds: Annotated[Amount, "Seconds that solving took."]
    solves: Annotated[Count, "Programs solved."]
    nodes: Annotated[Count | None, "Nodes of these solves."]
    iterations: Annotated[Count | None, "Simplex iterations of these solves."]
    status: Annotated[str | None, "End of the last solve."]
    bound: Annotated[float | None, "Dual bound at its end."]
    root_bound: Annotated[float | None, "Dual bound after its root node."]
    relaxation: Annotated[float | None, "Optimum of the linear relaxation."]
    first_seconds: Annotated[Amount | None, "Time to the first feasible point."]
    handed_to: Annotated[str | None, "Solver that took the program over."]
    reason: Annotated[str | None, "Why the answer is unknown."]
    columns: Annotated[Count | None, "Columns of the last program."]
    rows: Annotated[Count | None, "Rows of it."]
    binaries: Annotated[Count | None, "Integer columns of it."]
    largest_big_m: Annotated[Amount | None, "Its largest big-M."]
    least_coefficient: Annotated[
        Amount | None, "Its least coefficient above zero, as absolute value."
    ]
    largest_coefficient: Annotated[Amount | None, "Its largest coefficient."]


class ComparedChecks(TypedDict):
    """A comparison of solvers in the journal of a study."""

    model: Annotated[str, "Name of the model's file."]
    norm: Annotated[Norm, "Norm of the ball."]
    check_time_limit: Annotated[Amount | None, "Limit of each check in seconds, if there is one."]
    checks: Annotated[Count, "Number of checks that each pair was asked."]
    skipped: Annotated[tuple[SkippedPair, ...], "Pairs without a run."]
    disagreements: Annotated[tuple[str, ...], "Answers that contradict each other, in words."]
    each: Annotated[tuple[CheckRow, ...], "A row for each check and pair."]


class Contradiction(TypedDict):
    """Two answers that contradict each other."""

    holding: Annotated[PairNames, "Pair that says that the check holds."]
    violated: Annotated[PairNames, "Pair with a point that refutes it."]
    free: Annotated[Indices, "Features that are free in the check."]
    margin: Annotated[Count, "Number of the margin."]
    reached: Annotated[float, "The margin at the point, above zero."]
    witness: Annotated[tuple[float, ...], "The point, flat."]


class ComparedModel(TypedDict):
    """The network that is compared on."""

    file: Annotated[str, "Name of the model's file."]
    sha256: Annotated[Sha256, "SHA-256 of the ONNX file, or of the model's content."]


class ComparisonFile(TypedDict):
    """Written by ``compare`` and ``Comparison.to_json``, and read by ``report``."""

    schema: Annotated[Literal[1], "Number of the format."]
    kind: Annotated[Literal["comparison"], "Kind of the file."]
    model: Annotated[ComparedModel, "The network."]
    prediction: Annotated[Prediction, "The prediction explained."]
    epsilon: Annotated[Amount | None, "Radius of the ball; None is unlimited."]
    norm: Annotated[Norm, "Norm of the ball."]
    delta: Annotated[
        Amount | None, "Most that outputs of a regression may change; None for a class."
    ]
    against: Annotated[Indices | None, "Classes compared with the prediction; None for all others."]
    output: Annotated[Count | None, "The one output that a regression is about; None for all."]
    rules: Annotated[tuple[str, ...], "Rules between features."]
    features: Annotated[Count, "Number of features."]
    checks: Annotated[
        tuple[Indices, ...] | None,
        "The checks compared, as lists of free features; None where explanations were.",
    ]
    rounds: Annotated[Count, "Rounds, of which the one with the median time is told."]
    task: NotRequired[
        Annotated[Literal["check", "explain", "minimum", "contrastive"], "What each run did."]
    ]
    conflicts: NotRequired[
        Annotated[tuple[str, ...], "Lower bounds above the cost of another run, in words."]
    ]
    agree: Annotated[bool, "True if no two answers contradict each other."]
    stopped: Annotated[str | None, "Reason of an early end, or None."]
    runs: Annotated[tuple[RunRow, ...], "A run for each pair of solver and formulation."]
    skipped: Annotated[tuple[SkippedPair, ...], "Pairs without a run."]
    disagreements: Annotated[tuple[Contradiction, ...], "Answers that contradict each other."]
