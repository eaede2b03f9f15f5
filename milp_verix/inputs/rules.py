"""Rules between features, as Python expressions: sums of features compared, joined by ``& | ~``.

A rule holds two conjunctive normal forms, its own and that of its negation:

    p ∧ q:  C_p ∪ C_q                        ¬(p ∧ q):  { c ∪ d : c ∈ C_¬p, d ∈ C_¬q }
    p ∨ q:  { c ∪ d : c ∈ C_p, d ∈ C_q }     ¬(p ∨ q):  C_¬p ∪ C_¬q

Their clauses are half-spaces of the input's coordinates. Sums of whole numbers with whole
coefficients are whole, so ``s < b`` is ``s ≤ ⌈b⌉ − 1`` there; other strict half-spaces stay strict.

A value that is missing satisfies no comparison, as NaN does in Python: ``a <= 3`` and ``a > 3`` are
both false of it, ``~(a <= 3)`` and ``a != 3`` are true. ``a == "missing"`` asks for it. So a
comparison of features that may be missing says, too, that none of them is.
"""

import keyword
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milp_verix.base.errors import InputError, listed
from milp_verix.inputs.cells import code_in
from milp_verix.inputs.feature import MISSING, Feature
from verix_encodings.bounds.mixed_domain import Clause, HalfSpace

