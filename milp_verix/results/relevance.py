"""The part of protected features that users see: a record with methods that store and replay it."""

from typing import TYPE_CHECKING

from milp_verix.errors import InputError
from milp_verix.reporting.words.relevance import relevance_headline
from milp_verix.results.public import Storable
from milp_verix.results.records import relevance

if TYPE_CHECKING:
    from rich.table import Table

    from milp_verix.loaded_model import LoadedModel


class Relevance(relevance.RelevanceRecord, Storable):
    """The part that protected features play in the explanations of one decision, by proof.

    The fields are documented in :class:`milp_verix.results.records.relevance.RelevanceRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def sentence(self) -> str:
        """Return the answer in words, with the change that shows it."""
        from milp_verix.reporting.words.sentences import relevance_sentence

        return relevance_sentence(self)

    def summary(self) -> "Table":
        """Return a rich table of the facts."""
        from milp_verix.reporting.words.fact_table import table_of
        from milp_verix.reporting.words.relevance import relevance_facts

        return table_of(relevance_facts(self))

    def replay(self, network: "LoadedModel") -> bool:
        """Run onnxruntime on the pair of inputs again; return whether it shows the difference.

        The counterfactual is in the ball and changes the prediction; the other input, if there is
        one, is in the ball and keeps it. ``InputError`` where there is no evidence, or where
        ``network`` is not the network asked about.
        """
        from milp_verix.results.replay import relevance_stands

        if self.counterfactual is None:
            raise InputError("there is no counterfactual to replay: no relevance was shown")
        return relevance_stands(self, network)

    def __repr__(self) -> str:
        return f"Relevance({self.model.file}: {relevance_headline(self)})"
