"""The domain that features and rules describe: whole numbers, values of categories, half-spaces."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from milp_verix.errors import InputError
from milp_verix.inputs.features import Feature
from milp_verix.inputs.nearest_point import nearest_point
from milp_verix.inputs.rules import Rule
from verix_encodings import Interval
from verix_encodings.arrays import BoolArray, IntArray
from verix_encodings.bounds.mixed_domain import Clause, HalfSpace, MixedDomain


def domain_of(
    features: Sequence[Feature],
    groups: Sequence[IntArray],
    integral: BoolArray,
    rules: Sequence[Rule],
) -> MixedDomain:
    """Return the domain of ``features`` with the coordinates ``groups``, in which ``rules`` hold.

    ``integral`` marks coordinates that are whole, shape (d,).
    """
    clauses, blocks = list[Clause](), list[IntArray]()
    for feature, group in zip(features, groups, strict=True):
        if feature.one_hot:
            blocks.append(np.sort(group))
        elif feature.unordered:
            clauses += _gaps(feature, int(group[0]))
    clauses += [clause for rule in rules for clause in rule.clauses]
    return MixedDomain(integral, tuple(clauses), tuple(blocks))


def refuse_contradictions(rules: Sequence[Rule], alone: MixedDomain, box: Interval) -> None:
    """Raise ``InputError`` that names rules which no input of finite ends satisfies together.

    ``alone`` is the domain without rules, in the ``box``.
    """
    if not rules or not _impossible(rules, alone, box):
        return
    left = list(rules)
    for rule in rules:
        fewer = [other for other in left if other is not rule]
        if _impossible(fewer, alone, box):
            left = fewer
    told = "; ".join(rule.text for rule in left)
    raise InputError(f"no input satisfies the rules together: {told}")


def _impossible(rules: Sequence[Rule], alone: MixedDomain, box: Interval) -> bool:
    if not (np.isfinite(box.lower).all() and np.isfinite(box.upper).all()):
        return False
    clauses = tuple(clause for rule in rules for clause in rule.clauses)
    domain = replace(alone, rules=alone.rules + clauses)
    return nearest_point(domain, box, box.lower) is None


def _gaps(feature: Feature, coordinate: int) -> list[Clause]:
    """Return the clauses that keep a category away from numbers between its codes."""
    codes, at = sorted(feature.codes), np.array([coordinate], dtype=np.intp)
    return [
        (HalfSpace(at, np.ones(1), float(low)), HalfSpace(at, -np.ones(1), -float(high)))
        for low, high in pairwise(codes)
        if high - low > 1
    ]
