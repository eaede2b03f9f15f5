"""The answer to one check that users see: a verdict that tells its question."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from milp_verix.base.errors import printable
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.oracle.verdict import Verdict
from milp_verix.results import shown
from milp_verix.results.records.base import Result
from milp_verix.results.records.json_format import encoded, written_array

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Check(Verdict):
    """The outcome of one check, with its question.

    ``free`` are the features that may change, ``about`` has the network, the input, the prediction
    and the ball. The other fields are documented in :class:`milp_verix.Verdict`.
    """

    about: Result
    free: FeatureSet

    def __eq__(self, other: object) -> bool:
        """Return whether ``other`` is the same in every field, with its seconds and versions."""
        data = encoded(self, written_array)
        return isinstance(other, Check) and bool(encoded(other, written_array) == data)

    def __hash__(self) -> int:
        return hash((self.answer, self.free))

    def sentence(self) -> str:
        """Return the claim in words, or what refutes it."""
        return printable(shown.check_sentence(self.about, self, self.free))

    def summary(self) -> "Table":
        """Return the facts as a rich table."""
        return shown.check_summary(self.about, self, self.free)

    def __repr__(self) -> str:
        why = "" if self.reason is None else f" ({self.reason})"
        return printable(f"Check({self.about.model.file}: {self.sentence()}{why})")
