"""The form of a line of a study's journal."""

from typing import Any, Literal, NotRequired, TypedDict

from milp_verix.base.stored_kinds import Amount, Cost, Count, Indices, Prediction, Sha256
from milp_verix.results.records.comparison_file import ComparedChecks


class TaskSettings(TypedDict, total=False):
    """The arguments of a task's function, by name.

    Attributes:
        tolerances: Tolerances by name; None is the defaults.
    """

    tolerances: dict[str, Amount | Literal["inf"]] | None


class JournalLine(TypedDict):
    """Written by ``batch``, ``explain_many`` and ``run_study``, a line for each task.

    It is read by ``batch``, ``report`` and ``read_study``. The best record of a task counts: done
    before undecided before failed, then the last.

    Attributes:
        key: Hash of all that the answer depends on.
        index: Place of the input in the study.
        name: File of the input, if it has one.
        task: Kind of the task.
        epsilon: Radius, as it was given: a number, a text such as inf, a list, radii by feature, or
            the hash of these.
        settings: All other arguments with their defaults; a long one is its hash.
        network: Hash of the network.
        version: Version of milp-verix.
        status: How the task ended.
        explanation: Features of the explanation or contrast; None if there is none.
        unknown: Features that were not decided; None for a failed task.
        size: Number of features of the explanation.
        lower_bound: Proven least cost, or None.
        robust: Of a contrast: whether nothing changes the prediction; None if not known.
        prediction: The prediction explained; None for a failed task.
        seconds: Wall-clock time of the task.
        reason: Why it is undecided or failed, or None.
        notes: Reservations, and how the result came about.
        result: Path of the whole result from the journal's folder, or None.
        comparison: Of a comparison of solvers: its checks.
    """

    key: Sha256
    index: Count
    name: NotRequired[str]
    task: Literal["explain", "minimum", "contrastive", "compare"]
    epsilon: Cost | str | list[Any] | dict[str, Any]
    settings: TaskSettings
    network: Sha256
    version: str
    status: Literal["done", "undecided", "failed"]
    explanation: Indices | None
    unknown: Indices | None
    size: NotRequired[Count | None]
    lower_bound: NotRequired[Cost | None]
    robust: NotRequired[bool | None]
    prediction: Prediction | None
    seconds: Amount
    reason: NotRequired[str | None]
    notes: tuple[str, ...]
    result: NotRequired[str | None]
    comparison: NotRequired[ComparedChecks]
