"""Files of each kind about the loan of the examples, as the version writes them that runs this.

Those in ``tests/fixtures/results/0.2`` were written at commit ``5316672c``, in a checkout of it, by
``PYTHONPATH=.:encodings:checker python …/earlier_files.py …/fixtures/results/0.2``.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import milp_verix

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODEL = EXAMPLES / "loan.onnx"
APPLICANT = [34, 2, 26, 1, 1, 1, 0, 0]
SOLVERS = ["phase", "highs"]
PEOPLE = np.array([APPLICANT, [50, 20, 60, 0, 0, 1, 0, 0]], float)


def question() -> dict[str, Any]:
    """Return what all questions have in common."""
    return {"epsilon": "inf", "inputs": milp_verix.Inputs.from_file(EXAMPLES / "loan.json")}


def studied(journal: Path) -> None:
    """Explain the people, or go on with that."""
    milp_verix.explain_many(
        MODEL, PEOPLE, journal=journal, task=["explain", "minimum", "contrastive"], **question()
    )


def compared(journal: Path) -> None:
    """Compare solvers on the people, or go on with that."""
    milp_verix.explain_many(
        MODEL, PEOPLE, journal=journal, task="compare", solvers=SOLVERS, **question()
    )


def write(folder: Path) -> None:
    """Write the files."""
    network, about = milp_verix.load_network(MODEL), question()
    x = PEOPLE[0]
    scale = {"scale": "100%", "inputs": about["inputs"]}
    levels = {"epsilons": ["30%", "inf"], "inputs": about["inputs"]}
    explanation = milp_verix.explain(network, x, **about)
    results: dict[str, Any] = {
        "explanation": explanation,
        "minimum": milp_verix.minimum(network, x, **about),
        "contrastive": milp_verix.contrastive(network, x, **about),
        "enumeration": milp_verix.enumerate_explanations(network, x, **about),
        "audit": milp_verix.audit(network, x, ["income", "arrears"], minimum=True, **about),
        "importance": milp_verix.importance(network, x, **about),
        "relevance": milp_verix.relevance(network, x, "arrears", **about),
        "ranges": milp_verix.inflate(network, x, explanation.explanation, **about),
        "radius": milp_verix.robustness_radius(network, x, each=True, **scale),
        "sweep": milp_verix.epsilon_sweep(network, x, **levels),
        "comparison": milp_verix.compare(network, x, solvers=SOLVERS, **about),
    }
    for name, result in results.items():
        result.to_json(folder / f"{name}.json")
    for name in ("explanation", "minimum", "importance"):
        results[name].certify(network).to_json(folder / f"{name}-certificate.json")
    milp_verix.find_rules(network, PEOPLE, count=1, **about).write(folder, network)
    studied(folder / "study.jsonl")
    compared(folder / "solvers.jsonl")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
