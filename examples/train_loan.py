"""Make the example loan: a network, the description of its table, and an applicant, all invented.

``loan.onnx`` takes a row of the table in its own units; ``loan.json`` describes the columns;
``applicant.json`` is the row of one person.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import milp_verix as mv

INPUTS = mv.Inputs(
    [
        mv.integer("age", 18, 75, "years"),
        mv.integer("years in job", 0, 57),
        mv.integer("income", 10, 90, "thousand a year"),
        mv.integer("debts", 0, 5),
        mv.binary("arrears"),
        mv.category("contract", ["permanent", "fixed-term", "none"], one_hot=True),
    ],
    class_names=["refused", "granted"],
)
APPLICANT = {
    "age": 34,
    "years in job": 2,
    "income": 26,
    "debts": 1,
    "arrears": "yes",
    "contract": "permanent",
}
PEOPLE = 4000


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on invented people and write the three files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, metavar="FOLDER")
    folder = parser.parse_args(arguments).out
    rng = np.random.default_rng(0)
    age = rng.integers(18, 76, PEOPLE)
    contract = rng.choice(3, PEOPLE, p=[0.6, 0.25, 0.15])
    years = np.where(contract == 2, 0, rng.integers(0, age - 17))
    income, debts = rng.integers(10, 91, PEOPLE), rng.integers(0, 6, PEOPLE)
    arrears = rng.integers(0, 2, PEOPLE)
    score = 0.1 * (income - 40) - 0.5 * debts - 2.5 * arrears + 0.02 * years
    score += np.array([0.0, -0.5, -1.5])[contract] + rng.logistic(0, 0.4, PEOPLE)
    table = np.column_stack([age, years, income, debts, arrears, np.eye(3)[contract]])
    classifier = MLPClassifier((6,), alpha=0.1, max_iter=600, random_state=0)
    pipeline = make_pipeline(StandardScaler(), classifier).fit(table, (score > -1.5).astype(int))
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(mv.load_network(pipeline).model, folder / "loan.onnx")
    for name, data in (("loan", INPUTS.to_data()), ("applicant", APPLICANT)):
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
