"""Write the first hundred test images of the example's digits to a file, as ``images``.

python benchmarks/digit_images.py digits100.npz
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from train_digits import load_split

images = load_split().test_images[:100].reshape(-1, 1, 8, 8).astype(np.float32)
np.savez_compressed(sys.argv[1], images=images)
