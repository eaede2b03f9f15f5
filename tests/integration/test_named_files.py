"""Files of models, descriptions and rows in different orders, in Python and on the command line."""

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milp_verix import (
    Explanation,
    InputError,
    Inputs,
    explain,
    explain_many,
    find_rules,
    inflate,
    load_network,
)
from tests.support.command_line import run_here as run
from tests.support.named_tables import NamedCase, named_case

pytestmark = pytest.mark.filterwarnings("ignore")
FILES = ("model.txt", "model.json", "model.ubj", "model.pkl")


def stored(case: NamedCase, name: str, folder: Path) -> Path:
    """Return the file of a model in the form of its library."""
    path = folder / name
    if name.endswith(".txt"):
        case.model.booster_.save_model(path)
    elif name.endswith(".pkl"):
        path.write_bytes(pickle.dumps(case.model))
    else:
        case.model.save_model(path)
    return path


def made(name: str, form: str = "words") -> NamedCase:
    kinds = {"txt": "lightgbm", "pkl": "forest"}
    return named_case(kinds.get(name.split(".")[1], "xgboost"), form, 5)


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_by_the_names_in_them(name: str, tmp_path: Path) -> None:
    case = made(name)
    path, described = stored(case, name, tmp_path), tmp_path / "inputs.json"
    described.write_text(json.dumps(case.inputs.to_data()))
    rows = {"words.csv": case.values, "dummies.csv": case.table}

    def explained(file: str) -> Explanation:
        out = tmp_path / f"{file}.json"
        asked = ("--inputs", described, "--epsilon", "inf", "--json", out)
        done = run("explain", path, tmp_path / file, *asked)
        assert done.returncode == 0, done.stderr
        return Explanation.from_json(out)

    found = []
    for file, table in rows.items():
        table.loc[[case.row.name]].to_csv(tmp_path / file, index=False)
        found.append(explained(file))
    one = found[0]
    assert one.inputs is not None
    assert one.inputs.names == case.inputs.names
    assert one.explanation == found[1].explanation
    assert one.input.tolist() == found[1].input.tolist()
    assert one.input.reshape(-1).tolist() == case.table.loc[case.row.name].astype(float).tolist()
    kept = [case.inputs.names[feature] for feature in one.explanation]
    assert (case.predicted(case.with_row(kept)) == case.kept).all()
    np.save(tmp_path / "x.npy", one.input)
    done = run("explain", path, tmp_path / "x.npy", "--inputs", described, "--epsilon", "inf")
    assert done.returncode == 2
    assert "an array has no names" in done.stderr.replace("\n", " ")
    described.write_text(json.dumps(one.inputs.to_data()))
    assert explained("x.npy").explanation == one.explanation


@pytest.mark.parametrize("form", ["numbers", "dummies"])
def test_studies_rules_and_ranges_take_tables_by_name(form: str, tmp_path: Path) -> None:
    case = named_case("forest", form, 1)
    network = load_network(case.model)
    case.values.to_csv(tmp_path / "rows.csv", index=False)
    asked: dict[str, Any] = {"epsilon": math.inf, "inputs": case.inputs}
    tables: list[Any] = [case.values, case.table, str(tmp_path / "rows.csv")]
    records = []
    for number, table in enumerate(tables):
        journal = tmp_path / f"study{number}.jsonl"
        tally = explain_many(network, table, journal=journal, indices=[0, 1], **asked)
        assert tally.done == 2
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        records.append([(line["prediction"], line["size"], line["key"]) for line in lines])
    assert records[0] == records[1] == records[2]
    array = case.table.to_numpy(np.float64)
    with pytest.raises(InputError, match="an array has no names"):
        explain_many(network, array, journal=tmp_path / "no.jsonl", **asked)
    with pytest.raises(InputError, match="an array has no names"):
        inflate(network, case.row, rows=array, **asked)
    with pytest.raises(InputError, match="an array has no names"):
        explain(network, array[0], **asked)
    found = find_rules(network, case.table, count=2, tries=4, **asked)
    again = find_rules(network, case.values, count=2, tries=4, **asked)
    assert found.rules
    assert [one.sentence() for one in found.rules] == [one.sentence() for one in again.rules]


def test_a_model_without_names_takes_the_order_of_the_description() -> None:
    case = named_case("lightgbm", "numbers", 0)
    table = case.values.to_numpy(np.float64)
    model = type(case.model)(n_estimators=4, verbose=-1).fit(table, case.predicted(case.values))
    found = explain(model, case.row, epsilon=math.inf, inputs=case.plain)
    assert any("stores no names of columns" in note for note in found.notes)
    assert found.input.reshape(-1).tolist() == case.row.astype(float).tolist()
    numbered = [f"Column_{place}" for place in range(table.shape[1])]
    other = pd.DataFrame(table, columns=numbered)[numbered[::-1]]
    named = explain(model, other.iloc[0], epsilon=math.inf, inputs=Inputs.from_frame(other))
    assert not named.notes
    assert named.input.reshape(-1).tolist() == table[0].tolist()


def test_rows_are_read_by_names_whose_spaces_became_underscores() -> None:
    case = named_case("lightgbm", "numbers", 3)
    network = load_network(case.model)
    assert "net income" in case.values
    assert "net_income" in (network.columns or ())
    numbers = case.row.astype(float).to_numpy()
    assert network.evaluate(case.row[::-1]).tolist() == network.evaluate(numbers).tolist()
    both = {**case.row.to_dict(), "net_income": 3}
    with pytest.raises(InputError, match="'net income' and 'net_income' differ by spaces"):
        network.evaluate(both)  # type: ignore[arg-type]


def test_names_of_features_are_those_of_the_columns_they_stand_for() -> None:
    case = named_case("tree", "numbers", 4)
    x, columns = case.row.astype(float).to_numpy(), [*case.values.columns]
    asked: dict[str, Any] = {"epsilon": 1, "domain": (-10, 100)}
    with pytest.raises(InputError, match=r"is at place 0, and the model has it at place 3"):
        explain(case.model, x, feature_names=columns[::-1], **asked)
    own = explain(case.model, x, feature_names=columns, **asked)
    others = explain(case.model, x, feature_names=["w", "x", "y", "z"], **asked)
    assert own.explanation == others.explanation


def test_words_have_the_codes_of_the_pipeline() -> None:
    case = named_case("tree", "pipeline", 0)
    inputs = Inputs.from_frame(case.values, one_hot=["town"], categories={"sex": ["m", "f"]})
    with pytest.raises(InputError, match=r"the word 'm' has the code 0.*knows the words f, m"):
        explain(case.model, case.row, epsilon=math.inf, inputs=inputs)
