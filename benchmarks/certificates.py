"""Certificates of explanations: how many have one, how large it is, and the seconds it takes.

    python benchmarks/certificates.py SHARED [CASE ...]
    python benchmarks/certificates.py SHARED --minimum [CASE ...]
    python benchmarks/certificates.py SHARED --trees

``SHARED`` is a folder with ``models`` and ``data``. Seconds are those of the processor. The checker
itself checks each certificate; one that it refuses ends the script. With ``--minimum`` minimum
explanations are certified: a certificate counts if it has the lower bound, too. With ``--trees``
the models are trees of rows of Adult, whose features move over their whole domain.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tables import ROOT, Table, add_write, write
from trees import adult, forest, lightgbm, xgboost

import milp_verix
from verix_checker.verification import verify

_SECONDS = 60.0
_ROWS = 20


@dataclass(frozen=True)
class Case:
    """Images ``first`` to ``first + count`` of a file for one network, at one radius."""

    network: str
    epsilon: float
    count: int
    data: str
    key: str
    arguments: tuple[tuple[str, Any], ...] = ()


_TRAFFIC = (("features", "pixels"), ("image_shape", (32, 32, 3)))
_MNIST = "mnist_test.npz", "images"
_SIGNS = "gtsrb10.npz", "test_images"
CASES = {
    "mnist-10x2": Case("mnist-10x2", 0.05, 20, *_MNIST),
    "gtsrb-10x2": Case("gtsrb-10x2", 0.01, 20, *_SIGNS, _TRAFFIC),
    "fame-mnist-cnn": Case("fame-mnist-cnn", 0.05, 10, *_MNIST),
    "fame-gtsrb-cnn": Case("fame-gtsrb-cnn", 0.01, 10, *_SIGNS, _TRAFFIC),
    "256x2": Case("vnncomp-mnist-256x2", 0.02, 4, *_MNIST),
    "digits": Case("examples/digits.onnx", 0.1, 20, "examples/digits.npz", "images"),
}


def main(arguments: Sequence[str]) -> None:
    """Print a row for each case, and write the table where that is asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("shared", type=Path)
    options.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    options.add_argument("--minimum", action="store_true")
    options.add_argument("--trees", action="store_true")
    add_write(options)
    given = options.parse_args(arguments)
    if given.trees:
        table = of_trees(given.shared / "data" / "adult.npz")
        if given.write:
            write(given.write, [table])
        return
    table = Table(
        "network | ε | images | certified | by cases | kB without points | kB | "
        "explain s | certify s | cost | check s"
    )
    list(
        measured(replace(CASES["digits"], count=1), given.shared, least=False)
    )  # loads what a process needs
    for name in given.cases:
        case = CASES[name]
        rows = list(measured(case, given.shared, least=given.minimum))
        proven = [row for row in rows if row is not None]
        if not proven:
            table.add(name, case.epsilon, len(rows), 0, 0, *["–"] * 6)
            continue
        _, bare, whole, explained, certified, checked = map(list, zip(*proven, strict=True))
        split = sum(row[0] > 0 for row in proven)
        cost = f"{100 * sum(certified) / sum(explained):.0f} %"
        middle = [f"{median(column):.2f}" for column in (bare, whole, explained, certified)]
        checks = f"{median(checked):.2f}"
        table.add(name, case.epsilon, len(rows), len(proven), split, *middle, cost, checks)
    if given.write:
        write(given.write, [table])


def of_trees(archive: Path) -> Table:
    """Return a row of medians for each kind of trees, of explanations and of minima."""
    table = Table(
        "trees of Adult | asked | rows | certified | cases | kB | kB of the trees | explain s | "
        "certify s | check s"
    )
    models = ("LightGBM 100 × 31", lightgbm(100)), ("XGBoost 100 × depth 6", xgboost(100, 6))
    x, y, inputs = adult(archive)
    for name, model in (*models, ("forest 100 × depth 8", forest(100, 8))):
        network = milp_verix.load_network(model.fit(x, y))
        for asked in ("explain", "minimum"):
            rows = []
            for row in x[:_ROWS]:
                problem = milp_verix.Problem(network, row, inputs=inputs, epsilon="inf")
                times = [time.process_time()]
                search = milp_verix.Search(time_limit=_SECONDS)
                found = getattr(problem, asked)(search=search)
                times.append(time.process_time())
                proof = found.certify(network, time_limit=_SECONDS)
                times.append(time.process_time())
                if not proof.proven or (asked == "minimum" and proof.bound is None):
                    print(f"{name}: {proof}", file=sys.stderr)
                    continue
                text = proof.to_json()
                for _ in verify(proof.model, json.loads(text, parse_float=Fraction)):
                    pass
                times.append(time.process_time())
                sizes = text.count('"below"') + 1, len(text) / 1000, len(proof.model) / 1000
                rows.append((*sizes, *np.diff(times).tolist()))
            shown = [f"{median(column):.2f}" for column in zip(*rows, strict=True)]
            table.add(name, asked, _ROWS, len(rows), *shown)
    return table


def measured(case: Case, shared: Path, *, least: bool) -> Iterator[tuple[float, ...] | None]:
    """Yield splits, sizes in kB and seconds of each image, None without a certificate.

    ``least`` asks for minimum explanations and their lower bounds.
    """
    ask = milp_verix.minimum if least else milp_verix.explain
    root = ROOT if case.network.startswith("examples/") else None
    path = root / case.network if root else shared / "models" / f"{case.network}.onnx"
    network = milp_verix.load_network(path)
    images = np.load((root or shared / "data") / case.data)[case.key]
    for image in images[: case.count]:
        x = scaled(image).reshape(network.input_shape)
        started = time.process_time()
        explanation = ask(
            network, x, epsilon=case.epsilon, time_limit=_SECONDS, **dict(case.arguments)
        )
        explained = time.process_time()
        certificate = explanation.certify(network, time_limit=_SECONDS)
        certified = time.process_time()
        if not certificate.proven or (least and certificate.bound is None):
            print(f"{case.network}: {certificate}", file=sys.stderr)
            yield None
            continue
        text = certificate.to_json()
        checking = time.process_time()
        for _ in verify(path.read_bytes(), json.loads(text, parse_float=Fraction)):
            pass
        checked = time.process_time() - checking
        shown = [certificate.data[part] for part in ("starts", "points")]
        points = json.dumps(shown, separators=(",", ":"))
        yield (
            text.count('"below"'),
            (len(text) - len(points)) / 1000,
            len(text) / 1000,
            explained - started,
            certified - explained,
            checked,
        )


def scaled(image: NDArray[Any]) -> NDArray[np.float32]:
    """Return an image with bytes scaled to [0, 1]."""
    if image.dtype != np.uint8:
        return image.astype(np.float32)
    return image.astype(np.float32) / np.float32(255)


if __name__ == "__main__":
    main(sys.argv[1:])
