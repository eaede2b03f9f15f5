"""Changed certificates: every number in turn, dropped parts, and bits of weights.

    python benchmarks/tampering.py [--certificates N]

A judge that shares nothing with the checker (``tampering_judges.py``) decides whether an accepted
one is still true. A change that leaves the claim true, such as a slope that still proves, is
rightly accepted.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from tables import ROOT, Table, add_write, write

import milp_verix
from milp_verix import Certificate, Inputs, Problem, integer
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from verix_encodings.arrays import FloatArray

sys.path.insert(0, str(ROOT))
from tampering_judges import Judge, NetworkJudge, TreeJudge

from tests.support.certificates import changed, checked, mutants_of, numbers_in
from tests.support.onnx_models import DOUBLE
from tests.support.random_networks import (
    convolutional,
    dense_network,
    pooled,
    random_layers,
    residual,
)
from tests.support.tree_models import LIBRARIES

_BITS = 20
_PROOFS = "trees", "minimum", "no_part", "importance"
_PER_NUMBER = 4
_NUMBERS = 150
"""Numbers of a certificate that are changed at most: proofs of minima may have thousands."""

Made = tuple[bytes, Certificate, type[Judge]]


@dataclass(frozen=True)
class Kind:
    """Certificates of one kind by seed: the model, the certificate and its judge."""

    name: str
    make: Callable[[Path, int], Made]
    share: int


def of_network(
    make: Callable[[Path, int], OnnxNetwork], ask: Callable[..., Any], **question: Any
) -> Callable[[Path, int], Made]:
    """Return a maker of certificates of what ``ask`` answers about random networks."""

    def made(folder: Path, seed: int) -> Made:
        network = make(folder, seed)
        assert network.path is not None
        x = _input(network, seed).reshape(network.input_shape)
        found = ask(Problem(network, x, **question))
        return network.path.read_bytes(), found.certify(network), NetworkJudge

    return made


def dense(folder: Path, seed: int) -> OnnxNetwork:
    """Return a random network of five inputs and two layers of ReLUs."""
    layers = random_layers(np.random.default_rng(seed), [5, 6, 5, 3], DOUBLE)
    return dense_network(layers, folder, DOUBLE)


def described(ask: Callable[..., Any]) -> Callable[[Path, int], Made]:
    """Return a maker of certificates about a table of whole numbers with rules."""

    def made(folder: Path, seed: int) -> Made:
        network = dense_network(random_layers(np.random.default_rng(seed), [4, 5, 4, 3]), folder)
        assert network.path is not None
        ends = {"a": 3, "b": 2, "c": 3, "d": 2}
        inputs = Inputs(
            [integer(name, 0, end) for name, end in ends.items()],
            rules=["a + b <= 4", "c >= d or a >= 1"],
        )
        problem = Problem(network, [1, 1, 1, 1], inputs=inputs, epsilon=[2, 1, 2, 1])
        return network.path.read_bytes(), ask(problem).certify(network), NetworkJudge

    return made


def of_trees(
    library: str, ask: Callable[..., Any], values: int = 2, **question: Any
) -> Callable[[Path, int], Made]:
    """Return a maker of certificates about random trees; ``values`` is 0 for a regression."""

    def made(_: Path, seed: int) -> Made:
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(60, 3)), 2)
        score = X[:, 0] + X[:, 1] * X[:, 2]
        labels = np.abs(score) + 0.1
        if values:
            labels = np.digitize(score, np.quantile(score, np.arange(1, values) / values))
        model = LIBRARIES[library](rng, X, labels)
        problem = Problem(model, X[0], domain=(-4.0, 4.0), **{"epsilon": 0.7, **question})
        proof = ask(problem).certify(problem.network)
        return proof.model or b"", proof, TreeJudge

    return made


def explained(problem: Problem) -> Any:
    """Return an explanation."""
    return problem.explain()


def least(problem: Problem) -> Any:
    """Return a minimum explanation, with costs."""
    count = problem.features.count
    return problem.minimum(costs=[1 + 0.5 * (k % 3) for k in range(count)])


def audited(problem: Problem) -> Any:
    """Return an audit of a set that has one feature of the explanation too few, or is one."""
    found = problem.explain().explanation
    return problem.audit(found[1:] if len(found) % 2 else found)


def part(problem: Problem) -> Any:
    """Return the part of the feature that plays the least, by proof."""
    found = [problem.relevance(f) for f in range(problem.features.count)]
    return next((one for one in found if one.relevant is False), found[0])


def ranged(problem: Problem) -> Any:
    """Return the ranges of an explanation."""
    return problem.inflate()


def radius(problem: Problem) -> Any:
    """Return the robustness radius of two features."""
    return problem.radius(free=[0, 1])


def weighed(problem: Problem) -> Any:
    """Return the Shapley values."""
    return problem.importance()


LINF = {"epsilon": 0.3}
KINDS = (
    Kind("dense, L∞", of_network(dense, explained, **LINF), 6),
    Kind("dense, L1", of_network(dense, explained, epsilon=0.4, norm="l1"), 3),
    Kind("dense, L2", of_network(dense, explained, epsilon=0.4, norm="l2"), 3),
    Kind("convolutions, L∞", of_network(convolutional, explained, epsilon=0.2), 2),
    Kind("maximum pools, L∞", of_network(pooled, explained, epsilon=0.1), 1),
    Kind("sums of branches, L∞", of_network(residual, explained, epsilon=0.2), 3),
    Kind("regression, L∞", of_network(residual, explained, epsilon=0.2, delta=0.1), 3),
    Kind("minimum", of_network(dense, least, **LINF), 3),
    Kind("audit", of_network(dense, audited, **LINF), 3),
    Kind("ranges", of_network(dense, ranged, **LINF), 3),
    Kind("radius", of_network(dense, radius, **LINF), 3),
    Kind("relevance", of_network(dense, part, **LINF), 2),
    Kind("importance", of_network(dense, weighed, **LINF), 2),
    Kind("table with rules", described(explained), 3),
    Kind("table with rules, minimum", described(least), 3),
    Kind("table with rules, relevance", described(part), 3),
    Kind("table with rules, importance", described(weighed), 3),
    Kind("table with rules, audit", described(audited), 3),
    Kind("scikit-learn", of_trees("scikit-learn", explained), 9),
    Kind("scikit-learn, three classes", of_trees("scikit-learn", explained, 3), 9),
    Kind("XGBoost, L1", of_trees("XGBoost", explained, norm="l1"), 9),
    Kind("LightGBM, L2", of_trees("LightGBM", explained, norm="l2"), 9),
    Kind("LightGBM, three classes", of_trees("LightGBM", explained, 3), 9),
    Kind("XGBoost, regression", of_trees("XGBoost", explained, 0, delta=0.3), 9),
    Kind("HistGradientBoosting, minimum", of_trees("HistGradientBoosting", least), 9),
    Kind("XGBoost, ranges", of_trees("XGBoost", ranged), 9),
    Kind("LightGBM, relevance", of_trees("LightGBM", part), 9),
    Kind("LightGBM, importance", of_trees("LightGBM", weighed), 9),
    Kind("scikit-learn, audit", of_trees("scikit-learn", audited), 9),
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
    """Return how many mutants of one certificate there are, by their fate."""
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        try:
            model, certificate, judges = kind.make(Path(folder), seed)
        except milp_verix.InputError:
            return found  # such as a model that predicts one class alone
    if not certificate.proven:
        return found
    data = json.loads(certificate.to_json())
    judge = judges(model)
    assert checked(model, json.dumps(data))
    assert judge.says(data), (kind.name, seed)
    found["certificates"] += 1
    for mutant in mutants(data):
        found += _fate(model, mutant, judge)
    others = _changed_trees(model) if certificate.model else _flipped(model, seed)
    for other in others:
        found += _fate(other, data, judge)
        forged = changed(data, ("claim", "sha256"), hashlib.sha256(other).hexdigest())
        forged = changed(forged, ("claim", "bits"), 400)
        found += _fate(other, forged, judges(other))
    return found


def _changed_trees(model: bytes) -> Iterator[bytes]:
    """Yield files of trees with a number changed."""
    read = json.loads(model)
    for path, value in numbers_in(read):
        for other in mutants_of(value)[:2]:
            yield json.dumps(changed(read, path, other)).encode()


def _input(network: OnnxNetwork, seed: int) -> FloatArray:
    """Return the random input, of some, that is farthest from another class."""
    points = np.random.default_rng(seed).uniform(0.2, 0.8, (20, network.input_size))
    return max(points, key=lambda x: np.ptp(np.sort(network.ir.evaluate(x))[-2:]))


def _fate(model: bytes, mutant: Any, judge: Judge) -> Counter[str]:
    if not checked(model, json.dumps(mutant)):
        return Counter(mutants=1, refused=1)
    true = judge.says(mutant)
    if not true:
        print(f"accepted, and {true}: {json.dumps(mutant)[:400]}", file=sys.stderr)
    return Counter({"mutants": 1, {True: "true", False: "wrong", None: "open"}[true]: 1})


def mutants(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield copies of a certificate with a number changed, or a part dropped or swapped."""
    listed = [*numbers_in(data)]
    for place in np.random.default_rng(0).permutation(len(listed))[:_NUMBERS].tolist():
        path, value = listed[place]
        for other in mutants_of(value)[:_PER_NUMBER]:
            yield changed(data, path, other)
    parts = chain.from_iterable(_parts(data[n], (n,)) for n in _PROOFS if n in data)
    for path, part in islice(parts, _NUMBERS):
        for other in _fewer(part, path):
            yield changed(data, path, other)
    for name in data["points"]:
        rest = {other: moves for other, moves in data["points"].items() if other != name}
        yield {**data, "points": rest}
    for feature in set(range(len(data["claim"]["features"]))) - {*data["claim"]["irrelevant"]}:
        more = [*data["claim"]["irrelevant"], feature]
        points = {name: moves for name, moves in data["points"].items() if int(name) != feature}
        yield {**changed(data, ("claim", "irrelevant"), more), "points": points}
    for tree in range(len(data["trees"])):
        yield {**data, "trees": data["trees"][:tree] + data["trees"][tree + 1 :]}


def _fewer(part: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """Yield parts of a proof without some of their own."""
    if isinstance(part, list) and isinstance(path[-1], str) and part:
        yield part[1:]
    if not isinstance(part, dict):
        return
    for one, other in (("below", "above"), ("above", "below"), ("in", "out"), ("out", "in")):
        if one in part:
            yield part[one]  # a case is dropped
            yield {**part, one: part[other]}
    for name in ("multipliers", "slopes", "weights"):
        if part.get(name):
            yield {**part, name: {}}


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


if __name__ == "__main__":
    main(sys.argv[1:])