_MOST_CLAUSES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A condition on inputs: every clause of ``clauses`` holds; ``opposite`` are those of its not.

    ``text`` is the condition in Python, ``owner`` the features that it is about.
    """

    clauses: tuple[Clause, ...]
    opposite: tuple[Clause, ...]
    text: str
    owner: tuple[Feature, ...]

    def __and__(self, other: "Rule") -> "Rule":
        return self._joined(other, "&", "and")

    def __or__(self, other: "Rule") -> "Rule":
        return self._joined(other, "|", "or")

    def __invert__(self) -> "Rule":
        return Rule(self.opposite, self.clauses, f"~({self.text})", self.owner)

    def implies(self, other: "Rule") -> "Rule":
        """Return the rule that ``other`` holds wherever this one does."""
        return replace(~self | other, text=f"({self.text}).implies({_rule(other).text})")

    def __bool__(self) -> bool:
        raise InputError(
            "a rule is neither true nor false: join rules by & and |, in parentheses, not by "
            "'and', 'or' or chains of comparisons"
        )

    def _joined(self, other: "Rule", sign: str, word: str) -> "Rule":
        other = _rule(other)
        if other.owner is not self.owner:
            raise InputError("both rules must be about features of the same Inputs")
        distinct = tuple(dict.fromkeys(self.clauses + other.clauses))
        both = distinct, _product(self.opposite, other.opposite)
        either = _product(self.clauses, other.clauses), self.opposite + other.opposite
        clauses, opposite = both if word == "and" else either
        return Rule(clauses, opposite, f"({self.text}) {sign} ({other.text})", self.owner)

    def same(self, other: "Rule") -> bool:
        """Return whether the other rule has the same text and the same half-spaces."""
        return (self.text, _halves(self)) == (other.text, _halves(other))


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A weighted sum of coordinates and a constant, to be compared with another or with a value.

    ``weights`` maps coordinates to coefficients; ``whole`` says that the sum of their terms is
    always whole. ``feature`` is the feature that the quantity stands for, None for other sums;
    ``group`` are its coordinates. ``ways`` has two half-spaces for each feature in it that may be
    missing: where it is there, and where it is missing.
    """

    weights: Mapping[int, float]
    constant: float
    whole: bool
    text: str
    owner: tuple[Feature, ...]
    feature: Feature | None = None
    group: tuple[int, ...] = ()
    ways: tuple[tuple[HalfSpace, HalfSpace], ...] = ()

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: object) -> "Quantity":
        # floats are not associative: parentheses keep the order of the sum
        is_sum = isinstance(other, Quantity) and other.feature is None
        term = f"({_text(other)})" if is_sum else _text(other)
        return self._sum(self._quantity(other), 1.0, f"{self.text} + {term}")

    def __radd__(self, other: object) -> "Quantity":
        return self._quantity(other) + self

    def __sub__(self, other: object) -> "Quantity":
        return self._sum(self._quantity(other), -1.0, f"{self.text} - ({_text(other)})")

    def __rsub__(self, other: object) -> "Quantity":
        return self._quantity(other) - self

    def __neg__(self) -> "Quantity":
        return self * -1

    def __mul__(self, factor: object) -> "Quantity":
        self._refuse_category()
        a = _number(factor)
        weights = {i: a * w for i, w in self.weights.items()}
        whole = self.whole and a == np.rint(a)
        text = f"{_text(a)} * ({self.text})"
        return Quantity(weights, a * self.constant, whole, text, self.owner, ways=self.ways)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> "Quantity":
        raise InputError(
            f"{self.text} and {_text(other)}: rules add features times numbers, without /, %, **; "
            "write a / 2 <= 3 as a <= 6"
        )

    def __abs__(self) -> "Quantity":
        raise InputError(
            f"abs({self.text}): rules are linear; bound a feature from both sides, such as "
            "(-3 <= a) & (a <= 3)"
        )

    __rtruediv__ = __pow__ = __mod__ = __floordiv__ = __truediv__

    def __le__(self, other: object) -> Rule:
        return self._compared(other, "<=")

    def __lt__(self, other: object) -> Rule:
        return self._compared(other, "<")

    def __ge__(self, other: object) -> Rule:
        return self._compared(other, ">=")

    def __gt__(self, other: object) -> Rule:
        return self._compared(other, ">")

    def __eq__(self, other: object) -> Rule:  # type: ignore[override]
        if self.feature is not None and self.feature.unordered:
            return self._equals(other)
        if self.feature is not None and self.ways and isinstance(other, str) and other == MISSING:
            ((there, gone),) = self.ways
            return Rule(((gone,),), ((there,),), f"{self.text} == {MISSING!r}", self.owner)
        below, above = self._compared(other, "<="), self._compared(other, ">=")
        return replace(below & above, text=f"{self.text} == {_text(other)}")

    def __ne__(self, other: object) -> Rule:  # type: ignore[override]
        return replace(~(self == other), text=f"{self.text} != {_text(other)}")

    def isin(self, values: Iterable[object]) -> Rule:
        """Return the rule that the quantity is one of ``values``, numbers or words."""
        given = [] if isinstance(values, str) else list(values)
        if not given:
            raise InputError(f"{self.text}: isin takes a list of values, got {values!r}")
        rules = [self == value for value in given]
        found = rules[0]
        for rule in rules[1:]:
            found = found | rule
        quantity = self.text if self.feature is not None else f"({self.text})"
        return replace(found, text=f"{quantity}.isin([{', '.join(map(_text, given))}])")

    def _equals(self, word: object) -> Rule:
        """Return the rule that a category has one value."""
        assert self.feature is not None
        code = int(_code(word, self.feature))
        text = f"{self.text} == {_text(word)}"
        if self.feature.one_hot:
            at, value = self.group[code], 1.0
        else:
            at, value = self.group[0], float(code)
        low, high = (_half({at: sign}, sign * value) for sign in (-1.0, 1.0))
        return Rule(((low,), (high,)), ((_opposite(low), _opposite(high)),), text, self.owner)

    def _compared(self, other: object, sign: str) -> Rule:
        self._refuse_category()
        right = self._quantity(other)
        difference = self._sum(right, -1.0, "")
        weights = {i: w for i, w in difference.weights.items() if w}
        text = f"{self.text} {sign} {right.text if isinstance(other, Quantity) else _text(other)}"
        if not weights:
            raise InputError(f"the rule {text} is about no feature")
        if sign in (">=", ">"):
            weights = {i: -w for i, w in weights.items()}
        bound = difference.constant if sign in (">=", ">") else -difference.constant
        if not np.isfinite([bound, *weights.values()]).all():
            raise InputError(f"the rule {text} has sums beyond float64")
        half = _half(weights, bound, strict=sign in ("<", ">"), whole=difference.whole)
        opposite = _opposite(half, whole=difference.whole)
        clauses = (half,), *((there,) for there, _ in difference.ways)
        negated = opposite, *(gone for _, gone in difference.ways)
        return Rule(clauses, (negated,), text, self.owner)

    def _sum(self, other: "Quantity", sign: float, text: str) -> "Quantity":
        for quantity in (self, other):
            quantity._refuse_category()
        if other.owner is not self.owner:
            raise InputError("features of two different Inputs are not comparable")
        weights = dict(self.weights)
        for i, w in other.weights.items():
            weights[i] = weights.get(i, 0.0) + sign * w
        constant = self.constant + sign * other.constant
        ways = tuple(dict.fromkeys((*self.ways, *other.ways)))
        whole = self.whole and other.whole
        return Quantity(weights, constant, whole, text, self.owner, ways=ways)

    def _quantity(self, other: object) -> "Quantity":
        """Return ``other`` as a quantity: a number, a word of this feature, or a quantity."""
        if isinstance(other, Quantity):
            return other
        if isinstance(other, (str, bool)) and self.feature is not None:
            other = _code(other, self.feature)
        number = _number(other)
        return Quantity({}, number, True, _text(number), self.owner)

    def _refuse_category(self) -> None:
        if self.feature is not None and self.feature.unordered:
            raise InputError(
                f"{self.feature.name} is a category: compare it by ==, != or isin with its values"
            )


