"""The question about a prediction: a set of margins that must all stay below zero.

Classification: the class ``c`` is kept if ``f_j(x') − f_c(x') < 0`` for every rival ``j``: all
other classes, or those that the question is restricted to.
Two classes by one score: class 1 is kept if ``−s(x') < 0``, class 0 if ``s(x') < 0``.
Regression: the outputs are kept if ``±(f_k(x') − f_k(x)) − δ ≤ 0`` for every output ``k``.

Each margin is affine in the outputs, so the margins of a network are a network
(:meth:`verix_encodings.Network.then`), and a check asks for the supremum of its outputs.

Scores that a final Sigmoid rounds have margins of their own. ``σ`` rises, so that in real
arithmetic the scores ``s`` and the outputs ``σ(s)`` have one order. A runtime tells outputs apart
that differ by ``δ``, and the ends of ``σ`` are flat: from 17 on it is 1 in float32, and the first
of several such classes is predicted. So a claim on the class ``c`` needs ``σ(s_c) − σ(s_j) ≥ δ``
for each rival ``j``. It holds if

    s_j − s_c + a_j < 0,    s_j − R < 0,    −R − s_c < 0    with    a_j ≤ ½,  a_j = 2 δ / σ'(R_j)

as there are ``a_j`` numbers between both scores where ``|s| ≤ R_j + a_j``, for ``R_j ≤ R``, and
there ``σ' ≥ σ'(R_j + a_j) ≥ σ'(R_j) / 2``, since ``(ln σ')' ≥ −1``. These are the margins. Those
with ``R`` alone are left out where bounds over the ball prove them; such bounds are ``R_j``, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from milp_verix.base.errors import InputError, listed, meant, shown
from milp_verix.models.loaded_model import LoadedModel, TieRule
from milp_verix.problem.search import ClassLike, Given
from verix_encodings import Interval, Network, crown_bounds, interval_bounds
from verix_encodings.arrays import FloatArray, differences, placed, unit_rows
from verix_encodings.safe_bounds import evaluation_error

_UNITS = 8
"""``δ`` in units of the last place of 1; onnxruntime's own ``σ`` is within one or two of them."""
_LARGEST = 9.0
"""``R``, so that ``a_j`` is 0.016 at most in float32; ``σ(9)`` is 0.9999."""


def rounded_margins(
    network: Network, box: Interval, label: int, rivals: Sequence[int], dtype: np.dtype[Any]
) -> Network:
    """Return the margins of the class ``label`` and its ``rivals`` for inputs in a box.

    The first ones are those of the rivals. Outputs have the precision of ``dtype``, of float32 at
    most.
    """
    precision = max(float(np.finfo(kind).eps) for kind in (dtype, np.float32))
    chosen, size = list(rivals), network.output_size
    try:
        scores = crown_bounds(network, box)[-1]
        highest, lowest = scores.upper[chosen], float(scores.lower[label])
    except OverflowError:
        highest, lowest = np.full(len(chosen), np.inf), -np.inf
    reach = np.clip(np.maximum(highest, -lowest), 0.0, _LARGEST)
    apart = 4.0 * _UNITS * precision * (1.0 + np.cosh(reach))  # 1 / σ'(R) = 2 + 2 cosh R
    high = [j for j, most in zip(chosen, highest, strict=True) if not most < _LARGEST]
    low = [label] * (not lowest > -_LARGEST)
    rows = [differences(chosen, label, size), unit_rows(high, size), -unit_rows(low, size)]
    weights = sp.vstack([sp.csr_array(block) for block in rows], format="csr")
    return network.then(weights, np.append(apart, np.full(len(high + low), -_LARGEST)))


