"""An audit: the judgement on a set of features that another tool calls an explanation."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from milp_verix.records.base import Counterfactual, Result
from milp_verix.records.verdict import Answer


@dataclass(frozen=True, slots=True)
class Minimum:
    """A sound set of features that a search found, and how small such a set can be at the least.

    ``explanation`` is sound, ascending; ``lower_bound`` is proven: no sound set that was asked for
    has fewer features.
    """

    explanation: tuple[int, ...]
    lower_bound: int

    def __post_init__(self) -> None:
        if not 0 <= self.lower_bound <= self.size:
            raise ValueError("the lower bound is above the size of the explanation")

    @property
    def size(self) -> int:
        """Number of features in the explanation."""
        return len(self.explanation)

    @property
    def proven(self) -> bool:
        """True if no sound set that was asked for has fewer features."""
        return self.size == self.lower_bound


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Audit(Result):
    """The judgement on ``explanation``, a set of features, ascending.

    The fields of every result are those of :class:`~milp_verix.records.base.Result`. ``answer``
    says whether the set is sound: with its features fixed, every input in the ball and the domain
    has the prediction of the original. ``HOLDS`` is a proof, with ``bound``, a proven upper bound
    on the worst margin; ``VIOLATED`` comes with ``counterexample``, an input that keeps the
    features of the set, run in onnxruntime; ``UNKNOWN`` with ``unknown_reason``.

    ``sound_set`` is proven to be sound: part of a sound explanation, or one that holds the whole
    explanation. ``counterfactuals`` maps features of it to inputs that change nothing but the
    features outside ``sound_set`` and that one, so that it cannot be left out. Of a sound
    explanation all features are tried, else those that were ``added``. ``unknown_reasons`` tells
    why features that were tried, or should have been, were not decided.

    ``minimum`` is the smallest sound set of all, ``completion`` the smallest that holds the whole
    explanation, as far as they were sought; else None. Raises ``ValueError`` for fields that
    contradict each other.
    """

    explanation: tuple[int, ...]
    answer: Answer
    bound: float | None
    counterexample: Counterfactual | None
    unknown_reason: str | None
    sound_set: tuple[int, ...]
    unknown_reasons: Mapping[int, str]
    counterfactuals: Mapping[int, Counterfactual]
    minimum: Minimum | None = None
    completion: Minimum | None = None

    def __post_init__(self) -> None:
        self._check()
        for name in ("unknown_reasons", "counterfactuals"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        Result.__post_init__(self)

    def _check(self) -> None:
        """Raise ``ValueError`` where the parts contradict each other."""
        everything = set(range(len(self.groups)))
        for chosen in (self.explanation, self.sound_set):
            if list(chosen) != sorted({*chosen} & everything):
                raise ValueError("a set lists features of the input, ascending")
        if (self.answer is Answer.VIOLATED) != (self.counterexample is not None):
            raise ValueError("an explanation that is not sound has a counterexample")
        if (self.answer is Answer.UNKNOWN) != (self.unknown_reason is not None):
            raise ValueError("an answer that is unknown has a reason")
        audited, certified = set(self.explanation), set(self.sound_set)
        if not (certified <= audited if self.sound else audited <= certified):
            raise ValueError("the sound set is part of the explanation if that is sound, or has it")
        if self.answer is Answer.VIOLATED and audited == certified:
            raise ValueError("an explanation that is not sound is not the sound set")
        tried = certified if self.sound else certified - audited
        if {*self.unknown_reasons, *self.counterfactuals} != tried:
            raise ValueError("a feature that was tried has a counterfactual, or a reason for none")
        if len(self.unknown_reasons) + len(self.counterfactuals) != len(tried):
            raise ValueError("a feature with a counterfactual is not unknown")
        if self.counterexample is not None:
            changed = (self.counterexample.input != self.input).reshape(-1)
            if changed[[i for feature in self.explanation for i in self.groups[feature]]].any():
                raise ValueError("the counterexample changes features of the explanation")

    @property
    def sound(self) -> bool | None:
        """True if it is proven that the explanation keeps the prediction, False if refuted."""
        return {Answer.HOLDS: True, Answer.VIOLATED: False}.get(self.answer)

    @property
    def size(self) -> int:
        """Number of features in the explanation audited."""
        return len(self.explanation)

    @property
    def removable(self) -> tuple[int, ...]:
        """Features that a sound explanation does not need: all of them together can be left out."""
        return tuple(sorted({*self.explanation} - {*self.sound_set}))

    @property
    def added(self) -> tuple[int, ...]:
        """Features that make the explanation provably sound, added to it."""
        return tuple(sorted({*self.sound_set} - {*self.explanation}))

    @property
    def completed(self) -> bool:
        """True if ``added`` is more than a guess: some feature outside was freed or is needed."""
        known = len(self.sound_set) < len(self.groups) or bool(self.counterfactuals)
        return not self.sound and known

    @property
    def excess(self) -> int | None:
        """Number of features that can be left out; None unless the explanation is sound."""
        return len(self.removable) if self.sound else None

    @property
    def minimal(self) -> bool | None:
        """True if the explanation is sound and no feature of it can be left out.

        False if it is sound and some feature can be; None if neither is known, or it is not sound.
        """
        if not self.sound:
            return None
        if self.removable:
            return False
        return None if self.unknown_reasons else True

    @property
    def unknown(self) -> tuple[int, ...]:
        """Features of ``sound_set`` that might not be needed, ascending."""
        return tuple(sorted(self.unknown_reasons))