def quantity_of(features: tuple[Feature, ...], index: int, group: Sequence[int]) -> Quantity:
    """Return feature ``index``, whose coordinates are ``group``, as a quantity."""
    feature = features[index]
    name = str(feature.name)
    unchanged = unicodedata.normalize("NFKC", name) == name
    plain = unchanged and name.isidentifier() and not keyword.iskeyword(name)
    text = name if plain else f"inputs[{name!r}]"
    weights = {group[0]: 1.0}
    # no number lies between the last one and the missing value
    there = _half(weights, feature.last, whole=False)
    gone = _half({group[0]: -1.0}, -feature.top, whole=False)
    ways = ((there, gone),) if feature.missing and not feature.unordered else ()
    return Quantity(weights, 0.0, feature.whole, text, features, feature, tuple(group), ways)


def _half(
    weights: Mapping[int, float], bound: float, *, strict: bool = False, whole: bool = True
) -> HalfSpace:
    """Return ``Σ w_i x_i ≤ bound``, or ``<``; closed and with a whole bound for whole sums."""
    if whole:
        bound, strict = (np.ceil(bound) - 1.0 if strict else np.floor(bound)), False
    coordinates = np.array(sorted(weights), dtype=np.intp)
    return HalfSpace(coordinates, np.array([weights[int(i)] for i in coordinates]), bound, strict)


def _halves(rule: Rule) -> list[list[list[tuple[Any, ...]]]]:
    def text(h: HalfSpace) -> tuple[Any, ...]:
        return h.coordinates.tolist(), h.coefficients.tolist(), h.upper, h.strict

    return [[[*map(text, c)] for c in clauses] for clauses in (rule.clauses, rule.opposite)]


def _opposite(half: HalfSpace, *, whole: bool = True) -> HalfSpace:
    """Return the half-space of the points that are not in ``half``."""
    bound = -half.upper - 1.0 if whole else -half.upper
    strict = not whole and not half.strict
    return HalfSpace(half.coordinates, -half.coefficients, bound, strict)


def _product(left: tuple[Clause, ...], right: tuple[Clause, ...]) -> tuple[Clause, ...]:
    # (a ∧ s) ∨ (b ∧ s) is (a ∨ b) ∧ s
    shared = {*right}
    both = dict.fromkeys(c for c in left if c in shared)
    left, right = (tuple(c for c in one if c not in both) for one in (left, right))
    if len(left) * len(right) > _MOST_CLAUSES:
        raise InputError(f"a rule has more than {_MOST_CLAUSES} clauses: state it as several rules")
    return *both, *(tuple(dict.fromkeys(c + d)) for c in left for d in right)


def _rule(given: object) -> Rule:
    if not isinstance(given, Rule):
        raise InputError(f"a rule is a comparison of features, got {given!r}")
    return given


def _number(given: object) -> float:
    if isinstance(given, Quantity):
        raise InputError(
            "rules are linear, and a product of features is not: multiply a feature by a number "
            "alone, or add a feature for the product to the table"
        )
    kinds = (int, float, np.integer, np.floating)
    try:
        number = float(given) if isinstance(given, kinds) else np.nan
    except OverflowError:
        number = np.inf
    if isinstance(given, bool) or not np.isfinite(number):
        raise InputError(f"a rule has finite numbers and features of its Inputs, got {given!r}")
    return number


def _code(given: object, feature: Feature) -> float:
    """Return the code of a word, or of a truth value where the feature has two such words."""
    if not feature.values:
        raise InputError(
            f"{feature.name} is compared with {given!r}, and has numbers: write a number, without "
            "quotes"
        )
    if not isinstance(given, (str, bool)):
        raise InputError(f"{feature.name} has the values {listed(feature.values)}, not {given!r}")
    return code_in(feature, given)


def _text(given: Any) -> str:
    """Return a quantity, a word or a number as a rule's text has it; NumPy's as Python's own."""
    if isinstance(given, Quantity):
        return given.text
    if isinstance(given, str):
        return repr(str(given))
    if isinstance(given, bool):
        return repr(given)
    number = _number(given)
    return repr(int(number) if number.is_integer() else number)