class _Kept:
    """A property of the prediction that an explanation must keep; see :data:`Question`."""

    __slots__ = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Reservations that a reader of a result must know."""
        return ()

    def margins(self, network: Network) -> Network:
        """Return the network whose outputs are the margins."""
        raise NotImplementedError

    def losses(self, network: Network) -> Network:
        """Return the network whose largest output rises as confidence in the prediction drops."""
        return self.margins(network)

    def rival(self, _outputs: NDArray[Any]) -> int | None:
        """Return the best class compared with, None where no class is singled out."""
        return None


@dataclass(frozen=True, slots=True)
class Classification(_Kept):
    """The class ``label``, one of ``classes``, stays above its rivals.

    These are the classes ``against``, ascending, or all others if that is None. With the rule
    ``ties`` of a model that decides them, a rival of a lower number wins a tie, and others do not.
    """

    label: int
    classes: int
    against: tuple[int, ...] | None = None
    ties: TieRule | None = None

    @property
    def prediction(self) -> int:
        """The class predicted."""
        return self.label

    @property
    def notes(self) -> tuple[str, ...]:
        """The classes that do not count."""
        if self.against is None:
            return ()
        rivals = ", ".join(map(str, self.against))
        return (
            f"class {self.label} is compared with {rivals} alone; other classes may overtake it",
        )

    @property
    def rivals(self) -> list[int]:
        """The classes compared with, ascending."""
        if self.against is not None:
            return list(self.against)
        return [*range(self.label), *range(self.label + 1, self.classes)]

    def margins(self, network: Network) -> Network:
        """One margin ``f_j − f_c`` for each rival ``j``, in ascending ``j``.

        If scores are multiples of a step, half of it is added where a tie is a change, and taken
        away where it is none: then no margin is zero.
        """
        half = 0.0 if self.ties is None else self.ties.step / 2
        shift = [half if rival < self.label else -half for rival in self.rivals]
        return network.then(differences(self.rivals, self.label, self.classes), shift)

    def losses(self, network: Network) -> Network:
        """Minus the score of the predicted class."""
        return network.then(-unit_rows([self.label], self.classes), np.zeros(1))

    def changed(self, outputs: NDArray[Any]) -> bool:
        """Return whether some rival's score is above that of the label, or wins a tie with it."""
        own = outputs[self.label]
        if self.ties is not None and any(outputs[r] == own for r in self.rivals if r < self.label):
            return True
        return bool(np.max(outputs[self.rivals]) > own)

    def predicted(self, outputs: NDArray[Any]) -> int:
        """Return the class with the highest score of all, the first of them in a tie."""
        return int(np.argmax(outputs))

    def rival(self, outputs: NDArray[Any]) -> int | None:
        """Return the class ``against`` with the highest score; None where all others count."""
        if self.against is None:
            return None
        return self.against[int(np.argmax(outputs[list(self.against)]))]

    def confidence_drop(self, before: NDArray[Any], after: NDArray[Any]) -> float:
        """``f_c(x) − f_c(x')``, in the units of the network's scores."""
        return float(before[self.label]) - float(after[self.label])


@dataclass(frozen=True, slots=True)
class Threshold(_Kept):
    """The one score stays on its side of the threshold: class 1 is above it, class 0 is not.

    ``threshold`` is in the units of onnxruntime's output: 0 for a logit, ½ after a Sigmoid. The
    network itself is without the Sigmoid, so there it is 0. With ``ties``, the threshold itself is
    class 1 if these say so.
    """

    label: int
    threshold: float
    ties: TieRule | None = None

    @property
    def prediction(self) -> int:
        """The class predicted: 0 or 1."""
        return self.label

    @property
    def rivals(self) -> list[int]:
        """The other class."""
        return [1 - self.label]

    def margins(self, network: Network) -> Network:
        """The margin of the other class: ``−s`` for class 1, ``s`` for class 0."""
        half = 0.0 if self.ties is None else self.ties.step / 2
        kept = self.ties is not None and self.ties.upper == bool(self.label)
        return network.then([[-1.0 if self.label else 1.0]], [-half if kept else half])

    def changed(self, outputs: NDArray[Any]) -> bool:
        """Return whether the score is on the other side."""
        score = float(outputs[0])
        if self.ties is not None and score == self.threshold:
            return self.ties.upper != bool(self.label)
        return score < self.threshold if self.label else score > self.threshold

    def predicted(self, outputs: NDArray[Any]) -> int:
        """Return 1 if the score is above the threshold, else 0."""
        score = float(outputs[0])
        tie = self.ties is not None and self.ties.upper and score == self.threshold
        return int(score > self.threshold or tie)

    def confidence_drop(self, before: NDArray[Any], after: NDArray[Any]) -> float:
        """Return how far the score moved towards the other class, in the units of the output."""
        drop = float(before[0]) - float(after[0])
        return drop if self.label else -drop


