"""The results that users see: records with methods that store, draw and check them again.

A method loads the modules that do its work when it is called: Matplotlib, Rich and onnxruntime take
longer to load than a result to be read.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from milp_verix.atomic_write import write_atomically
from milp_verix.errors import InputError
from milp_verix.reporting import comparison_files
from milp_verix.reporting.words.audit import audit_headline, audit_outcome
from milp_verix.reporting.words.wording import (
    ball_text,
    contrast_headline,
    enumeration_headline,
    outcome_text,
)
from milp_verix.results.records import audit, comparison, contrast, enumeration, explanation, kinds
from milp_verix.results.records.json_format import StoredResult, dump, load

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

    from milp_verix.certification.certificate import Certificate
    from milp_verix.loaded_model import LoadedModel
    from milp_verix.problem.problem import PosedProblem
    from milp_verix.reporting.figures.sheet import Drawing
    from milp_verix.results.ranges import Ranges


class Storable:
    """JSON and pickles of a result."""

    __slots__ = ()

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the result as JSON, and write it to ``path`` if given.

        Raises ``InputError`` for a path that cannot be written.
        """
        text = dump(cast(StoredResult, self), indent=indent)
        if path is not None:
            write_atomically(Path(path), text)
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a result from JSON text or from the path of a JSON file.

        Raises ``InputError`` for JSON of another kind or schema, and where parts contradict.
        """
        return cast(Self, load(source, cast(type[StoredResult], cls)))

    def __reduce__(self) -> tuple[Any, ...]:
        # read-only mappings cannot be pickled or copied; the JSON holds all there is, bit for bit
        return type(self).from_json, (self.to_json(),)


class Drawn(Storable):
    """A result with a picture, which notebooks show with its facts."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from milp_verix.reporting.pages.notebook import result_html

        drawn = cast(Any, self)
        return result_html(drawn, drawn.plot())


