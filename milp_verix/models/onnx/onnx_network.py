"""A neural network in an ONNX file: the file itself, and its meaning as a network of ReLUs."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache, partial
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray

from milp_verix.base.arguments import TEXT, checked
from milp_verix.base.errors import InputError, ModelError, refusing
from milp_verix.inputs.fitted import Missing
from milp_verix.inputs.inputs import Inputs
from milp_verix.inputs.one_row import in_order
from milp_verix.inputs.table_encoding import encodings_kept
from milp_verix.models.loaded_model import LoadedModel, Origin, as_numbers
from milp_verix.models.onnx import model_file
from milp_verix.models.onnx.model_file import JoinedInputs, ModelSource, Signature
from milp_verix.models.onnx.trace import Anchor, require_memory, trace
from milp_verix.models.trees.readers import ends_in_trees, path_of


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class OnnxNetwork(LoadedModel):
    """A network in ONNX, with the fields of :class:`LoadedModel` and its own.

    Weights stored beside a file are not covered by ``sha256``, but by ``content_sha256``.
    ``scores_name`` is the tensor that is evaluated: the output ``output_name``, unless that holds
    labels or a map of them; then it is the tensor of scores that they are made from, and the file
    is run that far. ``anchors`` are the values of ``ir`` that are tensors of the file, which
    :meth:`tensors` evaluates; ``model`` and ``signature`` were traced. ``joined`` are the inputs of
    a model with several: its input is a vector of them, one after the other.
    """

    input_name: str
    output_name: str
    scores_name: str
    session: Any
    anchors: tuple[Anchor, ...]
    anchor_session: Any
    model: onnx.ModelProto
    signature: Signature
    joined: JoinedInputs | None = None
    words: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of a result on how the file was run."""
        if self.scores_name == self.output_name:
            return self.facts.notes
        return (
            *self.facts.notes,
            f"the output {self.output_name!r} holds labels or a map; the file was run as far as "
            f"{self.scores_name!r}, the scores that they are made from",
        )

    def outputs_at(self, x: ArrayLike) -> NDArray[np.floating]:
        """Run the file in onnxruntime at ``x`` and return its scores, shape (m,).

        ``x`` is taken as by :meth:`as_input`, and raises as there; ``ModelError`` where onnxruntime
        fails.
        """
        return self._run(self.session, [self.scores_name], x)[0]

    def scores_at(self, x: ArrayLike) -> NDArray[np.floating]:
        """Return the scores before the final Softmax or Sigmoid, from the file if it has them."""
        if self.softmax_stripped or self.sigmoid_stripped:
            for anchor, tensor in zip(self.anchors, self.tensors(x), strict=True):
                if anchor.value == len(self.ir.nodes):
                    return tensor
        return LoadedModel.scores_at(self, x)  # slots: the class of super() is not this one

    def tensors(self, x: ArrayLike) -> list[NDArray[Any]]:
        """Run the file at ``x``; return the tensors of ``anchors``, flat; raises as that."""
        return self._run(self.anchor_session, [anchor.tensor for anchor in self.anchors], x)

    def _run(self, session: Any, names: list[str], x: ArrayLike) -> list[NDArray[Any]]:
        point = self.as_input(x)
        text = f"onnxruntime cannot run {self.path or self.name}"
        # its exceptions share no base class but this
        with refusing(text, Exception, kind=ModelError, brief=True):
            outputs = session.run(names, {self.input_name: point})
        return [output.reshape(-1) for output in outputs]

    def placed(self, row: Mapping[str, Any]) -> tuple[list[float], tuple[str, ...]]:
        """Return the numbers of a row of a table, or the parts of several inputs, and notes.

        Raises as :meth:`LoadedModel.placed` does.
        """
        if self.joined is not None and {*self.joined.names} <= {*row}:
            notes = in_order([*row], self.joined.names, "the row")[1]
            return self._parts(row, self.joined), notes
        return LoadedModel.placed(self, row)

    def described(self, inputs: Inputs) -> Inputs:
        """Return ``inputs`` as :meth:`LoadedModel.described` does, with missing values apart."""
        return LoadedModel.described(self, inputs).missing_apart

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        """A copy in another process runs the model that was read here, whatever its file holds."""
        kept = (one.name for one in fields(self) if not one.name.endswith("session"))
        return _reopened, ({name: getattr(self, name) for name in kept},)

    def _parts(self, row: Mapping[str, Any], joined: JoinedInputs) -> list[float]:
        """Return the entries of all inputs, given an array for each by its name."""
        entries: list[float] = []
        for name, size in zip(joined.names, joined.sizes, strict=True):
            part = as_numbers(row[name])
            if part.size != size:
                raise InputError(f"input {name!r} has {size} entries, got {part.size}")
            entries += part.reshape(-1).tolist()
        return entries

    def __repr__(self) -> str:
        counts = {"ReLUs": 0} | dict(sorted(self.ir.counts.items()))
        neurons = ", ".join(f"{count} {plural}" for plural, count in counts.items())
        return (
            f"OnnxNetwork({self.name!r}: input {self.input_shape} {self.dtype} -> "
            f"{self.output_size} scores, {neurons})"
        )