@dataclass(frozen=True, slots=True, eq=False)
class Regression(_Kept):
    """Each output in ``outputs`` stays within ``delta`` of its value ``reference`` (in float64).

    ``exact`` holds the same values in real arithmetic, which the claim is about, and ``error``
    bounds the error of each.
    """

    delta: float
    outputs: tuple[int, ...]
    reference: FloatArray
    exact: FloatArray
    error: FloatArray

    @property
    def prediction(self) -> tuple[float, ...]:
        """The values of the outputs asked about."""
        return tuple(float(value) for value in self.reference)

    def margins(self, network: Network) -> Network:
        """Two margins for each output: first all ``f_k(x') − f_k(x) − δ``, then the negatives."""
        count = len(self.outputs)
        signs, rows = np.repeat([1.0, -1.0], count), np.arange(2 * count)
        return network.then(
            placed(signs, rows, np.tile(self.outputs, 2), (2 * count, network.output_size)),
            np.concatenate([-self.exact, self.exact]) - self.delta,
            np.concatenate([self.error, self.error]),
        )

    def changed(self, outputs: NDArray[Any]) -> bool:
        """Return whether some output has moved by more than ``delta``, to a finite value."""
        return bool(self.delta < np.max(np.abs(self._select(outputs) - self.reference)) < np.inf)

    def predicted(self, outputs: NDArray[Any]) -> tuple[float, ...]:
        """Return the values of the outputs asked about."""
        return tuple(float(value) for value in self._select(outputs))

    def confidence_drop(self, before: NDArray[Any], after: NDArray[Any]) -> float:
        """``max_k |f_k(x) − f_k(x')|``: in a regression no direction is worse than the other."""
        return float(np.max(np.abs(self._select(before) - self._select(after))))

    def _select(self, outputs: NDArray[Any]) -> FloatArray:
        selected: FloatArray = outputs[list(self.outputs)].astype(np.float64)
        return selected


Question: TypeAlias = Classification | Threshold | Regression
"""A property of a ``prediction``, a class or the values of outputs, that must be kept.

``changed`` tells of outputs, as evaluated by onnxruntime, whether the prediction is another one: a
claim never rests on a tie, and neither does a counterfactual. ``predicted`` is the prediction that
outputs amount to, ``confidence_drop`` the loss of confidence from one output to another: the
paper's sensitivity.
"""


def make_question(
    network: LoadedModel, x: NDArray[Any], given: Given, class_names: Sequence[str] = ()
) -> Question:
    """Return the question that the prediction at ``x`` poses: classification without ``delta``.

    A class may be called by its name in ``class_names``. Raises ``InputError`` for options that do
    not fit the network, and for a network known to be a regressor without ``delta``.
    """
    delta, output = given.delta, given.output
    scores = network.outputs_at(x)
    if not np.isfinite(scores).all():
        raise InputError(f"the network's output at the input is not finite: {scores}")
    if delta is None:
        if network.facts.regressor is not None:
            raise InputError(
                f"the {network.facts.regressor} is a regressor: it predicts values and no class; "
                "give delta (--delta), the change of an output that counts"
            )
        return _classification(network, scores, given, class_names)
    for name, value in (("label", given.label), ("against", given.against)):
        if value is not None:
            raise InputError(
                f"{name} belongs to classification, delta to regression: give one of them"
            )
    if network.softmax_stripped or network.sigmoid_stripped:
        stripped = "Softmax" if network.softmax_stripped else "Sigmoid"
        raise InputError(
            f"the network ends in a {stripped}, so its outputs are not piecewise linear and delta "
            "cannot bound them; leave delta out to explain the predicted class"
        )
    if network.classifies:
        raise InputError(
            "the model is a classifier, and delta is for values: leave delta out to explain the "
            "predicted class"
        )
    try:
        delta = float(delta)
    except (TypeError, ValueError) as error:
        raise InputError(f"delta must be a number, got {delta!r}") from error
    if not (np.isfinite(delta) and delta >= 0):
        raise InputError(f"delta must be finite and not negative, got {delta}")
    size = network.output_size
    outputs = tuple(range(size)) if output is None else (_index(output, size, "output"),)
    chosen = list(outputs)
    reference, exact = scores[chosen].astype(np.float64), network.ir.evaluate(x)[chosen]
    try:
        off = evaluation_error(network.ir, interval_bounds(network.ir, Interval(x, x)))[chosen]
    except OverflowError as failure:
        raise InputError(f"the network's values at the input overflow: {failure}") from failure
    return Regression(delta, outputs, reference, exact, off)


