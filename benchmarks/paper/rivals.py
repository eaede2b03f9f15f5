"""LIME and Anchors by their authors' packages, as masks of pixels.

Both take images apart by quickshift (scikit-image), hide superpixels, and ask the network again.
LIME (Ribeiro, Singh, Guestrin, KDD 2016) fits a linear model to the answers: its explanation are
the five superpixels that speak most for the class. Anchors (the same, AAAI 2018) searches
superpixels that keep the class with a probability of 0.95. Neither has a ball, so neither has an ε.

On images of 28 × 28 pixels the default finds one to four superpixels. So there is a finer
segmentation, too: that of the tutorial on MNIST in LIME's repository, with kernel size 1.

``pip install '.[rivals]'`` brings both packages. ``anchor-exp`` asks for spaCy, which images do not
need: ``pip install lime scikit-image`` and ``pip install --no-deps anchor-exp`` do without.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Predict: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Maps images, shape (N, height, width, channels), to probabilities, shape (N, classes)."""

Mask: TypeAlias = NDArray[np.bool_]
"""The pixels of an explanation, shape (height, width)."""

DEFAULT, FINE = 4, 1
"""Kernel sizes of quickshift, in pixels: that of both packages, and that of LIME's tutorial."""


def lime_mask(
    predict: Predict, image: NDArray[Any], *, kernel: float = DEFAULT, seed: int = 0
) -> Mask:
    """Return the pixels that LIME shows for the predicted class of ``image``, (height, width, C).

    All other arguments of ``LimeImageExplainer`` and ``get_image_and_mask`` are the defaults: 1000
    samples, at most five superpixels of positive weight.
    """
    from lime.lime_image import LimeImageExplainer

    explainer = LimeImageExplainer(random_state=seed)
    with _quiet(seed):
        found = explainer.explain_instance(
            _coloured(image), _grey_too(predict, image), segmentation_fn=_superpixels(kernel)
        )
    _, mask = found.get_image_and_mask(found.top_labels[0])
    return np.asarray(mask == 1)


def anchors_mask(
    predict: Predict,
    image: NDArray[Any],
    *,
    kernel: float = DEFAULT,
    others: NDArray[Any] | None = None,
    seed: int = 0,
) -> Mask:
    """Return the pixels of the anchor that ``anchor-exp`` finds for ``image``, (height, width, C).

    All other arguments of ``AnchorImage`` and ``explain_instance`` are the defaults: precision
    0.95 at confidence 0.9, tolerance 0.15, a beam of one. Superpixels are hidden by their mean
    colour or, where images ``others``, (N, height, width, C), are given, behind one of these: the
    package can do both, and the paper does the second. An empty mask says that hiding superpixels
    at random keeps the class often enough.
    """
    from anchor.anchor_image import AnchorImage

    with _quiet(seed):
        dummys = None if others is None else _coloured(others)
        explain = AnchorImage(dummys=dummys, segmentation_fn=_superpixels(kernel)).explain_instance
        segments, anchor = explain(_coloured(image), _grey_too(predict, image))
    return np.asarray(np.isin(segments, [superpixel for superpixel, *_ in anchor]))


def _superpixels(kernel: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return the segmentation of both packages, with another kernel size."""
    from skimage.segmentation import quickshift

    return lambda image: quickshift(image, kernel_size=kernel, max_dist=200, ratio=0.2, rng=0)


def _coloured(image: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``image`` with three channels: quickshift works on colours."""
    channels = 3 if image.shape[-1] == 1 else 1
    return np.repeat(image.astype(np.float64), channels, axis=-1)


def _grey_too(predict: Predict, image: NDArray[Any]) -> Predict:
    """Return ``predict`` for images of three equal channels where those of ``image`` have one."""
    channels, dtype = image.shape[-1], image.dtype
    return lambda images: predict(images[..., :channels].astype(dtype))


@contextmanager
def _quiet(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator, which ``anchor-exp`` draws from, and drop what is printed."""
    before = np.random.get_state()  # noqa: NPY002 - the package knows no other generator
    np.random.seed(seed)  # noqa: NPY002
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
