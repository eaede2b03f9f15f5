"""An audit: the judgement on a set of features that another tool calls an explanation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from milp_verix.base.errors import printable
from milp_verix.base.stored_kinds import Count, FeatureSet, Index
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.verdict import Answer
from milp_verix.results import shown
from milp_verix.results.base import Counterfactual, Result
from milp_verix.results.shown import Certified, Drawn


@dataclass(frozen=True, slots=True)
class Minimum:
    """A sound set of features that a search found, and how small such a set can be at the least.

    Attributes:
        explanation: The sound set, ascending.
        lower_bound: Proven: no sound set that was asked for has fewer features.
    """

    explanation: FeatureSet
    lower_bound: Count

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
class Audit(Certified, Drawn, Result):
    """The judgement on a set of features that some tool calls an explanation.

    ``sound``: True, with a proof that the set keeps the prediction; False, with a
    ``counterexample``; or None. ``removable`` features can be left out, all together; ``added``
    ones make a set sound that is not.

    The picture of an image shows the input, the set with the features that can be left out or are
    missing, and an input that changes the prediction, with its change. Other inputs have a row or a
    bar for each feature. That input is the counterexample of a set that is not sound, or the
    counterfactual of some feature of a sound one.

    Attributes:
        explanation: The features that were audited, ascending.
        answer: Whether they keep the prediction. ``HOLDS`` is a proof.
        bound: Proven upper bound on the worst margin; None unless the answer is ``HOLDS``.
        counterexample: An input that keeps the features and changes the prediction, run in
            onnxruntime; None unless the answer is ``VIOLATED``.
        unknown_reason: What kept the answer from being found, or None.
        sound_set: A set that is proven to be sound: part of a sound explanation, or one that holds
            the whole explanation.
        unknown_reasons: Why features that were tried, or should have been, were not decided.
        counterfactuals: For features of the sound set that cannot be left out, an input that
            changes them and features outside of that set alone.
        minimum: The smallest sound set of all, if it was sought, or None.
        completion: The smallest sound set that holds the explanation, if it was sought, or None.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes

    kind: ClassVar[str] = "audit"
    noun: ClassVar[str] = "an audit"
    derived = (*Result.derived, "sound", "minimal", "removable", "added")

    explanation: FeatureSet
    answer: Answer
    bound: float | None
    counterexample: Counterfactual | None
    unknown_reason: str | None
    sound_set: FeatureSet
    unknown_reasons: Mapping[Index, str]
    counterfactuals: Mapping[Index, Counterfactual]
    minimum: Minimum | None = None
    completion: Minimum | None = None

    def __post_init__(self) -> None:
        Result.__post_init__(self)
        self._refuse_no_features(explanation=self.explanation, sound_set=self.sound_set)
        for found in (self.minimum, self.completion):
            self._refuse_no_features(explanation=() if found is None else found.explanation)
        self._refuse_points(self.counterfactuals.values())
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
        self._refuse_points([self.counterexample], {*range(len(self.groups))} - audited)

    @property
    def sound(self) -> bool | None:
        """True if it is proven that the explanation keeps the prediction, False if refuted."""
        return {Answer.HOLDS: True, Answer.VIOLATED: False}.get(self.answer)

    @property
    def size(self) -> int:
        """Number of features in the explanation audited."""
        return len(self.explanation)

    @property
    def removable(self) -> FeatureSet:
        """Features that a sound explanation does not need: all of them together can be left out."""
        return tuple(sorted({*self.explanation} - {*self.sound_set}))

    @property
    def added(self) -> FeatureSet:
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

    def replay(self, network: LoadedModel) -> tuple[int | None, ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        None among them stands for the counterexample. A counterfactual fails that is outside the
        ball or the domain, changes a feature of the sound set beside its own, or does not change
        the prediction. Raises ``InputError`` where ``network`` is not the network audited.
        """
        others = [f for f in range(len(self.groups)) if f not in self.explanation]
        irrelevant = [f for f in range(len(self.groups)) if f not in self.sound_set]
        points: list[tuple[int | None, list[int], Counterfactual]] = [
            (f, [*irrelevant, f], point) for f, point in self.counterfactuals.items()
        ]
        if self.counterexample is not None:
            points.insert(0, (None, others, self.counterexample))
        return self._failing(points, network)

    def __repr__(self) -> str:
        words = shown.audit_words
        text = f"{words.audit_headline(self)}, {words.audit_outcome(self)}"
        return printable(f"Audit({self.model.file}: {text})")