def _sessions(
    path: Path | None,
    model: onnx.ModelProto,
    signature: Signature,
    anchors: Sequence[Anchor],
    *,
    stored: bool = False,
) -> dict[str, Any]:
    """Return the sessions of a network, whose errors name ``path``; if ``stored``, of that file."""
    scores = signature.scores_name
    run = None if stored else model
    run = run if scores == signature.output_name else model_file.cut(model, [scores])
    anchored = model_file.cut(model, [one.tensor for one in anchors] or [scores])
    opened = model_file.session_of
    return {"session": opened(path, run), "anchor_session": opened(path, anchored)}


def _reopened(kept: dict[str, Any]) -> OnnxNetwork:
    """Return the network with these fields, in sessions of this process."""
    read = (kept[name] for name in ("path", "model", "signature", "anchors"))
    return OnnxNetwork(**kept, **_sessions(*read))


NetworkLike: TypeAlias = LoadedModel | ModelSource | Any
"""A network that was loaded, or what :func:`load_network` takes."""


def loaded(network: NetworkLike, described: Inputs | None = None, **reading: Any) -> LoadedModel:
    """Return a network that was loaded, or what :func:`load_network` makes of it.

    A pipeline is read with the missing words of the inputs ``described``, and before a network with
    their missing numbers. Raises as that does, and ``InputError`` for a model that was fitted again
    since it was loaded, and for numbers that no imputer fills in.
    """
    features = () if described is None else described.features
    names: tuple[Any, ...] = tuple(one.name for one in features if one.missing and one.one_hot)
    if isinstance(network, LoadedModel):
        network.require_unchanged()
    else:
        # a pipeline knows its shape, which is another one with missing words
        reading = {**reading, "input_shape": None} if names else reading
        network = load_network(network, **reading)
    origin = network.origin
    if described is None or origin is None or not hasattr(origin.models[-1], "get_params"):
        return network
    if tuple(one for one in network.missing if isinstance(one, str)) != names:
        network = _with_missing(origin, network.file_name, names)
    wanted = (*names, *missing_numbers(described, network))
    same = wanted == network.missing
    return network if same else _with_missing(origin, network.file_name, wanted)


def missing_numbers(described: Inputs, network: LoadedModel) -> tuple[Any, ...]:
    """Return numbers that may be missing before a network; ``InputError`` for a fixed one."""
    if not described.missing or not isinstance(network, OnnxNetwork):
        return ()
    name = next((f.name for f in described.features if f.missing and f.kind == "fixed"), None)
    if name is not None:
        raise InputError(
            f"{name} is fixed and may be missing, which trees alone read: describe it as "
            f"continuous({name!r}, lower, upper, missing=True), with the radius 0"
        )
    placed = network.described(described)
    upper = placed.upper  # found anew at each call
    return tuple((j, last, float(upper[j])) for j, last in placed.missing.items())


@lru_cache(maxsize=2)  # each problem about a pipeline asks for one with words, then for all
def _with_missing(origin: Origin, file_name: str | None, missing: tuple[Any, ...]) -> LoadedModel:
    found: LoadedModel = origin.again(missing=missing)
    return replace(found, origin=origin, file_name=file_name, missing=missing)


