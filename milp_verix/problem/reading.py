"""Signs that several outputs are the scores of a classifier, not the values of a regression.

Without ``delta`` the outputs are read as scores, and the largest is the class. An ONNX file does
not say that they are; these signs do:

- a final Softmax, LogSoftmax or Sigmoid, or an output of labels or of a map from them;
- a word for it in the names of the graph and the outputs, or in the metadata: logits, scores,
  probabilities, classes, labels, softmax …;
- values that are a distribution, or its logarithm;
- at least ten outputs, and fewer than inputs: regressions have few outputs, decoders as many as
  they have inputs.

A word for regression outweighs all signs but the first. If no sign shows a classifier, results say
how the outputs were read.
"""

import re

import numpy as np
import onnx
from numpy.typing import NDArray

from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import OnnxNetwork
from verix_encodings.arrays import FloatArray

_SCORES = re.compile("logit|softmax|score|prob|class|categor|label", re.IGNORECASE)
_VALUES = re.compile("regress", re.IGNORECASE)
_MANY = 10
_ROUNDING = 1e-4


def reading_notes(network: LoadedModel, outputs: NDArray[np.floating]) -> tuple[str, ...]:
    """Return a note on the reading of the ``outputs`` at the input; none if a sign decides it."""
    count = network.output_size
    if count == 1 or _shows_classifier(network, outputs.astype(np.float64)):
        return ()
    return (
        f"the largest of the {count} outputs was taken for the class, though the model does not "
        "say that they are scores; for a regression give delta (--delta), the change of an "
        "output that counts",
    )


def _shows_classifier(network: LoadedModel, outputs: FloatArray) -> bool:
    if network.classifies or not isinstance(network, OnnxNetwork):
        return True
    if network.scores_name != network.output_name:
        return True
    words = _words(network.model)
    if _VALUES.search(words):
        return False
    return (
        _SCORES.search(words) is not None
        or _is_distribution(outputs)
        or _is_distribution(np.exp(np.minimum(outputs, 1.0)))
        or _MANY <= outputs.size < network.input_size
    )


def _words(model: onnx.ModelProto) -> str:
    outputs = [value.name for value in model.graph.output]
    metadata = [f"{entry.key}: {entry.value}" for entry in model.metadata_props]
    return " ".join([model.graph.name, *outputs, *metadata])


def _is_distribution(values: FloatArray) -> bool:
    return bool(np.all(values >= 0) and abs(values.sum() - 1.0) <= _ROUNDING)
