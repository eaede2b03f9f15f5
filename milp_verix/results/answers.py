"""Answers that users see beside results: one check with its question, and rules over a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from milp_verix.base.arguments import path_of
from milp_verix.base.comparable import Answering
from milp_verix.base.errors import InputError, printable
from milp_verix.base.number_text import counted, percent_of
from milp_verix.base.stored_kinds import FeatureSet
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.oracle.verdict import Verdict
from milp_verix.results import shown
from milp_verix.results.base import Result
from milp_verix.results.json_format import encoded, written_array
from milp_verix.results.ranges import Ranges

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Check(Answering, Verdict):
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
        return printable(shown.audit_words.check_sentence(self.about, self, self.free))

    def summary(self) -> "Table":
        """Return the facts as a rich table."""
        parts = shown.audit_words.check_facts(self.about, self, self.free)
        return shown.text_tables.table_of(parts)

    def __repr__(self) -> str:
        why = "" if self.reason is None else f" ({self.reason})"
        return printable(f"Check({self.about.model.file}: {self.sentence()}{why})")


@dataclass(frozen=True, slots=True)
class Rules(Answering):
    """Proven rules that cover a table, the one that covers the most rows first.

    Each of ``rules`` says that all inputs in its ranges have its prediction. ``covered`` are the
    rows that the rules up to each one cover together, out of ``rows``. ``tried`` rows were
    explained, in ``seconds``.
    """

    rules: tuple[Ranges, ...]
    covered: tuple[int, ...]
    rows: int
    tried: int
    seconds: float

    @property
    def coverage(self) -> float:
        """Share of the rows that some rule covers: their predictions are proven."""
        return self.covered[-1] / self.rows if self.covered else 0.0

    def sentence(self) -> str:
        """Return ``"These 12 rules prove 71 % of the decisions on 45222 rows."``."""
        return shown.ranges_words.rules_sentence(self.rules, self.covered, self.rows)

    def summary(self) -> "Table":
        """Return a rich table: a row for each rule, with the share of rows that it adds."""
        parts = shown.ranges_words.rules_facts(self.rules, self.covered, self.rows)
        return shown.text_tables.table_of(parts)

    def write(
        self,
        folder: str | Path,
        network: LoadedModel | None = None,
        *,
        time_limit: float | None = 60.0,
    ) -> tuple[Path, ...]:
        """Write each rule to a JSON file in ``folder``, and its certificate if there is one.

        Certificates need the ``network``; each is searched for at most ``time_limit`` seconds.
        Returns the paths written. Raises ``InputError`` where ``folder`` is none.
        """
        place, written = path_of(folder, "folder"), list[Path]()
        if not place.is_dir():
            raise InputError(f"{folder} is no folder: make it first")
        for number, rule in enumerate(self.rules, 1):
            path = place / f"rule-{number}.json"
            rule.to_json(path)
            written.append(path)
            if network is None:
                continue
            certificate = rule.certify(network, time_limit=time_limit)
            if certificate.proven:
                path = place / f"rule-{number}-certificate.json"
                certificate.to_json(path)
                written.append(path)
        return tuple(written)

    def __repr__(self) -> str:
        share = percent_of(self.covered[-1] if self.covered else 0, self.rows)
        return (
            f"Rules({counted(len(self.rules), 'rule')}, {share} % of {counted(self.rows, 'row')})"
        )
