"""Explain predictions of small networks with attention, trained here, beside bounds alone.

    pip install '.[torch]'
    python benchmarks/attention.py mnist_test.npz --images 5 --write attention

The archive holds ``images``, bytes, and ``labels``. Networks are trained by PyTorch on images from
number 1000 on, with a fixed seed, and exported as PyTorch exports them; images from the first on
are explained, if they are classified right. Images are means of 2 by 2 pixels, 196 features each.
Seconds are those of the processor, of one thread; ``open`` counts features of an explanation that
have no counterfactual, each of which onnxruntime has run. Accuracy is that on the first 1000.
"""

import io
import logging
import time
import warnings
from collections.abc import Callable
from statistics import mean, median
from typing import Any

import numpy as np
from arguments import numbers, parsed, parser
from numpy.typing import NDArray
from tables import Table, write

from milp_verix import OnnxNetwork, Problem, Search, load_network

_KEPT = 1000
_EPOCHS, _BATCH, _RATE = 25, 64, 3e-3


def self_attention() -> Any:
    """Return a network of 14 rows as tokens: one attention of one head, no normalisation."""
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(14, 8)
            self.place = nn.Parameter(_normal(14, 8))
            self.attend = nn.MultiheadAttention(8, 1, batch_first=True)
            self.last = nn.Linear(14 * 8, 10)

        def forward(self, x: Any) -> Any:
            tokens = self.embed(x) + self.place
            mixed, _ = self.attend(tokens, tokens, tokens, need_weights=False)
            return self.last((tokens + mixed).flatten(1))

    return Network()


def vision_transformer(layers: int) -> Any:
    """Return a vision transformer: 4 patches of 7 by 7 pixels, 2 heads, LayerNorm and GELU."""
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(1, 16, 7, stride=7)
            self.place = nn.Parameter(_normal(4, 16))
            layer = nn.TransformerEncoderLayer(
                16, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.last = nn.Linear(16, 10)

        def forward(self, x: Any) -> Any:
            tokens = self.patches(x[:, None]).flatten(2).transpose(1, 2) + self.place
            return self.last(self.body(tokens).mean(1))

    return Network()


def _normal(*shape: int) -> Any:
    import torch

    return 0.3 * torch.randn(*shape)


NETWORKS: dict[str, Callable[[], Any]] = {
    "self-attention": self_attention,
    "vision transformer, 1 layer": lambda: vision_transformer(1),
    "vision transformer, 2 layers": lambda: vision_transformer(2),
}


def trained(
    make: Callable[[], Any], images: NDArray[np.float32], labels: NDArray[Any]
) -> OnnxNetwork:
    """Return the network, trained on all images but the first ones, as PyTorch exports it."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    module = make()
    x, y = torch.from_numpy(images[_KEPT:]), torch.from_numpy(labels[_KEPT:].astype(np.int64))
    optimiser = torch.optim.Adam(module.parameters(), _RATE)
    steps = _EPOCHS * -(-len(x) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=steps)
    for _ in range(_EPOCHS):
        for part in torch.randperm(len(x)).split(_BATCH):
            loss = torch.nn.functional.cross_entropy(module(x[part]), y[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    module.eval()
    file = io.BytesIO()
    torch.onnx.export(module, (x[:1],), file, dynamo=False, opset_version=17)
    network = load_network(file.getvalue())
    assert isinstance(network, OnnxNetwork)
    return network


def explained(
    network: OnnxNetwork, x: NDArray[np.float32], epsilon: float, search: Search
) -> tuple[int, int, int, float]:
    """Return the size, open features, counterfactuals and the seconds of an explanation."""
    start = time.process_time()
    found = Problem(network, x, epsilon=epsilon).explain(search=search)
    return found.size, len(found.unknown), len(found.counterfactuals), time.process_time() - start


def main() -> None:
    """Train, explain, and write the table."""
    arguments = parser(__doc__)
    arguments.add_argument("archive", help="mnist_test.npz")
    arguments.add_argument("--images", type=int, default=5)
    arguments.add_argument("--epsilon", type=float, nargs="+", default=[0.03])
    arguments.add_argument("--networks", type=numbers, default=range(len(NETWORKS)))
    arguments.add_argument("--limit", type=float, default=60.0)
    options = parsed(arguments)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # PyTorch's, of its exporter
    with np.load(options.archive) as data:
        pixels, labels = data["images"].astype(np.float32) / np.float32(255), data["labels"]
    images = pixels.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))
    table = Table(
        "network | accuracy | ε | by | images | mean size | median size | open "
        "| counterfactuals | median s | worst s"
    )
    for name in [[*NETWORKS][place] for place in options.networks]:
        network = trained(NETWORKS[name], images, labels)
        found = np.argmax(network.evaluate_many(images[:_KEPT].reshape(_KEPT, -1)), axis=1)
        right = np.flatnonzero(found == labels[:_KEPT])
        for epsilon in options.epsilon:
            for by, exactness in (("portfolio", "exact"), ("bounds alone", "bounds")):
                search = Search(exactness=exactness, time_limit=options.limit)
                runs = [
                    explained(network, images[place], epsilon, search)
                    for place in right[: options.images]
                ]
                sizes, left, real, seconds = zip(*runs, strict=True)
                table.add(
                    *(name, f"{right.size / _KEPT:.1%}", epsilon, by, len(runs)),
                    *(f"{mean(sizes):.1f}", f"{median(sizes):g}", sum(left), sum(real)),
                    *(f"{value:.1f}" for value in (median(seconds), max(seconds))),
                )
    if options.write:
        write(options.write, [table])


if __name__ == "__main__":
    main()
