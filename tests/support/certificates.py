"""Certificates of small networks, and the checker run on them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from milp_verix.api.calls import explain
from milp_verix.certificates.case_trees import quick_trees, trees_of
from milp_verix.certificates.phase_leaves import NoProofError
from milp_verix.certificates.reading import RoundedClaim, read
from milp_verix.models.onnx.onnx_network import load_network
from milp_verix.results.explanation import Explanation
from tests.support.random_networks import Layer, dense_network, random_layers
from verix_checker.claim import Claim
from verix_checker.numbers import parsed
from verix_checker.verification import verify


def checked(model: bytes, content: str) -> bool:
    """Return whether the checker accepts a certificate."""
    try:
        list(verify(model, parsed(content)))
    except Exception:
        return False
    return True


def explained(
    seed: int, folder: Path, epsilon: float = 0.2
) -> tuple[tuple[Layer, ...], bytes, Explanation]:
    """Return layers of a random network of five inputs, its file, and an explanation."""
    rng = np.random.default_rng(seed)
    layers = random_layers(rng, [5, 6, 5, 3])
    network = dense_network(layers, folder)
    assert network.path is not None
    x = rng.uniform(0.3, 0.7, 5).astype(np.float32)
    return layers, network.path.read_bytes(), explain(network, x, epsilon=epsilon)


def certified(seed: int, folder: Path) -> tuple[tuple[Layer, ...], bytes, dict[str, Any]]:
    """Return layers, file and certificate of a random network."""
    layers, model, explanation = explained(seed, folder, 0.3)
    certificate = explanation.certify(load_network(model))
    return layers, model, json.loads(certificate.to_json())


def proven(model: bytes, claim: dict[str, Any]) -> list[Any]:
    """Return trees that prove a claim, given as a certificate has it; ``NoProofError`` if none.

    The quick way and the exact one agree.
    """
    quick = RoundedClaim.of(read(model, claim["output"]), claim)
    exact = Claim(model, claim)
    try:
        trees = quick_trees(quick, lambda: exact)
    except NoProofError:
        trees_of(exact)
        raise AssertionError("the exact way proves more") from None
    assert len(trees_of(exact)) == len(trees)
    return trees


def numbers_in(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the path and value of each number, text and flag in JSON."""
    if isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from numbers_in(value, (*path, key))
    else:
        yield path, part


def mutants_of(value: Any) -> list[Any]:
    """Return other values of the same kind, and of others."""
    if isinstance(value, bool):
        return [not value, 0, None]
    if isinstance(value, int | float):
        others = [value + 1, value - 1, -value, 2 * value, value / 2, 0, 1, 10**6, None, "1/2"]
        return [other for other in others if other != value]
    if isinstance(value, str) and "/" in value:
        above, below = map(int, value.split("/"))
        near = [f"{above + 1}/{below}", f"{above - 1}/{below}", f"{above}/{2 * below}"]
        return [*near, f"{-above}/{below}", f"{above}/{below // 2}", 0, 1, "1/0"]
    if isinstance(value, str) and not set(value) - set("-.+"):  # coordinates of a point
        flipped = [value[:i] + sign + value[i + 1 :] for i in range(len(value)) for sign in "-.+"]
        return [*(other for other in flipped if other != value), value[1:], value + "."]
    if isinstance(value, str):
        return [value[::-1], "", ("0" if value[0] != "0" else "1") + value[1:]]
    return [0, 1, -1]


def changed(part: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of JSON with another value at ``path``."""
    copy = json.loads(json.dumps(part))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return copy
