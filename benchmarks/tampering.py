"""Changed certificates: every number in turn, dropped parts, and bits of weights.

    python benchmarks/tampering.py [--certificates N]

A judge that shares nothing with the checker decides whether an accepted one is still true: HiGHS on
the changed claim (the engine of ``auto`` for L2), and the definition of ball and domain for points.
A change that leaves the claim true, such as a slope that still proves, is rightly accepted.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from tables import ROOT, Table, add_write, write

import milp_verix
from milp_verix.onnx_reader.onnx_network import OnnxNetwork, load_network
from verix_encodings.arrays import FloatArray

sys.path.insert(0, str(ROOT))
from tests.support.certificates import changed, checked, mutants_of, numbers_in
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import (
    convolutional,
    dense_network,
    pooled,
    random_layers,
    residual,
)

_BITS = 20
_PER_NUMBER = 4


@dataclass(frozen=True)
class Kind:
    """Networks of one kind by seed, and the question about each."""

    name: str
    make: Callable[[Path, int], OnnxNetwork]
    question: dict[str, Any]
    share: int


def dense(folder: Path, seed: int) -> OnnxNetwork:
    """Return a random network of five inputs and two layers of ReLUs."""
    layers = random_layers(np.random.default_rng(seed), [5, 6, 5, 3], DOUBLE)
    return dense_network(layers, folder, DOUBLE)


KINDS = (
    Kind("dense, L∞", dense, {"epsilon": 0.3}, 14),
    Kind("dense, L1", dense, {"epsilon": 0.4, "norm": "l1"}, 6),
    Kind("dense, L2", dense, {"epsilon": 0.4, "norm": "l2"}, 6),
    Kind("convolutions, L∞", convolutional, {"epsilon": 0.2}, 6),
    Kind("maximum pools, L∞", pooled, {"epsilon": 0.1}, 6),
    Kind("sums of branches, L∞", residual, {"epsilon": 0.2}, 6),
    Kind("regression, L∞", residual, {"epsilon": 0.2, "delta": 0.1}, 6),
)


def main(arguments: list[str]) -> None:
    """Print a row for each kind, and write the table where that is asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--certificates", type=int, default=50)
    add_write(options)
    given = options.parse_args(arguments)
    table = Table(
        "network and norm | certificates | mutants | refused | the claim stays true | wrong | open"
    )
    total, share = Counter[str](), given.certificates / sum(kind.share for kind in KINDS)
    for kind in KINDS:
        found = Counter[str]()
        for seed in range(max(1, round(kind.share * share))):
            found += tampered(kind, seed)
        table.add(kind.name, *(found[name] for name in _COLUMNS))
        total += found
    table.add("all", *(total[name] for name in _COLUMNS))
    if given.write:
        write(given.write, [table])


_COLUMNS = "certificates", "mutants", "refused", "true", "wrong", "open"


def tampered(kind: Kind, seed: int) -> Counter[str]:
    """Return how many mutants of the certificate of one network there are, by their fate."""
    with tempfile.TemporaryDirectory() as folder:
        network = kind.make(Path(folder), seed)
        assert network.path is not None
        model, found = network.path.read_bytes(), Counter(certificates=1)
        x = _input(network, seed)
        explanation = milp_verix.explain(network, x.reshape(network.input_shape), **kind.question)
        certificate = explanation.certify(network)
        assert certificate.proven, certificate.reason
        data = json.loads(certificate.to_json())
        judge = Judge(model)
        assert checked(model, json.dumps(data))
        assert judge.says(data)
        for mutant in mutants(data):
            found += _fate(model, mutant, judge)
        for other in _flipped(model, seed):
            found += _fate(other, data, Judge(other))
            forged = changed(data, ("claim", "sha256"), hashlib.sha256(other).hexdigest())
            forged = changed(forged, ("claim", "bits"), 400)
            found += _fate(other, forged, Judge(other))
    return found


def _input(network: OnnxNetwork, seed: int) -> FloatArray:
    """Return the random input, of some, that is farthest from another class."""
    points = np.random.default_rng(seed).uniform(0.2, 0.8, (20, network.input_size))
    return max(points, key=lambda x: np.ptp(np.sort(network.ir.evaluate(x))[-2:]))


def _fate(model: bytes, mutant: Any, judge: "Judge") -> Counter[str]:
    if not checked(model, json.dumps(mutant)):
        return Counter(mutants=1, refused=1)
    true = judge.says(mutant)
    if not true:
        print(f"accepted, and {true}: {json.dumps(mutant)[:2000]}", file=sys.stderr)
    return Counter({"mutants": 1, {True: "true", False: "wrong", None: "open"}[true]: 1})


