"""The JSON Schemas against what is written, what is read, and documents that are wrong."""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from milp_verix import InputError, Inputs, read_study, write_report
from milp_verix.inputs.feature import category, continuous, fixed, integer
from milp_verix.results.json_format import KINDS
from tests.support.certificates import changed
from tests.support.documents import FEATURES, Document, written_documents
from tests.support.mutations import mutated
from tests.support.schemas import SCHEMAS, faults, fits

pytestmark = pytest.mark.slow

NAMED_BY_DATA = {
    *("unknown_reasons", "counterfactuals", "versions", "settings", "words"),
    *("slopes", "multipliers", "weights", "points", "factors"),
}
"""Objects whose keys are features, packages or arguments, and no fields."""

CONTENT = {
    "inputs",
    "radii",
    "whole",
    "must",
    "costs",
    "against",
    "blocks",
    "rules",
    "strict",
    "starts",
}
"""Fields without which a file is about another question, and its other fields may be wrong."""


def objects(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of objects in ``data`` that have fields; of a list, in its first entry."""
    if isinstance(data, dict) and not NAMED_BY_DATA & {*path}:
        yield path
        for key, value in data.items():
            yield from objects(value, (*path, key))
    elif isinstance(data, list) and data:
        yield from objects(data[0], (*path, 0))


def wrong(value: Any) -> Any:
    """Return a value of another type."""
    if value is None:
        return {"no": 1}
    return "no" if isinstance(value, bool) else True


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    return list(written_documents(tmp_path_factory.mktemp("documents")))


def test_schemas_are_schemas() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
        for name in re.findall(r"#/\$defs/(\w+)", json.dumps(schema)):
            assert name in schema.get("$defs", {})


def test_what_is_written_is_as_the_schema_says_and_has_no_other_field(
    documents: list[Document],
) -> None:
    assert {document.schema for document in documents} == SCHEMAS.keys()
    for schema, data, read in documents:
        assert faults(schema, data, closed=True) == []
        read(data)


OPEN = {"machine", "options", "parameters"}
"""Objects of a comparison whose values are what a machine or a solver has."""


def test_a_value_of_another_type_is_refused(documents: list[Document]) -> None:
    for schema, data, _ in documents:
        for path in (path for path in objects(data) if not OPEN & {*path}):
            for key, value in as_object(data, path).items():
                bad = changed(data, (*path, key), wrong(value))
                assert not fits(schema, bad), (schema, path, key)


def test_the_reader_takes_what_the_schema_takes(documents: list[Document]) -> None:
    refused = taken = 0
    for schema, data, read in documents:
        # levels are explanations of one question, inputs are told in words: none changes alone
        for path in (path for path in objects(data) if not {"levels", "inputs"} & {*path}):
            for key, variant in variants(data, path):
                if not fits(schema, variant):
                    refused += 1
                    continue
                taken += 1
                try:
                    read(variant)
                except (InputError, ValueError, KeyError, TypeError) as error:
                    raise AssertionError((schema, path, key)) from error
    assert min(refused, taken) > 100


def variants(data: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Yield copies of ``data`` whose object at ``path`` lacks a field or has another one."""
    fields = as_object(data, path)
    for key in fields.keys() - CONTENT:
        rest = {name: value for name, value in fields.items() if name != key}
        yield key, changed(data, path, rest) if path else rest
    more = {**fields, "added": 1}
    yield "added", changed(data, path, more) if path else more


def as_object(data: Any, path: tuple[Any, ...]) -> dict[str, Any]:
    for key in path:
        data = data[key]
    assert isinstance(data, dict)
    return data


def test_what_the_reader_takes_is_as_the_schema_says(documents: list[Document]) -> None:
    rng = np.random.default_rng(0)
    seen = Counter[bool]()
    for schema, data, read in documents:
        if schema in ("certificate", "solvers", "checks", "inputs"):
            continue  # these are not read by their types
        for _ in range(12):
            bad = mutated(data, rng)
            try:
                read(bad)
                seen[True] += 1
            except InputError:
                seen[False] += 1
                continue
            assert faults(schema, bad) == []
    assert min(seen.values()) > 20


def test_a_damaged_result_is_refused_or_read_and_shown(documents: list[Document]) -> None:
    rng = np.random.default_rng(1)
    refused = taken = 0
    for schema, data, read in documents:
        for _ in range(15 if schema in KINDS else 0):
            try:
                found: Any = read(mutated(data, rng))
            except InputError:
                refused += 1
                continue
            taken += 1
            assert type(found).from_json(found.to_json()).to_json() == found.to_json()
            assert repr(found)
            assert write_report(found)
    assert refused > 200
    assert taken > 10


def test_a_damaged_journal_is_refused_or_read_and_shown(
    documents: list[Document], tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    told: list[str] = []
    taken = 0
    path = tmp_path / "study.jsonl"
    for schema, data, _ in documents:
        for _ in range(20 if schema == "journal" else 0):
            lines = [json.dumps(line) for line in (mutated(data, rng), {**data, "index": 7})]
            path.write_text("\n".join(lines) + "\n")
            for read_by in (read_study, write_report):
                try:
                    read_by(path, warn=lambda _: None)
                    taken += 1
                except InputError as error:
                    told.append(str(error))
    assert all(text.startswith(f"{path}: line 1: ") for text in told)
    assert min(taken, len(told)) > 20


@pytest.mark.parametrize(
    ("schema", "entry"),
    [
        ("explanation", {"norm": "l3"}),
        ("explanation", {"epsilon": -1}),
        ("explanation", {"schema": 2}),
        ("explanation", {"explanation": [0, 0]}),
        ("explanation", {"unknown_reasons": {"first": "time limit"}}),
        ("explanation", {"kind": "audit"}),
        ("explanation", {"domain": [0]}),
        ("audit", {"answer": "perhaps"}),
        ("journal", {"status": "lost"}),
        ("journal", {"key": "abc"}),
        ("certificate", {"trees": [{"neuron": 0, "below": {}}]}),
        ("inputs", {"features": [{"kind": "colour", "name": "red"}]}),
        ("inputs", {"features": [{"kind": "fixed"}]}),
        ("inputs", {"rule": []}),
    ],
)
def test_a_wrong_document_is_refused(
    documents: list[Document], schema: str, entry: dict[str, Any]
) -> None:
    data = next(document.data for document in documents if document.schema == schema)
    assert faults(schema, data) == []
    assert faults(schema, {**data, **entry}) != []


def test_each_kind_of_feature_is_described() -> None:
    described = Inputs(
        [
            *(*FEATURES, continuous("weight", unit="kg", deviation=0.5), fixed("id", "#")),
            *(integer("many"), category("place", ["here", "there"], one_hot=True)),
        ],
        class_names=["no", "yes"],
    ).to_data()
    assert faults("inputs", described, closed=True) == []
    for number, feature in enumerate(described["features"]):
        for key in feature:
            some = copy.deepcopy(described)
            del some["features"][number][key]
            if faults("inputs", some):
                with pytest.raises(InputError):
                    Inputs.from_data(some)
            else:
                Inputs.from_data(some)