class Explanation(explanation.ExplanationRecord, Drawn):
    """An abductive explanation of one prediction, to be stored, drawn and checked again.

    Claim: with the features in ``explanation`` fixed, every input in the ball and the domain has
    the prediction of the original. Each feature in ``explanation`` but not in ``unknown`` has a
    counterfactual, so that it could not have been left out. The fields are documented in
    :class:`milp_verix.results.records.explanation.ExplanationRecord`.
    """

    __module__ = "milp_verix"  # so pickles stay readable wherever this file goes
    __slots__ = ("_problem",)

    def replay(self, network: "LoadedModel") -> tuple[int, ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        A counterfactual fails that is outside the ball or the domain, touches a feature that is
        neither irrelevant nor its own, or does not change the prediction. Raises ``InputError``
        where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_features

        return failing_features(self, network)

    def sentence(self, feature: int | str | None = None) -> str:
        """Return the explanation in words, or the counterfactual of one ``feature`` of it.

        ``feature`` is an index or a name. Raises ``InputError`` for one without a counterfactual.
        """
        from milp_verix.reporting.words.sentences import (
            counterfactual_sentence,
            explanation_sentence,
        )

        if feature is None:
            return explanation_sentence(self)
        names = list(self.feature_names or ())
        index = names.index(feature) if feature in names else feature
        if index not in self.counterfactuals:
            raise InputError(
                f"feature {feature!r} has no counterfactual: it is not in the explanation"
            )
        return counterfactual_sentence(self, self.counterfactuals[int(index)])

    def summary(self) -> "Table":
        """Return the facts as a rich table."""
        from milp_verix.reporting.words.explanation import facts
        from milp_verix.reporting.words.fact_table import table_of

        return table_of(facts(self))

    def of(self, problem: "PosedProblem") -> Self:
        """Return the explanation, which remembers its ``problem`` until it is stored."""
        object.__setattr__(self, "_problem", problem)
        return self

    def inflate(self, network: "LoadedModel | None" = None, **options: Any) -> "Ranges":
        """Return the widest ranges of the kept features that provably keep the prediction.

        ``network`` is needed where the explanation was read from a file. ``options`` are those of
        :func:`milp_verix.inflate`, such as ``rows``; the question is that of the explanation.
        Raises ``InputError`` where ``network`` is missing, or is not the network explained.
        """
        import milp_verix
        from milp_verix.results.replay import asked_in, require_same

        if network is None:
            problem = getattr(self, "_problem", None)
            if problem is None:
                raise InputError(
                    "an explanation from a file does not hold its network: give inflate(network)"
                )
            network = problem.network
        require_same(self, network)
        asked = {**asked_in(self)}
        if self.inputs is None:
            asked |= {"feature_names": self.feature_names, "image_shape": self.image_shape}
        return milp_verix.inflate(network, self.input, self, **{**asked, **options})

    def certify(self, network: "LoadedModel", *, time_limit: float | None = None) -> "Certificate":
        """Return a proof that needs neither a solver nor trust: see :func:`milp_verix.certify`."""
        from milp_verix.certification.certify import certify

        return certify(network, self, time_limit=time_limit)

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the explanation; write it to ``path`` if given.

        Images: the original, the sensitivity map, the explanation over the image, and
        counterfactuals. Other inputs: a bar for each feature. ``image_shape``, such as (28, 28),
        says how to draw an input whose image shape was not said when it was explained.
        """
        from milp_verix.reporting.figures.explanation_plot import plot_explanation

        return plot_explanation(self, path, image_shape=image_shape)

    def __repr__(self) -> str:
        return (
            f"Explanation({self.model.file}: prediction {self.prediction}, {self.size} of "
            f"{len(self.groups)} features, {outcome_text(self)}, "
            f"{ball_text(self)}, "
            f"{self.statistics.seconds:.2f} s by {self.solver})"
        )


class ContrastiveExplanation(contrast.ContrastiveExplanationRecord, Drawn):
    """The fewest features whose change changes the prediction, with an input that shows it.

    ``proven`` says that no other set is smaller (or cheaper), or that no change in the ball does
    it. The fields are documented in
    :class:`milp_verix.results.records.contrast.ContrastiveExplanationRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> bool:
        """Run onnxruntime on the counterfactual again; return whether it is one.

        It is in the ball and the domain, changes no feature outside the contrast, and changes the
        prediction to the one recorded; so do ``alternatives``. ``InputError`` where there is none,
        or where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        if self.contrast is None or self.counterfactual is None:
            raise InputError("there is no counterfactual to replay: no contrast was found")
        found = {other.contrast: other.counterfactual for other in self.alternatives}
        return not failing_contrasts(self, {self.contrast: self.counterfactual, **found}, network)

    def sentence(self) -> str:
        """Return the change that is enough in words, and whether a smaller one is."""
        from milp_verix.reporting.words.sentences import contrast_sentence

        return contrast_sentence(self)

    def summary(self) -> "Table":
        """Return the facts as a rich table."""
        from milp_verix.reporting.words.contrast import contrast_facts
        from milp_verix.reporting.words.fact_table import table_of

        return table_of(contrast_facts(self))

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the contrast and its counterfactual; write it to ``path`` if given.

        ``image_shape`` is that of :meth:`milp_verix.Explanation.plot`.
        """
        from milp_verix.reporting.figures.contrast_plot import plot_contrast

        return plot_contrast(self, path, image_shape=image_shape)

    def __repr__(self) -> str:
        return f"ContrastiveExplanation({self.model.file}: {contrast_headline(self)})"


class Enumeration(enumeration.EnumerationRecord, Storable):
    """Minimal abductive and contrastive explanations of one prediction.

    ``complete`` says that no set is missing. The fields are documented in
    :class:`milp_verix.results.records.enumeration.EnumerationRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def replay(self, network: "LoadedModel") -> tuple[kinds.FeatureSet, ...]:
        """Run onnxruntime on every counterfactual again; return the contrasts whose fails.

        ``InputError`` where ``network`` is not the network explained.
        """
        from milp_verix.results.replay import failing_contrasts

        return failing_contrasts(self, self.contrastive, network)

    def sentence(self) -> str:
        """Return the minimal sets in words, and whether there may be others."""
        from milp_verix.reporting.words.contrast import enumeration_sentence

        return enumeration_sentence(self)

    def summary(self) -> "Table":
        """Return the facts as a rich table."""
        from milp_verix.reporting.words.contrast import enumeration_facts
        from milp_verix.reporting.words.fact_table import table_of

        return table_of(enumeration_facts(self))

    def __repr__(self) -> str:
        return f"Enumeration({self.model.file}: {enumeration_headline(self)})"


class Audit(audit.AuditRecord, Drawn):
    """The judgement on a set of features that some tool calls an explanation.

    ``sound``: True, with a proof that the set keeps the prediction; False, with a
    ``counterexample``; or None. ``removable`` features can be left out, all together; ``added``
    ones make a set sound that is not. The fields are documented in
    :class:`milp_verix.results.records.audit.AuditRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    def sentence(self) -> str:
        """Return whether the set keeps the prediction in words: the claim, or what refutes it."""
        from milp_verix.reporting.words.audit import audit_sentence

        return audit_sentence(self)

    def summary(self) -> "Table":
        """Return the facts as a rich table: sound or not, minimal or not, features, effort."""
        from milp_verix.reporting.words.audit import audit_facts
        from milp_verix.reporting.words.fact_table import table_of

        return table_of(audit_facts(self))

    def replay(self, network: "LoadedModel") -> tuple[int | None, ...]:
        """Run onnxruntime on every counterfactual again; return the features whose fails.

        None among them stands for the counterexample. A counterfactual fails that is outside the
        ball or the domain, changes a feature of the sound set beside its own, or does not change
        the prediction. Raises ``InputError`` where ``network`` is not the network audited.
        """
        from milp_verix.results.replay import failing_points

        others = [f for f in range(len(self.groups)) if f not in self.explanation]
        irrelevant = [f for f in range(len(self.groups)) if f not in self.sound_set]
        points = [(f, [*irrelevant, f], point) for f, point in self.counterfactuals.items()]
        if self.counterexample is None:
            return failing_points(self, points, network)
        return failing_points(self, [(None, others, self.counterexample), *points], network)

    def certify(self, network: "LoadedModel", *, time_limit: float | None = None) -> "Certificate":
        """Return a proof that needs neither a solver nor trust: see :func:`milp_verix.certify`."""
        from milp_verix.certification.certify import certify

        return certify(network, self, time_limit=time_limit)

    def plot(
        self, path: str | Path | None = None, *, image_shape: tuple[int, ...] | None = None
    ) -> "Drawing":
        """Draw the audit; write it to ``path`` if given.

        Images: the input, the set with the features that can be left out or are missing, and an
        input that changes the prediction, with its change. Other inputs: a bar for each feature.
        ``image_shape`` is that of :meth:`milp_verix.Explanation.plot`.
        """
        from milp_verix.reporting.figures.audit_plot import plot_audit

        return plot_audit(self, path, image_shape=image_shape)

    def __repr__(self) -> str:
        return f"Audit({self.model.file}: {audit_headline(self)}, {audit_outcome(self)})"


class Run(comparison.RunRecord):
    """The answers of one pair of solver and formulation, and the effort that they took.

    The fields are documented in :class:`milp_verix.results.records.comparison.RunRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    explanation: Explanation | None


class Comparison(comparison.ComparisonRecord):
    """The same question to several pairs of solver and formulation, and whether they agree.

    The fields are documented in :class:`milp_verix.results.records.comparison.ComparisonRecord`.
    """

    __module__ = "milp_verix"
    __slots__ = ()

    runs: tuple[Run, ...]

    def to_json(self, path: str | Path | None = None, *, indent: int | None = None) -> str:
        """Return the comparison as JSON, and write it to ``path`` if given."""
        return comparison_files.write_json(self, path, indent=indent)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each run as CSV, and write it to ``path`` if given."""
        return comparison_files.write_csv(self, path)

    def each_to_csv(self, path: str | Path | None = None) -> str:
        """Return a line for each check and run as CSV, and write it to ``path`` if given.

        The columns are the fields of
        :class:`~milp_verix.results.records.check_record.CheckRecord`; what a solver does not tell
        is empty. Raises ``InputError`` for a comparison of explanations, whose checks differ.
        """
        return comparison_files.write_each(self, path)

    def each(self) -> "pd.DataFrame":
        """Return the same as a pandas DataFrame: a row for each check and run.

        Raises as :meth:`each_to_csv` does, and ``InputError`` where pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError("a table needs pandas: pip install 'milp-verix[pandas]'") from error
        columns = comparison_files.EACH_COLUMNS
        return pd.DataFrame(comparison_files.each_line(self), columns=list(columns))

    def table(self) -> "Table":
        """Return a rich table with a row for each run."""
        from milp_verix.reporting.words.comparison import table

        return table(self)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw how long each run took, and on what; write it to ``path`` if given."""
        from milp_verix.reporting.figures.comparison_plot import plot_comparison

        return plot_comparison(self, path)

    def write_disagreements(self, folder: str | Path = ".") -> list[Path]:
        """Write each disagreement to ``disagreement-N.lp`` in ``folder``; return the paths."""
        paths = [Path(folder) / f"disagreement-{i + 1}.lp" for i in range(len(self.disagreements))]
        for disagreement, path in zip(self.disagreements, paths, strict=True):
            disagreement.write(path)
        return paths

    def _repr_html_(self) -> str:
        from milp_verix.reporting.pages.notebook import comparison_html

        return comparison_html(self)