def mutants(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield copies of a certificate with a number changed, or a part dropped or swapped."""
    for path, value in numbers_in(data):
        for other in mutants_of(value)[:_PER_NUMBER]:
            yield changed(data, path, other)
    for path, part in _parts(data["trees"], ("trees",)):
        if isinstance(part, dict) and "neuron" in part:
            for side, other in (("below", "above"), ("above", "below")):
                yield changed(data, path, part[side])  # a case is dropped
                yield changed(data, path, {**part, side: part[other]})
        if isinstance(part, dict) and part.get("multipliers"):
            yield changed(data, path, {**part, "multipliers": {}})
        if isinstance(part, dict) and part.get("slopes"):
            yield changed(data, path, {**part, "slopes": {}})
    for name in data["points"]:
        rest = {other: moves for other, moves in data["points"].items() if other != name}
        yield {**data, "points": rest}
    for feature in set(range(len(data["claim"]["features"]))) - {*data["claim"]["irrelevant"]}:
        more = [*data["claim"]["irrelevant"], feature]
        points = {name: moves for name, moves in data["points"].items() if int(name) != feature}
        yield {**changed(data, ("claim", "irrelevant"), more), "points": points}
    for tree in range(len(data["trees"])):
        yield {**data, "trees": data["trees"][:tree] + data["trees"][tree + 1 :]}


def _parts(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, part
    if isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from _parts(value, (*path, key))


def _flipped(model: bytes, seed: int) -> Iterator[bytes]:
    """Yield models with one bit of one weight flipped."""
    rng = np.random.default_rng(seed)
    for _ in range(_BITS):
        copy = onnx.load_model_from_string(model)
        stored = [one for one in copy.graph.initializer if one.data_type in (1, 11)]
        chosen = stored[rng.integers(len(stored))]
        numbers = onnx.numpy_helper.to_array(chosen).copy()
        whole = np.uint32 if numbers.dtype == np.float32 else np.uint64
        bits, place = numbers.reshape(-1).view(whole), rng.integers(numbers.size)
        bits[place] ^= whole(1) << whole(rng.integers(numbers.dtype.itemsize * 8))
        if 1e-9 < abs(float(numbers.reshape(-1)[place])) < 1e9:
            chosen.CopyFrom(onnx.numpy_helper.from_array(numbers, chosen.name))
            yield copy.SerializeToString()


@dataclass
class Judge:
    """Decides whether certificates about a network claim the truth, without the checker."""

    model: bytes
    known: dict[str, bool | None] = field(default_factory=dict)

    def says(self, data: dict[str, Any]) -> bool | None:
        """Return whether all that a certificate claims is true; None if that stays open."""
        claim, points = data["claim"], data["points"]
        kept = {*range(len(claim["features"]))} - {*claim["irrelevant"]}
        shown = {int(name) for name in points}
        if claim["sha256"] != hashlib.sha256(self.model).hexdigest() or not shown <= kept:
            return False
        if claim["minimal"] and shown != kept:
            return False
        network = load_network(self.model)
        for name, moved in points.items():
            if not self._shows(network, claim, int(name), self._point(data, moved)):
                return False
        question = json.dumps([claim[name] for name in sorted(claim.keys() & _QUESTION)])
        if question not in self.known:
            self.known[question] = self._holds(network, claim)
        return self.known[question]

    @staticmethod
    def _point(data: dict[str, Any], moved: dict[str, Any]) -> list[Fraction]:
        claim = data["claim"]
        x, epsilon = [Fraction(entry) for entry in claim["input"]], Fraction(claim["epsilon"])
        named: dict[int, Any] = {}
        if "start" in moved:
            named |= dict(enumerate(data["starts"][moved["start"]]))
        named |= {int(place): value for place, value in moved.items() if place != "start"}
        point = list(x)
        for place, value in named.items():
            low, high = (
                Fraction(end[place] if isinstance(end, list) else end) for end in claim["domain"]
            )
            signs = {
                "-": max(x[place] - epsilon, low),
                "+": min(x[place] + epsilon, high),
                ".": x[place],
            }
            point[place] = signs[value] if value in signs else Fraction(value)
        return point

    @staticmethod
    def _shows(
        network: OnnxNetwork, claim: dict[str, Any], feature: int, point: list[Fraction]
    ) -> bool:
        x = [Fraction(entry) for entry in claim["input"]]
        moves = [abs(a - b) for a, b in zip(point, x, strict=True)]
        epsilon, norm = Fraction(claim["epsilon"]), claim["norm"]
        far = {"linf": max(moves), "l1": sum(moves), "l2": sum(m * m for m in moves)}[norm]
        free = {i for one in (*claim["irrelevant"], feature) for i in claim["features"][one]}
        inside = all(i in free for i, move in enumerate(moves) if move)
        low, high = claim["domain"]
        if far > (epsilon**2 if norm == "l2" else epsilon) or not inside:
            return False
        if not all(Fraction(low) <= entry <= Fraction(high) for entry in point):
            return False
        scores = network.ir.evaluate(np.array([float(entry) for entry in point]))
        if "class" in claim:
            rivals = claim.get("against", {*range(scores.size)} - {claim["class"]})
            return bool(max(scores[j] for j in rivals) > scores[claim["class"]])
        at_x = network.ir.evaluate(np.array([float(entry) for entry in x]))
        change = np.abs(scores - at_x)[claim["outputs"]].max()
        return bool(change > float(Fraction(claim["delta"])))

    @staticmethod
    def _holds(network: OnnxNetwork, claim: dict[str, Any]) -> bool | None:
        x = np.array([float(Fraction(entry)) for entry in claim["input"]])
        asked: dict[str, Any] = {
            "epsilon": float(Fraction(claim["epsilon"])),
            "norm": claim["norm"],
            "domain": tuple(float(Fraction(end)) for end in claim["domain"]),
            "features": claim["features"],
            "solver": "auto" if claim["norm"] == "l2" else "highs",
        }
        questions = [{"label": claim.get("class"), "against": claim.get("against")}]
        if "class" not in claim:
            delta = float(Fraction(claim["delta"]))
            questions = [{"delta": delta, "output": output} for output in claim["outputs"]]
        for question in questions:
            try:
                verdict = milp_verix.check(
                    network,
                    x.reshape(network.input_shape),
                    claim["irrelevant"],
                    **asked,
                    **question,
                )
            except milp_verix.InputError:
                return False
            if verdict.answer != milp_verix.Answer.HOLDS:
                return False if verdict.answer == milp_verix.Answer.VIOLATED else None
        return True


_QUESTION = {"input", "epsilon", "norm", "domain", "features", "irrelevant", "class", "against"} | {
    "delta",
    "outputs",
}


if __name__ == "__main__":
    main(sys.argv[1:])
