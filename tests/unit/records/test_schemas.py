"""The JSON Schemas against what is written, what is read, and documents that are wrong."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from milp_verix import InputError, Inputs, read_study, write_report
from milp_verix.inputs.features import category, continuous, fixed, integer
from milp_verix.inputs.stored import inputs_in
from milp_verix.records.json_format import KINDS, READABLE
from milp_verix.records.schema_check import fault_in
from tests.support.certificates import changed
from tests.support.documents import FEATURES, Document, written_documents
from tests.support.mutations import mutated
from tests.support.repository import FIXTURES
from tests.support.schemas import SCHEMAS, faults, fits

pytestmark = pytest.mark.slow

NAMED_BY_DATA = {
    *("unknown_reasons", "versions", "settings", "words"),
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
    assert all(f"{kind or 'explanation'}.json" in SCHEMAS for kind in KINDS)
    assert SCHEMAS["common.json"]["$defs"]["schema"]["enum"] == list(READABLE)


def test_what_is_written_is_as_the_schema_says_and_has_no_other_field(
    documents: list[Document],
) -> None:
    assert {document.schema for document in documents} == SCHEMAS.keys() - {"common.json"}
    for schema, data, read in documents:
        assert faults(schema, data, closed=True) == []
        read(data)


@pytest.mark.parametrize(
    "path", sorted((FIXTURES / "results").glob("*.json")), ids=lambda p: p.stem
)
def test_files_of_earlier_versions_are_as_the_schema_says(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["schema"] == 1
    schema = f"{data.get('kind', 'explanation')}.json"
    assert faults(schema, data) == []
    if schema == "explanation.json":
        assert faults(schema, {**data, "schema": 2}) != []


def test_a_value_of_another_type_is_refused(documents: list[Document]) -> None:
    for schema, data, _ in documents:
        for path in objects(data):
            for key, value in as_object(data, path).items():
                bad = changed(data, (*path, key), wrong(value))
                assert not fits(schema, bad), (schema, path, key)


def test_the_reader_takes_what_the_schema_takes(documents: list[Document]) -> None:
    refused = taken = 0
    for schema, data, read in documents:
        # levels of a sweep are explanations of one question: none changes alone
        for path in (path for path in objects(data) if "levels" not in path):
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


def test_our_reader_of_schemas_agrees_with_jsonschema(documents: list[Document]) -> None:
    rng = np.random.default_rng(0)
    seen = Counter[bool]()
    for schema, data, _ in documents:
        if schema in ("certificate.json", "solvers.json", "checks.json"):
            continue  # no file of these is read by it
        assert fault_in(data, schema) is None
        for _ in range(12):
            # lists of points are left to the reader of arrays
            bad = mutated(data, rng, without=("input", "values", "unchanged", "scenarios"))
            ours = fault_in(bad, schema)
            fine = fits(schema, bad)
            # 1.0 and 2**64 are integers of JSON Schema, and 10**400 is a number
            ours_alone = "expected a whole number", "expected a finite number"
            if fine != (ours is None) and not (fine and str(ours).endswith(ours_alone)):
                raise AssertionError((schema, ours, faults(schema, bad)))
            seen[fine] += 1
    assert min(seen.values()) > 20


def test_a_damaged_result_is_refused_or_read_and_shown(documents: list[Document]) -> None:
    rng = np.random.default_rng(1)
    refused = taken = 0
    for schema, data, read in documents:
        result = schema.removesuffix(".json") in {"sweep", *(k or "explanation" for k in KINDS)}
        for _ in range(15 if result else 0):
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
        for _ in range(20 if schema == "journal.json" else 0):
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
        ("explanation.json", {"norm": "l3"}),
        ("explanation.json", {"epsilon": -1}),
        ("explanation.json", {"schema": 3}),
        ("explanation.json", {"explanation": [0, 0]}),
        ("explanation.json", {"unknown_reasons": {"first": "time limit"}}),
        ("explanation.json", {"kind": "audit"}),
        ("explanation.json", {"domain": [0]}),
        ("audit.json", {"answer": "perhaps"}),
        ("journal.json", {"status": "lost"}),
        ("journal.json", {"key": "abc"}),
        ("certificate.json", {"trees": [{"neuron": 0, "below": {}}]}),
        ("inputs.json", {"features": [{"kind": "colour", "name": "red"}]}),
        ("inputs.json", {"features": [{"kind": "fixed"}]}),
        ("inputs.json", {"rule": []}),
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
    assert faults("inputs.json", described, closed=True) == []
    for number, feature in enumerate(described["features"]):
        for key in feature:
            some = copy.deepcopy(described)
            del some["features"][number][key]
            if faults("inputs.json", some):
                with pytest.raises(InputError):
                    inputs_in(some)
            else:
                inputs_in(some)
