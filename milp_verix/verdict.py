"""The answer to a check: three values, never two."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from numpy.typing import NDArray


class Answer(Enum):
    """What a check can say."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Effort:
    """What an answer took.

    ``bounded`` counts the margins settled by bounds alone, ``flips`` the checks settled by moving
    a point known from an earlier one.
    """

    solves: int = 0
    bounded: int = 0
    flips: int = 0
    nodes: int = 0
    iterations: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            self.solves + other.solves,
            self.bounded + other.bounded,
            self.flips + other.flips,
            self.nodes + other.nodes,
            self.iterations + other.iterations,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The outcome of one check.

    ``HOLDS`` carries ``bound``, a proven upper bound on the worst margin, below zero.
    ``VIOLATED`` carries ``witness``, an input of the network's shape and dtype inside the ball,
    and ``prediction``, what onnxruntime predicts for it. ``UNKNOWN`` carries ``reason``.
    """

    answer: Answer
    bound: float | None = None
    witness: NDArray[Any] | None = None
    prediction: int | tuple[float, ...] | None = None
    reason: str | None = None
    effort: Effort = Effort()

    @property
    def holds(self) -> bool:
        """Whether the claim is proven."""
        return self.answer is Answer.HOLDS

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.answer is Answer.VIOLATED

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three values: ask for .holds or .violated")
