"""Judges of changed certificates, which share nothing with the checker.

Each goes by the definition of what a claim says: of the ball and its rules for points, and of a set
that keeps a prediction, decided by HiGHS (the engine of ``auto`` for L2), by going through all
whole numbers, or through all cells between the thresholds of trees. Claims about all sets are
decided by going through all of these.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

import milp_verix
from milp_verix import continuous, integer
from milp_verix.models.onnx.onnx_network import OnnxNetwork, load_network
from tests.support.tree_claims import given, is_ruled, keeps, margins_at, points_of

_NEAR = 1e-9
"""Margins of float64 that decide nothing."""
_QUESTION = {"input", "epsilon", "norm", "domain", "features", "class", "against", "delta"}
_QUESTION |= {"outputs", "whole", "blocks", "rules"}


@dataclass
class Judge(ABC):
    """Decides whether certificates about a model claim the truth, without the checker."""

    model: bytes
    known: dict[Any, bool | None] = field(default_factory=dict)

    @abstractmethod
    def decides(self, claim: dict[str, Any], free: frozenset[int]) -> bool | None:
        """Return whether the prediction stays where features are free; None if that is open."""

    @abstractmethod
    def changes(self, claim: dict[str, Any], point: list[Fraction]) -> bool:
        """Return whether the prediction at a point is another."""

    def keeps(self, claim: dict[str, Any], free: frozenset[int]) -> bool | None:
        """Return what :meth:`decides` does; each question is decided once."""
        asked = {name: claim[name] for name in sorted(claim.keys() & _QUESTION)}
        key = json.dumps(asked), free
        if key not in self.known:
            try:
                self.known[key] = self.decides(claim, free)
            except milp_verix.InputError:
                self.known[key] = False
        return self.known[key]

    def says(self, data: dict[str, Any]) -> bool | None:
        """Return whether all that a certificate claims is true; None if that stays open."""
        claim, points = data["claim"], data["points"]
        every = frozenset(range(len(claim["features"])))
        free, shown = frozenset(claim["irrelevant"]), {int(name) for name in points}
        if claim["sha256"] != hashlib.sha256(self.model).hexdigest() or not shown <= every - free:
            return False
        if claim["minimal"] and shown != every - free:
            return False
        for name, moved in points.items():
            point = self._point(data, moved)
            if not self._inside(claim, point, free | {int(name)}) or not self.changes(claim, point):
                return False
        return _all([self.keeps(claim, free), *self._about_sets(data, every)])

    def _about_sets(self, data: dict[str, Any], every: frozenset[int]) -> Iterator[bool | None]:
        claim = data["claim"]
        if not claim.keys() & {"minimum", "no_part", "importance"}:
            return
        sets = [frozenset(c) for k in range(len(every) + 1) for c in combinations(every, k)]
        if "minimum" in claim:
            asked = claim["minimum"]
            costs = [Fraction(c) for c in asked.get("costs") or [1] * len(every)]
            must, must_not = (frozenset(asked.get(n) or ()) for n in ("must", "must_not"))
            for one in sets:
                cost = sum((costs[f] for f in one), Fraction(0))
                if cost < Fraction(asked["bound"]) and must <= one and not must_not & one:
                    yield _no(self.keeps(claim, every - one))
        if "no_part" in claim:
            protected = frozenset(claim["no_part"])
            for one in sets:
                with_, without = (self.keeps(claim, every - s) for s in (one, one - protected))
                yield None if None in (with_, without) else with_ == without
        if "importance" in claim:
            kept = {one: self.keeps(claim, every - one) for one in sets}
            for told in data["importance"]["kept"]:
                yield kept[frozenset(told["features"])]
            for moved in data["importance"]["changes"]:
                point = self._point(data, moved)
                yield self._inside(claim, point, every) and self.changes(claim, point)
            for f, ends in enumerate(claim["importance"].get("shapley", ())):
                yield _shapley_within(kept, f, len(every), ends)

    @staticmethod
    def _point(data: dict[str, Any], moved: dict[str, Any]) -> list[Fraction]:
        claim = data["claim"]
        x, named = given(claim), dict[int, Any]()
        if "start" in moved:
            named |= dict(enumerate(data["starts"][moved["start"]]))
        named |= {int(place): value for place, value in moved.items() if place != "start"}
        point = list(x)
        for place, value in named.items():
            low, high = _ends(claim, place, x[place])
            signs = {"-": low, "+": high, ".": x[place]}
            point[place] = signs[value] if value in signs else Fraction(value)
        return point

    @staticmethod
    def _inside(claim: dict[str, Any], point: list[Fraction], free: frozenset[int]) -> bool:
        x = given(claim)
        moves = [abs(a - b) for a, b in zip(point, x, strict=True)]
        moving = {i for feature in free for i in claim["features"][feature]}
        ends = (_ends(claim, place, a) for place, a in enumerate(x))
        within = all(
            (low is None or low <= p) and (high is None or p <= high)
            for p, (low, high) in zip(point, ends, strict=True)
        )
        if claim["norm"] != "linf":
            power, epsilon = int(claim["norm"][1]), Fraction(claim["epsilon"])
            within = within and epsilon >= 0 and sum(m**power for m in moves) <= epsilon**power
        whole = all(point[i].denominator == 1 for i in claim.get("whole", ()))
        fixed = all(i in moving for i, move in enumerate(moves) if move)
        return within and whole and fixed and is_ruled(claim, point)


@dataclass
class NetworkJudge(Judge):
    """Decides claims about a network: by HiGHS, or point by point if all inputs are whole."""

    network: OnnxNetwork = field(init=False)

    def __post_init__(self) -> None:
        self.network = load_network(self.model)

    def decides(self, claim: dict[str, Any], free: frozenset[int]) -> bool | None:
        """Return whether the prediction stays where features are free."""
        moving = {i for feature in free for i in claim["features"][feature]}
        described = any(name in claim for name in ("whole", "blocks", "rules"))
        if described and moving <= {*claim["whole"]}:
            margins = [self._margin(claim, p) for p in points_of({"trees": []}, claim, moving)]
            worst = max(margins, default=-1.0)
            return None if abs(worst) < _NEAR else worst < 0
        return self._described(claim, free) if described else self._by_highs(claim, free)

    def changes(self, claim: dict[str, Any], point: list[Fraction]) -> bool:
        """Return whether the prediction at a point is another."""
        return self._margin(claim, point) > 0

    def _margin(self, claim: dict[str, Any], point: list[Fraction]) -> float:
        """Return the worst margin at a point, above zero where the prediction is another."""
        scores = self.network.ir.evaluate(np.array([float(entry) for entry in point]))
        if "class" in claim:
            rivals = claim.get("against", {*range(scores.size)} - {claim["class"]})
            return float(max(scores[j] for j in rivals) - scores[claim["class"]])
        at_x = self.network.ir.evaluate(np.array([float(entry) for entry in given(claim)]))
        change = np.abs(scores - at_x)[claim["outputs"]].max()
        return float(change - float(Fraction(claim["delta"])))

    def _described(self, claim: dict[str, Any], free: frozenset[int]) -> bool | None:
        """Ask HiGHS about an input with rules, some numbers of which are not whole."""
        names = [f"x{i}" for i in range(len(claim["input"]))]
        ends = zip(*claim["domain"], strict=True)
        features = [
            (integer if i in claim["whole"] else continuous)(names[i], low, high)
            for i, (low, high) in enumerate(ends)
        ]
        rules = [" or ".join(map(_row, rule)) for rule in claim["rules"]]
        inputs = milp_verix.Inputs(features, rules=rules)
        x, radii = [float(a) for a in given(claim)], [float(Fraction(r)) for r in claim["epsilon"]]
        verdict = milp_verix.check(
            self.network, x, sorted(free), inputs=inputs, epsilon=radii, solver="highs"
        )
        return verdict.holds or (False if verdict.violated else None)

    def _by_highs(self, claim: dict[str, Any], free: frozenset[int]) -> bool | None:
        x = given(claim)
        ends = [_ends(claim, i, value) for i, value in enumerate(x)]
        epsilon = claim["epsilon"]
        reach = max(max(b - a, a - l, Fraction(0)) for a, (l, b) in zip(x, ends, strict=True))
        asked: dict[str, Any] = {
            "epsilon": float(reach if isinstance(epsilon, list) else Fraction(epsilon)),
            "norm": claim["norm"],
            "domain": tuple(tuple(map(float, side)) for side in zip(*ends, strict=True)),
            "features": claim["features"],
            "solver": "auto" if claim["norm"] == "l2" else "highs",
        }
        questions = [{"label": claim.get("class"), "against": claim.get("against")}]
        if "class" not in claim:
            delta = float(Fraction(claim["delta"]))
            questions = [{"delta": delta, "output": output} for output in claim["outputs"]]
        shaped = np.array([float(value) for value in x]).reshape(self.network.input_shape)
        held: list[bool | None] = []
        for question in questions:
            verdict = milp_verix.check(self.network, shaped, sorted(free), **asked, **question)
            held.append(verdict.holds or (False if verdict.violated else None))
        return _all(held)


@dataclass
class TreeJudge(Judge):
    """Decides claims about a file of trees, cell by cell."""

    def decides(self, claim: dict[str, Any], free: frozenset[int]) -> bool | None:
        """Return whether the prediction stays where features are free."""
        moving = {i for feature in free for i in claim["features"][feature]}
        return self._honest() and keeps(self.model, claim, moving)

    def changes(self, claim: dict[str, Any], point: list[Fraction]) -> bool:
        """Return whether the prediction at a point is another, beyond rounding."""
        margins = margins_at(json.loads(self.model), claim, point)
        return any(value > off or (value == off == 0 and not kept) for value, off, kept in margins)

    def _honest(self) -> bool:
        """Return whether the rounding of the file covers float64, or nothing is rounded."""
        read = json.loads(self.model)
        for k, (base, off) in enumerate(zip(read["base"], read["rounding"], strict=True)):
            leaves = [[n for n in t if isinstance(n, dict)] for t in read["trees"]]
            most = [max(abs(Fraction(n.get(str(k), 0))) for n in tree) for tree in leaves]
            total = sum(most, abs(Fraction(base)))
            values = [Fraction(n.get(str(k), 0)) for tree in leaves for n in tree] + [
                Fraction(base)
            ]
            exact = all((value * 2**20).denominator == 1 for value in values) and total < 2**32
            if Fraction(off) < total * len(leaves) / 2**53 and not (exact and Fraction(off) == 0):
                return False
        return True


def _ends(claim: dict[str, Any], place: int, x: Fraction) -> tuple[Any, Any]:
    """Return both ends of an input that is free, None where there is none."""
    epsilon = claim["epsilon"]
    radius = epsilon[place] if isinstance(epsilon, list) else epsilon
    ends = [end[place] if isinstance(end, list) else end for end in claim["domain"]]
    low, high = (None if end is None else Fraction(end) for end in ends)
    if radius is not None:
        near, far = x - Fraction(radius), x + Fraction(radius)
        low = near if low is None else max(low, near)
        high = far if high is None else min(high, far)
    return low, high


def _row(row: dict[str, Any]) -> str:
    """Return a row of a rule as a description has it."""
    terms = " + ".join(f"{float(Fraction(k))} * x{i}" for i, k in row["factors"].items())
    return f"{terms} {'<' if row.get('strict') else '<='} {float(Fraction(row['limit']))}"


def _shapley_within(kept: Any, f: int, count: int, ends: Any) -> bool | None:
    """Return whether the Shapley value of a feature is between its ends."""
    if None in kept.values():
        return None
    value = sum(
        Fraction(factorial(len(s)) * factorial(count - 1 - len(s)), factorial(count))
        for s, worth in kept.items()
        if f not in s and not worth and kept[s | {f}]
    )
    return Fraction(ends[0]) <= value <= Fraction(ends[1])


def _all(verdicts: list[bool | None]) -> bool | None:
    """Return False if one is, else None if one is, else True."""
    return False if False in verdicts else None if None in verdicts else True


def _no(verdict: bool | None) -> bool | None:
    return None if verdict is None else not verdict
