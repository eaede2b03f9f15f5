"""The file of a comparison: a row for each run, and what the rows are about."""

from typing import Literal, NotRequired, TypedDict

from milp_verix.base.stored_kinds import Amount, Count, Indices, Norm, Prediction, Sha256


class RunNumbers(TypedDict):
    """A run as a line of CSV.

    Attributes:
        solver: Name of the solver.
        formulation: Encoding of ReLUs.
        version: Version of the solver.
        size: Size of the explanation; None for checks.
        holds: Answers that hold.
        violated: Answers with a counterfactual.
        unknown: Answers that are unknown.
        seconds: Wall-clock time in all.
        build_seconds: Seconds that loading programs took.
        solve_seconds: Seconds that solving took.
        resolve_seconds: The part of it on programs solved before.
        checks: Checks answered.
        builds: Programs loaded.
        solves: Programs solved.
        resolves: Solves that were not the first on their program.
        nodes: Nodes of the solver; None where it tells none.
        iterations: Simplex iterations; None where it tells none.
        handed_over: Solves that another solver did, for want of a licence.
        handed_to: That solver; None if there was none.
        master: Of a minimum: the method that raised the bound.
        cost: Cost of a minimum or a contrast; None if there is none.
        bound: Proven lower bound of it; None if there is none.
    """

    solver: str
    formulation: str
    version: str
    size: Count | None
    holds: Count
    violated: Count
    unknown: Count
    seconds: Amount
    build_seconds: Amount
    solve_seconds: Amount
    resolve_seconds: Amount
    checks: Count
    builds: Count
    solves: Count
    resolves: Count
    nodes: Count | None
    iterations: Count | None
    handed_over: Count
    handed_to: str | None
    master: NotRequired[str | None]
    cost: NotRequired[Amount | None]
    bound: NotRequired[Amount | None]


class RunRow(RunNumbers):
    """A run of one pair of solver and formulation.

    Attributes:
        answers: One for each check or feature.
        stopped: Reason of an early end, or None.
        notes: Reservations.
        trace: Of a minimum: seconds, best cost and lower bound at each change.
    """

    trace: NotRequired[tuple[tuple[Amount, Amount, Amount], ...]]
    answers: tuple[Literal["holds", "violated", "unknown"], ...]
    stopped: str | None
    notes: tuple[str, ...]


class PairNames(TypedDict):
    """A solver and a formulation.

    Attributes:
        solver: Name of the solver.
        formulation: Encoding of ReLUs.
    """

    solver: str
    formulation: str


class SkippedPair(PairNames):
    """A pair without a run.

    Attributes:
        reason: Why there is none.
    """

    reason: str


class CheckRow(PairNames):
    """One check by one pair; the fields of ``CheckRecord``, and None where nobody tells them.

    Attributes:
        version: Version of the solver.
        check: Number of the check.
        free: Number of free features.
        answer: The answer.
        seconds: Wall-clock time of the check.
        cpu_seconds: Processor time of the check.
        load_seconds: Seconds that loading programs took.
        solve_seconds: Seconds that solving took.
        solves: Programs solved.
        nodes: Nodes of these solves.
        iterations: Simplex iterations of these solves.
        status: End of the last solve.
        bound: Dual bound at its end.
        root_bound: Dual bound after its root node.
        relaxation: Optimum of the linear relaxation.
        first_seconds: Time to the first feasible point.
        handed_to: Solver that took the program over.
        reason: Why the answer is unknown.
        columns: Columns of the last program.
        rows: Rows of it.
        binaries: Integer columns of it.
        largest_big_m: Its largest big-M.
        least_coefficient: Its least coefficient above zero, as absolute value.
        largest_coefficient: Its largest coefficient.
    """

    version: str
    check: Count
    free: Count
    answer: Literal["holds", "violated", "unknown"]
    seconds: Amount
    cpu_seconds: Amount
    load_seconds: Amount
    solve_seconds: Amount
    solves: Count
    nodes: Count | None
    iterations: Count | None
    status: str | None
    bound: float | None
    root_bound: float | None
    relaxation: float | None
    first_seconds: Amount | None
    handed_to: str | None
    reason: str | None
    columns: Count | None
    rows: Count | None
    binaries: Count | None
    largest_big_m: Amount | None
    least_coefficient: Amount | None
    largest_coefficient: Amount | None


class ComparedChecks(TypedDict):
    """A comparison of solvers in the journal of a study.

    Attributes:
        model: Name of the model's file.
        norm: Norm of the ball.
        check_time_limit: Limit of each check in seconds, if there is one.
        checks: Number of checks that each pair was asked.
        skipped: Pairs without a run.
        disagreements: Answers that contradict each other, in words.
        each: A row for each check and pair.
    """

    model: str
    norm: Norm
    check_time_limit: Amount | None
    checks: Count
    skipped: tuple[SkippedPair, ...]
    disagreements: tuple[str, ...]
    each: tuple[CheckRow, ...]


class Contradiction(TypedDict):
    """Two answers that contradict each other.

    Attributes:
        holding: Pair that says that the check holds.
        violated: Pair with a point that refutes it.
        free: Features that are free in the check.
        margin: Number of the margin.
        reached: The margin at the point, above zero.
        witness: The point, flat.
    """

    holding: PairNames
    violated: PairNames
    free: Indices
    margin: Count
    reached: float
    witness: tuple[float, ...]


class ComparedModel(TypedDict):
    """The network that is compared on.

    Attributes:
        file: Name of the model's file.
        sha256: SHA-256 of the ONNX file, or of the model's content.
    """

    file: str
    sha256: Sha256


class ComparisonFile(TypedDict):
    """Written by ``compare`` and ``Comparison.to_json``, and read by ``report``.

    Attributes:
        schema: Number of the format.
        kind: Kind of the file.
        model: The network.
        prediction: The prediction explained.
        epsilon: Radius of the ball; None is unlimited.
        norm: Norm of the ball.
        delta: Most that outputs of a regression may change; None for a class.
        against: Classes compared with the prediction; None for all others.
        output: The one output that a regression is about; None for all.
        rules: Rules between features.
        features: Number of features.
        checks: The checks compared, as lists of free features; None where explanations were.
        rounds: Rounds, of which the one with the median time is told.
        task: What each run did.
        conflicts: Lower bounds above the cost of another run, in words.
        agree: True if no two answers contradict each other.
        stopped: Reason of an early end, or None.
        runs: A run for each pair of solver and formulation.
        skipped: Pairs without a run.
        disagreements: Answers that contradict each other.
    """

    schema: Literal[1]
    kind: Literal["comparison"]
    model: ComparedModel
    prediction: Prediction
    epsilon: Amount | None
    norm: Norm
    delta: Amount | None
    against: Indices | None
    output: Count | None
    rules: tuple[str, ...]
    features: Count
    checks: tuple[Indices, ...] | None
    rounds: Count
    task: NotRequired[Literal["check", "explain", "minimum", "contrastive"]]
    conflicts: NotRequired[tuple[str, ...]]
    agree: bool
    stopped: str | None
    runs: tuple[RunRow, ...]
    skipped: tuple[SkippedPair, ...]
    disagreements: tuple[Contradiction, ...]
