"""Names, arguments, options of commands and fields of files of version 0.2 are all still there.

``public_surface.json`` holds them as they stood at commit ``5316672c``; more may have come.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import milp_verix
from milp_verix.cli.app import command_named
from milp_verix.schemas import json_schema
from milp_verix.searches.minimum.search_limits import SearchLimits
from tests.support.repository import FIXTURES

SURFACE: dict[str, dict[str, Any]] = json.loads(
    (FIXTURES / "public_surface.json").read_text(encoding="utf-8")
)
UNDOCUMENTED = {
    "OnnxNetwork": {"named_inputs", "scores"},
    "Search": {"require_only"},
}
"""Members that no document named, and that are gone or take something else."""


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", SURFACE["names"])
def test_a_name_has_its_arguments_and_members(name: str) -> None:
    before, now = SURFACE["names"][name], getattr(milp_verix, name)
    if "parameters" in before:
        # taken for one more version, and ignored with a warning
        gone = {*SearchLimits.__dataclass_fields__} if now is SearchLimits else set[str]()
        assert not {*before["parameters"]} - {*parameters(now)} - gone
    for member, taken in before.get("members", {}).items():
        if member != "told" and member not in UNDOCUMENTED.get(name, ()):
            found = getattr(now, member)
            assert not {*(taken or ())} - {*(parameters(found) if taken else ())}, member


@pytest.mark.parametrize("name", SURFACE["commands"])
def test_a_command_has_its_options(name: str) -> None:
    now = {option for one in command_named(name).params for option in one.opts}
    assert not {*SURFACE["commands"][name]} - now


@pytest.mark.parametrize("kind", SURFACE["schemas"])
def test_a_file_has_its_fields(kind: str) -> None:
    assert not {*SURFACE["schemas"][kind]} - {*json_schema(kind).get("properties", {})}


@pytest.mark.parametrize(
    "path", sorted((FIXTURES / "results").glob("*.json")), ids=lambda p: p.stem
)
def test_a_result_of_an_earlier_version_is_read_and_stored_again(path: Path) -> None:
    before = json.loads(path.read_text(encoding="utf-8"))
    names = {"contrastive": "ContrastiveExplanation"}
    kind = getattr(milp_verix, names.get(before["kind"], before["kind"].title()))
    found = kind.from_json(path)
    assert not {*before} - {*json.loads(found.to_json())}
    assert str(found.prediction) in found.sentence()
