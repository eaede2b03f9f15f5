"""The architectures of the paper as data, for every data set that it uses.

Layers are those of the authors' public training scripts: convolutions of stride 1 without padding,
in the small networks without activation; 2×2 max-pools; dense layers with ReLUs but the last.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Conv:
    """``kernels`` kernels of ``side`` × ``side`` and all channels, with a ReLU if ``active``."""

    kernels: int
    side: int = 3
    active: bool = False


@dataclass(frozen=True, slots=True)
class Pool:
    """The maximum of each 2×2 square."""


@dataclass(frozen=True, slots=True)
class Dense:
    """A dense layer; all but the last layer of a network end in ReLUs."""

    width: int


Layer = Conv | Pool | Dense
Shape = tuple[int, int, int]
"""Channels, height, width."""

DENSE: tuple[Layer, ...] = (Dense(10), Dense(10))
DENSE_LARGE: tuple[Layer, ...] = (Dense(30), Dense(30))
CNN: tuple[Layer, ...] = (Conv(4), Conv(4), Dense(20))
SIGN_CNN: tuple[Layer, ...] = (Conv(4), Conv(4, side=2), Dense(20))
RUNWAY: tuple[Layer, ...] = (Dense(20), Dense(10))
_HEAD: tuple[Layer, ...] = (Pool(), Dense(200), Dense(200))
MNIST_SOTA: tuple[Layer, ...] = (
    *(Conv(32, active=True), Conv(32, active=True), Pool()),
    *(Conv(64, active=True), Conv(64, active=True), *_HEAD),
)
GTSRB_SOTA: tuple[Layer, ...] = (
    *(Conv(32, active=True), Conv(32, active=True), Conv(64, active=True), Pool()),
    *(Conv(64, active=True), Conv(64, active=True), *_HEAD),
)
DIGITS_SOTA: tuple[Layer, ...] = (
    *(Conv(8, active=True), Conv(8, active=True), Pool()),
    *(Dense(20), Dense(20)),
)
"""The shape of the largest networks for images of 8×8 pixels."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network to train: its name, the name of its data, its hidden layers, how it is trained.

    ``outputs`` is the number of classes, or 1 for a regression. ``radius`` is that of adversarial
    training, 0 for none; ``epochs`` count passes over the training data.
    """

    name: str
    data: str
    hidden: tuple[Layer, ...]
    outputs: int = 10
    epochs: int = 30
    radius: float = 0.0

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers; the last one has no activation."""
        return (*self.hidden, Dense(self.outputs))


ARCHITECTURES: dict[str, Architecture] = {
    made.name: made
    for made in (
        Architecture("mnist-dense", "mnist", DENSE),
        Architecture("mnist-dense-large", "mnist", DENSE_LARGE),
        Architecture("mnist-cnn", "mnist", CNN),
        Architecture("mnist-sota", "mnist", MNIST_SOTA, epochs=4),
        Architecture("mnist-adversarial", "mnist", DENSE, radius=0.05),
        Architecture("gtsrb-sign-cnn", "gtsrb", SIGN_CNN),
        Architecture("gtsrb-dense", "gtsrb", DENSE, epochs=60),
        Architecture("gtsrb-dense-large", "gtsrb", DENSE_LARGE),
        Architecture("gtsrb-cnn", "gtsrb", CNN),
        Architecture("gtsrb-sota", "gtsrb", GTSRB_SOTA, epochs=4),
        Architecture("gtsrb-adversarial", "gtsrb", SIGN_CNN, radius=0.01),
        Architecture("taxinet-runway", "taxinet", RUNWAY, 1, 300),
        Architecture("taxinet-dense", "taxinet", DENSE, 1, 300),
        Architecture("taxinet-dense-large", "taxinet", DENSE_LARGE, 1, 300),
        Architecture("taxinet-cnn", "taxinet", CNN, 1, 300),
        Architecture("digits-dense", "digits", DENSE, epochs=300),
        Architecture("digits-dense-large", "digits", DENSE_LARGE, epochs=150),
        Architecture("digits-cnn", "digits", CNN, epochs=100),
        Architecture("digits-sota", "digits", DIGITS_SOTA, epochs=60),
        Architecture("digits-adversarial", "digits", DENSE, epochs=300, radius=0.1),
        Architecture("digits-runway", "digits", RUNWAY, 1, 300),
    )
}
"""Every network by name. The paper's MNIST 10-10-10 is ``mnist-dense``, its TaxiNet 20-10-1
``taxinet-runway``, its GTSRB network with a 2×2 convolution ``gtsrb-sign-cnn``."""


def counts(layers: tuple[Layer, ...], shape: Shape) -> tuple[int, int]:
    """Return the number of ReLUs and of maxima in a network for inputs of ``shape``."""
    relus = maxima = 0
    for layer, (channels, height, width) in zip(layers, shapes(layers, shape), strict=True):
        values = channels * height * width
        if isinstance(layer, Pool):
            maxima += values
        elif isinstance(layer, Conv):
            relus += layer.active * values
        elif layer is not layers[-1]:
            relus += layer.width
    return relus, maxima


def shapes(layers: tuple[Layer, ...], shape: Shape) -> list[Shape]:
    """Return the shape of the output of each layer; a dense layer's is (width, 1, 1)."""
    found = []
    for layer in layers:
        channels, height, width = shape
        if isinstance(layer, Conv):
            shape = (layer.kernels, height - layer.side + 1, width - layer.side + 1)
        elif isinstance(layer, Pool):
            shape = (channels, height // 2, width // 2)
        else:
            shape = (layer.width, 1, 1)
        found.append(shape)
    return found
