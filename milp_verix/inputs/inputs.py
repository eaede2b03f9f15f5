"""The description of an input: its features in order, and the rules that its values satisfy."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.arguments import ARRAY, INTEGERS, SEVERAL, TEXTS, Kind, checked, path_of
from milp_verix.base.errors import InputError, listed, own_names, refusing
from milp_verix.inputs.cells import code_in, refuse_value
from milp_verix.inputs.feature import MISSING, Feature, class_names_of
from milp_verix.inputs.one_row import Places, columns_of, named_row, places_in, plain, row_of
from verix_encodings import Interval
from verix_encodings.arrays import BoolArray, FloatArray, IntArray
from verix_encodings.bounds.mixed_domain import Clause, HalfSpace, MixedDomain

if TYPE_CHECKING:
    from milp_verix.inputs.rules import Quantity, Rule
    from milp_verix.inputs.stored import Passage


_PASSAGE = Kind("a milp_verix.inputs.stored.Passage", lambda one: hasattr(one, "spans")).or_none()


class Inputs:
    """The features of a network's input, in the order of its coordinates, and rules between them.

    >>> inputs = Inputs([integer("age", 17, 90), category("sex", ["female", "male"]), …])
    >>> inputs = inputs.where(inputs["age"] >= 18 + inputs["years"])

    ``rules`` may be texts, too, such as ``"age >= 18 + years"``. ``class_names`` are the words for
    what a classifier decides, in the order of its classes; ``passage`` is the text whose words the
    features are, if they are words. ``places`` are the coordinates of the features in the model's
    input, one feature after the other, where these are not 0, 1, 2, …; :meth:`placed` finds them,
    and leaves features out that the model has ``unread``. A description ``of_domain`` is of an
    array's coordinates, which its user only gave a domain.
    Raises ``InputError`` for two features of one name, for a rule that is not understood, and for
    rules that no input satisfies.
    """

    features: tuple[Feature, ...]
    rules: "tuple[Rule, ...]"
    class_names: tuple[str, ...]
    passage: "Passage | None"
    places: Places
    unread: tuple[str, ...] = ()
    of_domain: bool = False

    @checked(rules=SEVERAL, places=INTEGERS.or_none(), passage=_PASSAGE)
    def __init__(
        self,
        features: Sequence[Feature],
        rules: "Iterable[Rule | str]" = (),
        *,
        class_names: Sequence[str] = (),
        passage: "Passage | None" = None,
        places: Sequence[int] | None = None,
    ) -> None:
        listed = isinstance(features, Iterable) and getattr(features, "ndim", 1) > 0
        given = features if isinstance(features, tuple) else tuple(features) if listed else ()
        if not given or not all(isinstance(feature, Feature) for feature in given):
            raise InputError(
                "inputs are a list of features, made by continuous, integer, binary, category, "
                "ordinal and fixed; Inputs.from_frame(frame) makes them of a table"
            )
        names = Counter(feature.name for feature in given)
        if twice := next((name for name in names if names[name] > 1), None):
            raise InputError(f"two features are named {twice!r}")
        if isinstance(rules, str):
            raise InputError(f"rules are a list of rules and texts, got the text {rules!r}")
        words = class_names_of(class_names)
        vars(self).update(features=given, class_names=words, passage=passage, rules=())
        if passage is not None and len(passage.spans) != len(given):
            raise InputError(f"the passage has spans of {len(passage.spans)} features")
        if places is not None and sorted(places) != [*range(self.size)]:
            raise InputError(f"places are the numbers 0 to {self.size - 1}, each once")
        vars(self)["places"] = plain(places)
        vars(self)["rules"] = tuple(self._rule(rule) for rule in rules)
        self._refuse_contradictions()

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"inputs do not change: {name} is made once")

    def __repr__(self) -> str:
        parts = [f"{name}={one!r}" for name, one in self._arguments.items() if one is not None]
        return f"Inputs({', '.join(parts)})"

    def __str__(self) -> str:
        """A line for each feature and rule."""
        from milp_verix.inputs.stored import remarks_on, text_of

        return text_of(self.features, remarks_on(self.rules, self.class_names))

    def _repr_html_(self) -> str:
        from milp_verix.inputs.stored import html_of, remarks_on

        return html_of(self.features, remarks_on(self.rules, self.class_names))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Inputs):
            return NotImplemented
        return self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash((*self._arguments.values(),))

    @property
    def _arguments(self) -> dict[str, Any]:
        """The arguments that make such inputs."""
        rules = tuple(rule.text for rule in self.rules)
        fields = {name: getattr(self, name) for name in ("class_names", "passage", "places")}
        return {"features": self.features, "rules": rules, **fields}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def groups(self) -> tuple[IntArray, ...]:
        """The coordinates of each feature, in the order of its values."""
        every = np.arange(self.size) if self.places is None else np.array(self.places, np.intp)
        ends = accumulate((feature.width for feature in self.features), initial=0)
        return tuple(
            every[start : start + f.width] for start, f in zip(ends, self.features, strict=False)
        )

    @property
    def listed(self) -> list[list[int]]:
        """The coordinates of each feature, as lists."""
        return [group.tolist() for group in self.groups]

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return sum(feature.width for feature in self.features)

    @property
    def lower(self) -> FloatArray:
        """The lower end of each coordinate, shape (size,); -inf where there is none."""
        return self.of_coordinates([feature.lower for feature in self.features])

    @property
    def upper(self) -> FloatArray:
        """The upper end of each coordinate, shape (size,); inf where there is none."""
        return self.of_coordinates([feature.top for feature in self.features])

    @property
    def missing(self) -> dict[int, float]:
        """For coordinates that may be missing, the largest number that is no missing value."""
        pairs = zip(self.features, self.groups, strict=True)
        return {int(g[0]): f.last for f, g in pairs if f.missing and not f.one_hot}

    @checked(x=ARRAY)
    def coded(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return ``x``, shape (size,), with numbers for NaN where a value may be missing.

        So it does for the next ones beyond the last numbers, where these are not apart.
        """
        if x.dtype.kind != "f" or x.size != self.size or not (missing := self.missing):
            return x
        may = np.isin(np.arange(self.size), list(missing))
        near = self.of_coordinates([replace(one, apart=False).top for one in self.features])
        return np.where(may & (np.isnan(x) | (x == near)), self.upper, x)

    @cached_property
    def missing_apart(self) -> "Inputs":
        """These inputs for a network: missing values of numbers are apart from the largest ones."""
        numbers = ("integer", "continuous")
        features = [replace(f, apart=f.missing and f.kind in numbers) for f in self.features]
        if features == [*self.features]:
            return self
        return self.remade(features=features, unread=self.unread)

    @property
    def integral(self) -> BoolArray:
        """True for each coordinate that is a whole number, shape (size,)."""
        return self.of_coordinates([float(f.whole) for f in self.features]).astype(bool)

    def of_coordinates(self, values: Sequence[float]) -> FloatArray:
        """Return the value of each coordinate's feature, shape (size,)."""
        found = np.repeat(np.array(values, dtype=np.float64), [f.width for f in self.features])
        if self.places is not None:
            found[[*self.places]] = found.copy()
        return found

    @cached_property
    def mixed(self) -> MixedDomain | None:
        """Whole numbers, values of categories and rules; None if there are none of these."""
        rules, blocks = list[Clause](), []
        for feature, group in zip(self.features, self.groups, strict=True):
            if feature.one_hot:
                blocks.append(np.sort(group))
            elif feature.unordered or feature.apart:
                rules += _gaps(feature, int(group[0]))
        for rule in self.rules:
            rules += rule.clauses
        integral = self.integral
        if not (integral.any() or rules):
            return None
        return MixedDomain(integral, tuple(rules), tuple(blocks))

    def __getitem__(self, name: str) -> "Quantity":
        """Return a feature by its name, to be used in rules; ``InputError`` if there is none."""
        return self._quantities[own_names([name], self.names)[name]]

    def where(self, *rules: "Rule | str") -> "Inputs":
        """Return these inputs with further rules; raises as the class does."""
        return self.remade(features=self.features, rules=(*self.rules, *rules))

    @checked(columns=TEXTS.or_none(), unread=TEXTS)
    def placed(self, columns: Sequence[str] | None, unread: Sequence[str] = ()) -> "Inputs":
        """Return these inputs with coordinates in the order of a model's ``columns``, by name.

        The features keep their order. A one-hot block has a column for each word, such as
        ``sex_female``. Features whose columns are ``unread`` are left out. None, for a model
        without names, leaves coordinates as they are. Raises ``InputError`` that tells the names of
        columns that are missing and those that are extra, and for a rule about a feature left out.
        """
        known = None if columns is None else tuple(columns)
        if known not in self._met:
            inputs, idle = self, tuple(columns_of(self.features, unread))
            if idle:
                kept = [feature for feature in self.features if feature.name not in idle]
                with refusing(f"the model does not read {listed(idle)}", InputError):
                    inputs = self.remade(features=kept, places=None)
            places = self.places if known is None else places_in(inputs.features, known)
            if places != inputs.places or idle:
                inputs = inputs.remade(places=places, unread=idle or self.unread)
            self._met[known] = inputs
        return self._met[known]

    def only(self, directions: Mapping[str, str]) -> "Inputs":
        """Return these inputs with features, by name, that contrasts change one way alone.

        A direction is ``"up"`` or ``"down"``: ``inputs.only({"age": "up"})``. Raises
        ``InputError`` for a name that is none, and for a feature without directions.
        """
        by_name = row_of(directions)
        if by_name is None:
            raise InputError(
                f"directions are a mapping from names to 'up' or 'down', got {directions!r}"
            )
        own = own_names(by_name, self.names)
        ways = {own[name]: way for name, way in by_name.items()}
        return self.remade(
            features=[replace(f, only=ways.get(f.name, f.only)) for f in self.features]
        )

    def remade(
        self, *, unread: tuple[str, ...] = (), of_domain: bool = False, **changed: Any
    ) -> "Inputs":
        """Return these inputs with some arguments of the class ``changed``; raises as that does."""
        features = [*self.features]  # others own their rules
        found = Inputs.__new__(Inputs)
        vars(found).update(unread=unread, of_domain=of_domain)
        Inputs.__init__(found, **{**self._arguments, "features": features, **changed})
        return found

    @classmethod
    @checked(rules=SEVERAL)
    def from_frame(
        cls,
        frame: Any,
        *,
        categories: Mapping[str, Sequence[str]] | None = None,
        one_hot: Iterable[str] = (),
        ranges: Mapping[str, tuple[float, float]] | None = None,
        units: Mapping[str, str] | None = None,
        fixed: Iterable[str] = (),
        missing: Iterable[str] = (),
        rules: "Iterable[Rule | str]" = (),
        class_names: Sequence[str] = (),
    ) -> "Inputs":
        """Return the inputs that the columns of a pandas ``DataFrame`` are, in their order.

        Whole numbers are integers, other numbers continuous, truth values binary, words categories.
        ``categories`` gives the words behind codes 0, 1, …; ``one_hot`` names the categories that
        the network's input has as blocks: columns of words, or prefixes of the columns that
        ``pandas.get_dummies`` makes. Ends are those of ``ranges``, or the least and the
        largest of the data. ``units`` are units by name; ``fixed`` names features that do not move,
        ``missing`` those whose values may be missing, which trees and pipelines with imputers read.
        Raises ``InputError`` for names that are no column, for missing values in other columns, and
        for a row of a block that has not one 1.
        """
        from milp_verix.inputs.frame import features_of_frame

        features, places = features_of_frame(
            frame,
            categories=categories,
            one_hot=one_hot,
            ranges=ranges,
            units=units,
            fixed_names=fixed,
            missing=missing,
        )
        return cls(features, rules, class_names=class_names, places=places)

    @classmethod
    @checked(rules=SEVERAL)
    def from_pipeline(
        cls,
        pipeline: Any,
        frame: Any,
        *,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        units: Mapping[str, str] | None = None,
        missing: Iterable[str] = (),
        rules: "Iterable[Rule | str]" = (),
    ) -> "Inputs":
        """Return the inputs of a fitted scikit-learn ``Pipeline``, in the table's own units.

        They describe the network that :func:`milp_verix.load_network` makes of ``pipeline``, or
        with this ``transformer``: the columns of the pandas ``DataFrame`` ``frame`` before scaling
        and encoding, in the order in which it was fitted. Words are those that its encoders know,
        names of classes its ``classes_``; a missing word is one more, if an encoder has learnt it
        or ``missing`` names its column. Columns of numbers are as in :meth:`from_frame`, and so are
        ``ranges``, ``units``, ``missing`` and ``rules``. A column that is dropped is no
        feature. Words that an ``OrdinalEncoder`` was given in an order are ordinal, others
        categories; two are binary.

        Raises ``InputError`` for a transformer that is not known, by its name, for missing values
        in numbers, and for names that are no column.
        """
        from milp_verix.inputs.pipeline import described_by

        features, classes = described_by(pipeline, frame, ranges, units, missing)
        return cls(features, rules, class_names=classes)

    @classmethod
    def from_file(cls, path: str | Path) -> "Inputs":
        """Return the inputs that a .json or .toml file describes, see :mod:`.stored`."""
        from milp_verix.inputs.stored import data_in_file

        path = path_of(path, "path")
        data = data_in_file(path)
        try:
            return cls.from_data(data)
        except ValueError as error:
            text = str(error) if str(path) in str(error) else f"{path}: {error}"
            raise InputError(text) from None

    @classmethod
    def from_data(cls, data: object) -> "Inputs":
        """Return the inputs that data as in such a file describe; ``InputError`` for others."""
        from milp_verix.inputs.stored import arguments_in

        found = cls(**arguments_in(data))
        known: Any = data  # a mapping, as arguments_in has seen
        if known.get("of_domain") is True:
            found = found.remade(of_domain=True)
        return found.missing_apart if known.get("missing_apart") is True else found

    def to_data(self) -> dict[str, Any]:
        """Return the description as a file in JSON or TOML holds it; :meth:`from_data` reads it."""
        from milp_verix.inputs.stored import feature_data

        return {
            "features": [feature_data(feature) for feature in self.features],
            "rules": [rule.text for rule in self.rules],
            **({"class_names": list(self.class_names)} if self.class_names else {}),
            **({} if self.passage is None else {"passage": self.passage.to_data()}),
            **({} if self.places is None else {"places": [*self.places]}),
            **({"of_domain": True} if self.of_domain else {}),
            **({"missing_apart": True} if any(f.apart for f in self.features) else {}),
        }

    def row(self, values: Any) -> FloatArray:
        """Return the input, shape (size,), with these values by name: numbers, or words.

        They are a mapping, a list of one, or a row of a DataFrame or a DataFrame of one row;
        columns that are no feature are left out. Truth values stand for two words such as no and
        yes; the columns of a one-hot block stand for its word. ``InputError`` for a name that is
        missing, and for a word that is no value.
        """
        given = named_row(values, self.features)
        row = np.zeros(self.size)
        for feature, group in zip(self.features, self.groups, strict=True):
            code = code_in(feature, given[feature.name])
            at = int(code) if feature.one_hot else 0
            row[group[at]] = 1.0 if feature.one_hot else code
        return row

    def texts(self, x: NDArray[np.floating]) -> tuple[str, ...]:
        """Return the value of each feature of ``x`` in words, such as ``"Never-married"``."""
        flat = self._coordinates(x)
        pairs = zip(self.features, self.groups, strict=True)
        return tuple(feature.text(flat[group]) for feature, group in pairs)

    def words(self, x: NDArray[np.floating]) -> dict[str, str]:
        """Return the value of each feature of ``x`` in words, by its name."""
        return dict(zip(self.names, self.texts(x), strict=True))

    def changes(
        self, x: NDArray[np.floating], other: NDArray[np.floating]
    ) -> dict[str, tuple[str, str]]:
        """Return the features in which two inputs differ, by name, each with both its values."""
        before, after = self._coordinates(x), self._coordinates(other)
        return {
            feature.name: (feature.text(before[group]), feature.text(after[group]))
            for feature, group in zip(self.features, self.groups, strict=True)
            if np.any(before[group] != after[group])
        }

    def refuse(self, x: NDArray[np.floating]) -> None:
        """Raise ``InputError`` unless ``x``, shape (size,), is such an input."""
        x = self._coordinates(x)
        for feature, group in zip(self.features, self.groups, strict=True):
            refuse_value(feature, x[group])
        for rule in self.rules:
            if not all(any(half.holds(x) for half in clause) for clause in rule.clauses):
                gone = [q for q in self.compared_missing([rule]) if q.ways[0][1].holds(x)]
                way = "; missing satisfies no comparison: a rule with | ({} == {!r}) lets it be"
                raise InputError(
                    f"the input breaks the rule {rule.text}: nothing can be said about inputs that "
                    "satisfy it; correct the input or the rule"
                    f"{way.format(gone[0].text, MISSING) if gone else ''}"
                )

    def compared_missing(self, rules: "Iterable[Rule]") -> "list[Quantity]":
        """Return the numbers in ``rules`` that may be missing."""
        halves = (half for rule in rules for clause in rule.clauses for half in clause)
        among = {int(i) for half in halves for i in half.coordinates}
        return [one for one in self._quantities.values() if one.ways and one.group[0] in among]

    @cached_property
    def _met(self) -> dict[tuple[str, ...] | None, "Inputs"]:
        """These inputs as models have them that they have met, by the columns of the models."""
        return {}

    @cached_property
    def _quantities(self) -> "dict[str, Quantity]":
        from milp_verix.inputs.rules import quantity_of

        return {
            feature.name: quantity_of(self.features, index, self.groups[index].tolist())
            for index, feature in enumerate(self.features)
        }

    def _rule(self, given: "Rule | str") -> "Rule":
        from milp_verix.inputs.rule_text import rule_in
        from milp_verix.inputs.rules import Rule

        if isinstance(given, str):
            return rule_in(given, self._quantities)
        if not isinstance(given, Rule):
            raise InputError(f"a rule is a comparison of features or a text, got {given!r}")
        if given.owner is not self.features:
            raise InputError(f"the rule {given.text} is about the features of other Inputs")
        if not rule_in(given.text, self._quantities).same(given):
            raise InputError(
                f"the rule {given.text} is read as another one when it was stored: state it in "
                "other words, or as several rules"
            )
        return given

    def _coordinates(self, x: Any) -> NDArray[Any]:
        """Return the coordinates of an array, shape (size,), or of a row as :meth:`row` does."""
        if row_of(x) is not None:
            return self.row(x)
        if self._met and all(met is not self for met in self._met.values()):
            raise InputError(
                "these inputs were put in the order of a model's columns, and an array has no "
                "names: result.inputs reads the arrays of a result; give other values by name"
            )
        flat = self.coded(np.asarray(x).reshape(-1))
        if flat.size != self.size or flat.dtype.kind not in "biuf":
            raise InputError(
                f"the input holds {flat.size} entries of type {flat.dtype}, expected {self.size} "
                "numbers, or values by name"
            )
        return flat

    def _refuse_contradictions(self) -> None:
        """Raise ``InputError`` that names rules which no input of finite ends satisfies."""
        if not self.rules or not self._impossible(self.rules):
            return
        rules = list(self.rules)
        for rule in self.rules:
            fewer = [other for other in rules if other is not rule]
            if self._impossible(fewer):
                rules = fewer
        text = "; ".join(rule.text for rule in rules)
        raise InputError(f"no input satisfies the rules together: {text}")

    def _impossible(self, rules: "Sequence[Rule]") -> bool:
        lower, upper = self.lower, self.upper
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return False
        alone = Inputs(self.features, places=self.places).mixed
        clauses = tuple(clause for rule in rules for clause in rule.clauses)
        if alone is None:
            alone = MixedDomain(self.integral)
        from milp_verix.inputs.nearest_point import nearest_point

        domain = replace(alone, rules=alone.rules + clauses)
        return nearest_point(domain, Interval(lower, upper), lower) is None


def inputs_of(given: "Inputs | Sequence[Feature] | str | Path | None") -> Inputs | None:
    """Return the argument ``inputs``: as it is, or made of a list of features."""
    if given is None or isinstance(given, Inputs):
        return given
    if isinstance(given, (str, Path)):
        raise InputError(f"inputs are an Inputs, not {given!r}: Inputs.from_file reads a file")
    return Inputs(given)


def _gaps(feature: Feature, coordinate: int) -> list[Clause]:
    """Return the clauses that keep a feature away from numbers between its codes, or last ones."""
    at = np.array([coordinate], dtype=np.intp)
    return [
        (HalfSpace(at, np.ones(1), float(low)), HalfSpace(at, -np.ones(1), -float(high)))
        for low, high in pairwise(sorted(feature.codes) or [feature.last, feature.top])
        if high - low > 1 or feature.apart
    ]