def _classification(
    network: LoadedModel, scores: NDArray[Any], given: Given, names: Sequence[str]
) -> Classification | Threshold:
    if given.output is not None:
        raise InputError("output belongs to regression: give delta, or leave output out")
    classes = max(network.output_size, 2)
    question: Classification | Threshold
    if network.output_size == 1:
        side = Threshold(0, 0.5 if network.sigmoid_stripped else 0.0, network.tie_rule)
        question = replace(side, label=side.predicted(scores))
    else:
        question = Classification(int(np.argmax(scores)), classes, ties=network.tie_rule)
    label, against = given.label, given.against
    kept = question.label if label is None else _class(label, classes, "label", names)
    if kept != question.label:
        raise InputError(
            f"the network predicts {_called(question.label, names)}, not {_called(kept, names)}; "
            "an explanation is of what the network predicts"
        )
    rivals = None if against is None else _rivals_in(against, question.label, classes, names)
    if isinstance(question, Threshold):
        return question  # of two classes, each has one rival
    question = replace(question, against=rivals)
    if not network.rounds_scores:
        return question
    if tied := [j for j in question.rivals if scores[j] == scores[question.label]]:
        both = " and ".join(_called(j, names) for j in (question.label, tied[0]))
        raise InputError(
            f"the outputs of {both} are both {scores[tied[0]]:.9g} at the input, since the final "
            "Sigmoid rounds their scores: give the network without it"
        )
    return question


def _rivals_in(
    against: ClassLike | Sequence[ClassLike], label: int, classes: int, names: Sequence[str]
) -> tuple[int, ...]:
    """Return the classes that the predicted one is compared with, ascending."""
    try:
        given = [against] if isinstance(against, int | np.integer | str) else list(against)
    except TypeError as error:
        raise InputError(f"against is a class or a list of classes, got {against!r}") from error
    rivals = sorted({_class(rival, classes, "against", names) for rival in given})
    if not rivals:
        raise InputError("against names no class; leave it out to compare with all of them")
    if label in rivals:
        raise InputError(
            f"against names {_called(label, names)}, which the network predicts; name others of "
            f"the classes {listed(names) or f'0..{classes - 1}'}"
        )
    return tuple(rivals)


def _class(given: ClassLike, classes: int, what: str, names: Sequence[str]) -> int:
    """Return the number of a class, given by its number or by its name."""
    if not isinstance(given, str):
        return _index(given, classes, what)
    if given not in names:
        known = f"they are {listed(names)}" if names else "the classes have no names"
        raise InputError(
            f"{what}: no class is called {shown(given)}: {known}; or give a number, "
            f"0..{classes - 1}{meant(given, names)}"
        )
    return list(names).index(given)


def _called(label: int, names: Sequence[str]) -> str:
    return f"class {label}" + (f" ({names[label]})" if names else "")


def _index(value: int, size: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{what} must be an integer, got {value!r}")
    if not 0 <= value < size:
        kind = "outputs" if what == "output" else "classes"
        raise InputError(f"{what} {value} is out of range: the network's {kind} are 0..{size - 1}")
    return int(value)
