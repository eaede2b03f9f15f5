"""Files of every kind that is written, of small networks, each with what reads it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import milp_verix
from milp_verix import InputError, Inputs, OnnxNetwork
from milp_verix.comparison.compare import checks_of, read_checks, write_checks
from milp_verix.inputs.feature import binary, category, integer, ordinal
from milp_verix.study.journal import best_records
from tests.support.certificates import certified
from tests.support.command_line import run_here
from tests.support.random_networks import dense_network, random_layers
from verix_checker.numbers import parsed
from verix_checker.verification import verify

X = [0.4, 0.6, 0.5, 0.3]
FEATURES = [
    integer("age", 0, 1, "years"),
    binary("arrears"),
    category("contract", ["none", "fixed"]),
    ordinal("school", ["some", "more"]),
]
ROW = [1, 0, 1, 0]
TABLE: dict[str, Any] = {
    "epsilon": {"age": 1, "*": np.inf},
    "inputs": Inputs(FEATURES, ["age <= 1"]),
}


class Document(NamedTuple):
    """The schema and the content of a file, and its reader, which raises an error of bad ones."""

    schema: str
    data: Any
    read: Callable[[Any], object]


def written_documents(folder: Path) -> Iterator[Document]:
    """Yield documents of all kinds; ``folder`` is for files."""
    network = dense_network(random_layers(np.random.default_rng(5), [4, 6, 3]), folder)
    for result in _results(network):
        data = json.loads(result.to_json())
        kind = data["kind"]
        yield Document(kind, data, _reader(type(result)))
        if getattr(result, "inputs", None) is not None:
            yield Document("inputs", data["inputs"], Inputs.from_data)
    yield _checks(result.levels[0], folder)
    for x, options in (
        (X, {"epsilon": 0.4, "solvers": ["highs", "phase"], "task": "explain"}),
        (X, {"epsilon": 0.4, "solvers": ["highs"], "checks": [[0], [0, 1]]}),
        (ROW, {"solvers": ["highs"], **TABLE}),
    ):
        compared = milp_verix.compare(network, x, **options)
        read = _through(folder / "compared.json", milp_verix.write_report)
        yield Document("comparison", json.loads(compared.to_json()), read)
    yield from _journal(network, folder)
    yield from _certificates(network, folder)
    written = folder / "solvers.json"
    run_here("solvers", "--json", written)
    yield Document("solvers", json.loads(written.read_text(encoding="utf-8")), lambda _: None)


def _results(network: OnnxNetwork) -> Iterator[Any]:
    """Yield results of each kind and shape, a sweep at last."""
    explain, minimum = milp_verix.explain, milp_verix.minimum
    yield explain(network, X, epsilon=0.2, features=[[0, 1], [2], [3]])
    yield explain(network, X, epsilon=0.3, exactness="bounds", against=[0])
    domain = ([-1, 0, 0, 0], np.inf)
    yield explain(network, X, epsilon=0.2, delta=0.1, output=1, norm="l1", domain=domain)
    yield explain(network, ROW, **TABLE)
    yield minimum(network, X, epsilon=0.4, costs=[1, 2, 1, 1.5], must=[0])
    yield minimum(network, X, epsilon=0.4, time_limit=1e-9)
    for epsilon in (0.01, 0.4):
        yield milp_verix.contrastive(network, X, epsilon=epsilon, costs=[1, 2, 1, 1.5])
    yield milp_verix.contrastive(network, X, epsilon=0.4, time_limit=1e-9)
    yield milp_verix.contrastive(network, X, epsilon=0.4, must_not=[1], minimise="distance")
    yield milp_verix.enumerate_explanations(network, X, epsilon=0.4)
    for features in ([], [0, 1, 2, 3]):
        yield milp_verix.audit(network, X, features, epsilon=0.4, minimum=True)
    yield milp_verix.audit(network, X, [0], epsilon=0.4, time_limit=1e-9)
    for feature, limit in (("age", None), ("school", None), ("age", 1e-9)):
        yield milp_verix.relevance(network, ROW, feature, time_limit=limit, **TABLE)
    yield milp_verix.inflate(network, X, epsilon=0.1, rows=[X, X])
    yield milp_verix.inflate(network, ROW, **TABLE)
    yield milp_verix.inflate(network, X, [0, 1], epsilon=0.1, time_limit=1e-9)
    for index, limit in (("shapley", None), ("holler-packel", 1e-9)):
        scores = [1.0, *range(len(ROW) - 1)]
        yield milp_verix.importance(
            network, ROW, index=index, time_limit=limit, beside=scores, **TABLE
        )
    for each in (False, True):
        yield milp_verix.robustness_radius(network, X, each=each)
    yield milp_verix.epsilon_sweep(network, X, epsilons=[0.1, 0.4])


def _journal(network: OnnxNetwork, folder: Path) -> Iterator[Document]:
    """Yield lines about each kind of task, done and failed."""

    def refuse(text: str) -> None:
        raise InputError(text)

    def lines(path: Path) -> object:
        return list(best_records(path, refuse))

    journal = folder / "study.jsonl"
    tasks = ["explain", "minimum", "contrastive"]
    rows = np.array([X, [np.nan] * 4], np.float32)
    milp_verix.explain_many(network, rows, journal=journal, epsilon=0.4, task=tasks)
    for line in journal.read_text(encoding="utf-8").splitlines():
        yield Document("journal", json.loads(line), _through(folder / "read.jsonl", lines))


def _certificates(network: OnnxNetwork, folder: Path) -> Iterator[Document]:
    """Yield certificates of classes, of a minimum with costs, of a regression and of a table."""
    assert network.path is not None
    model = network.path.read_bytes()
    cheapest = {"epsilon": 0.4, "costs": [1, 2, 1, 1.5], "must": [0]}
    for found in (
        milp_verix.minimum(network, X, **cheapest),
        milp_verix.explain(network, X, epsilon=0.2, delta=0.1, output=1),
        milp_verix.explain(network, ROW, **TABLE),
    ):
        certificate = json.loads(found.certify(network).to_json())
        yield Document("certificate", certificate, _checker(model))
    for seed in (1, 2):
        _, other, certificate = certified(seed, folder)
        yield Document("certificate", certificate, _checker(other))


def _checks(explanation: milp_verix.Explanation, folder: Path) -> Document:
    path, features = folder / "checks.json", len(explanation.groups)
    write_checks(path, checks_of(explanation), features)
    data = json.loads(path.read_text(encoding="utf-8"))
    return Document("checks", data, _through(path, lambda given: read_checks(given, features)))


def _reader(kind: Any) -> Callable[[Any], object]:
    return lambda data: kind.from_json(json.dumps(data))


def _through(path: Path, read: Callable[[Path], object]) -> Callable[[Any], object]:
    """Return a reader of data that ``read`` reads from the file ``path``."""

    def written(data: Any) -> object:
        path.write_text(json.dumps(data) + "\n", encoding="utf-8")
        return read(path)

    return written


def _checker(model: bytes) -> Callable[[Any], object]:
    def read(data: Any) -> object:
        return list(verify(model, parsed(json.dumps(data))))

    return read