@checked(output=TEXT.or_none())
def load_network(
    source: ModelSource | Any,
    *,
    example: ArrayLike | None = None,
    input_shape: Sequence[int] | None = None,
    output: str | None = None,
    transformer: Any = None,
) -> LoadedModel:
    """Read a model: the ONNX file at the path ``source``, its bytes, or a model in memory.

    A model in memory is an ``onnx.ModelProto``, a ``torch.nn.Module``, a fitted scikit-learn
    estimator, pipeline or search of its parameters, or a Keras model. The exporters of these
    libraries turn it into ONNX: PyTorch's for the module's behaviour in evaluation, skl2onnx, and
    ``model.export`` of Keras. A model of scikit-learn is compared with its network before it is
    returned. The input of a ``Pipeline`` is a row of its table before scaling and encoding, which
    :meth:`milp_verix.Inputs.from_pipeline` describes.

    A model with several inputs is read as one whose input is a vector, the inputs one after the
    other: give ``x`` as such a vector, or as a dict with an array for each input.

    A model in memory may be fitted again, or changed in place: questions about what was read before
    are refused then. Noticed is what the object itself holds: no global variable, closure or class
    attribute that the ``forward`` of a module reads. A leaf of a large LightGBM model that somebody
    sets is noticed by :meth:`.LoadedModel.evaluate` at once, and by questions half a second later
    for each megabyte of its text.

    Trees, forests and boosted trees of scikit-learn, XGBoost and LightGBM, files of the last two,
    and ONNX files that end in trees are read from their own structures, alone or at the end of a
    pipeline. Their own library runs them; it is compared with the trees before these are returned.

    Args:
        source: the model.
        example: an input for a ``torch.nn.Module``, which needs its shape, the batch of one
            included, or a tuple of them for several; or a DataFrame for a scikit-learn
            ``Pipeline``, for whose rows the network's scores are compared with the pipeline's,
            beside rows made from what it was fitted on. Other models do not use it.
        input_shape: the shape of the input, where it has more than one dynamic dimension.
        output: the name of the output to explain, where there are several.
        transformer: a fitted ``ColumnTransformer`` or other transformer of scikit-learn, whose
            output the model takes. The network's input is then a row of its table, as for a
            ``Pipeline``, and ``example`` a DataFrame whose numbers are compared.

    Raises:
        ModelError: the model cannot be read or exported.
        UnsupportedOperatorError: it holds something that cannot be encoded exactly.
        InputError: an argument does not fit it, or an exporter is not installed.
    """
    read = partial(_read, source, example, input_shape, output, transformer)
    network = read()
    models = [one for one in (source, transformer) if not isinstance(one, _UNCHANGING)]
    if not models:
        return network
    origin = Origin(models, read, network.content_sha256)
    return replace(network, origin=origin)


_ONNX = (str, PathLike, bytes, onnx.ModelProto)
_UNCHANGING = (str, PathLike, bytes, NoneType)
"""Sources of a model that stay as they are, once they are read."""


@refusing(
    "the model is damaged, a name in it is no text: export or copy it again",
    UnicodeDecodeError,
    kind=ModelError,
)
@encodings_kept()
def _read(
    source: Any,
    example: ArrayLike | None,
    input_shape: Sequence[int] | None,
    output: str | None,
    transformer: Any,
    *,
    missing: Missing = (),
) -> LoadedModel:
    if ends_in_trees(source):
        from milp_verix.models.trees import behind_table
        from milp_verix.models.trees.tree_network import tree_network

        return tree_network(behind_table.read(source, transformer, example, missing))
    fitted = source if transformer is None else transformer
    if transformer is not None:
        from milp_verix.models.onnx.exporters import behind_transformer

        source = behind_transformer(source, transformer, example, output, missing)
    elif missing:
        from milp_verix.models.onnx.table_model import table_model

        source = table_model(source, None, missing)
    elif not isinstance(source, _ONNX):
        from milp_verix.models.onnx.exporters import as_onnx

        source = as_onnx(source, example)
    path = path_of(source)
    model, sha256 = model_file.read_model(source)
    joined = model_file.join_inputs(model)
    signature = model_file.read_signature(model.graph, input_shape=input_shape, output=output)
    if any(node.op_type in model_file.NODES_OF_TREES for node in model.graph.node):
        from milp_verix.models.onnx.tree_models import read_onnx_trees
        from milp_verix.models.trees.tree_network import tree_network

        trees = read_onnx_trees(model, signature, path, sha256)
        return tree_network(replace(trees, columns=None if joined is None else joined.columns))
    require_memory(model, signature)
    traced = trace(model, signature)
    columns: tuple[str, ...] | None = joined.columns if joined else None
    words: Mapping[int, tuple[str, ...]] = {}
    unread: tuple[str, ...] = ()
    if not joined and not isinstance(fitted, _ONNX):
        from milp_verix.inputs.pipeline import coordinates_of

        columns, words, unread = coordinates_of(fitted, missing)
    return OnnxNetwork(
        path=path,
        sha256=sha256,
        content_sha256=_content_hash(sha256, model, signature),
        ir=traced.network,
        **asdict(signature),
        softmax_stripped=traced.stripped in ("Softmax", "LogSoftmax"),
        sigmoid_stripped=traced.stripped == "Sigmoid",
        **_sessions(path, model, signature, traced.anchors, stored=bool(path and not joined)),
        anchors=traced.anchors,
        model=model,
        signature=signature,
        facts=model_file.facts_of(model, max(traced.network.output_size, 2)),
        columns=columns if columns and len(columns) == traced.network.input_size else None,
        unread=unread,
        joined=joined,
        words=words,
    )


def _content_hash(sha256: str, model: onnx.ModelProto, signature: Signature) -> str:
    """Return a SHA-256 of a file, the weights stored beside it, and the way it is read."""
    hashed = hashlib.sha256(f"{sha256} {signature.input_shape} {signature.output_name}".encode())
    for part in (*model.graph.initializer, *model.graph.node):
        hashed.update(part.SerializeToString(deterministic=True))
    return hashed.hexdigest()
