"""A text whose words are features, for readers of results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from milp_verix.base.errors import InputError

Spans = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and the places of each feature's word in it: pairs of a start and an end.

    A word that may be added, but does not stand in the text, has none.
    """

    text: str
    spans: Spans

    def parts(self, features: Iterable[int]) -> list[tuple[str, bool]]:
        """Return the text in parts, each with whether it is the word of one of ``features``."""
        parts: list[tuple[str, bool]] = []
        end = 0
        for start, stop in sorted(span for feature in features for span in self.spans[feature]):
            parts += [(self.text[end:start], False), (self.text[start:stop], True)]
            end = stop
        return [part for part in (*parts, (self.text[end:], False)) if part[0]]

    def to_data(self) -> dict[str, Any]:
        """Return the passage as a description of inputs holds it."""
        return {"text": self.text, "spans": [[*map(list, places)] for places in self.spans]}


def passage_in(data: object) -> Passage | None:
    """Return the passage in a description of inputs, None if it has none.

    Raises ``InputError`` where it is none, or its places are not in it.
    """
    if data is None:
        return None
    if isinstance(data, Mapping) and {*data} == {"text", "spans"} and isinstance(data["text"], str):
        text = data["text"]
        try:
            found = tuple(tuple((a, b) for a, b in places) for places in data["spans"])
        except (TypeError, ValueError):
            found = (((-1, -1),),)
        spans = [span for places in found for span in places]
        inside = all(type(end) is int and 0 <= end <= len(text) for span in spans for end in span)
        if (
            inside
            and all(start < stop for start, stop in spans)
            and all(one[1] <= other[0] for one, other in pairwise(sorted(spans)))
        ):
            return Passage(text, found)
    raise InputError(f"a passage has a text, and spans of it for each feature; got {data!r:.60}")
