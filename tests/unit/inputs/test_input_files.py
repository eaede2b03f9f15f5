"""What the command line takes as INPUT, and what it says to what it does not."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from milp_verix import InputError
from milp_verix.inputs.input_files import PICTURES, decoded_note, read_input, scale_bytes

GREY = np.arange(20, dtype=np.uint8).reshape(4, 5)
COLOUR = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)


def picture(array: NDArray[np.uint8], folder: Path, mode: str | None = None) -> str:
    path = folder / "picture.png"
    image = Image.fromarray(array)
    (image if mode is None else image.convert(mode)).save(path)
    return str(path)


def test_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", GREY)
    np.testing.assert_array_equal(read_input(f"{tmp_path}/x.npy", (20,)), GREY)
    np.testing.assert_array_equal(read_input(f"{tmp_path}/x.npy:[2]", (5,)), GREY[2])


def test_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "data:with[odd]name.npz"
    np.savez(path, images=COLOUR, labels=np.arange(4))
    np.testing.assert_array_equal(read_input(f"{path}:images", (60,)), COLOUR)
    np.testing.assert_array_equal(read_input(f"{path}:images[3]", (15,)), COLOUR[3])
    np.testing.assert_array_equal(read_input(f"{path}:images[3,-1]", (3,)), COLOUR[3, -1])


def test_the_key_of_a_single_array_may_be_left_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", only=GREY)
    np.testing.assert_array_equal(read_input(f"{tmp_path}/one.npz", (20,)), GREY)
    np.testing.assert_array_equal(read_input(f"{tmp_path}/one.npz:[1]", (5,)), GREY[1])


@pytest.mark.parametrize("shape", [(4, 5), (1, 4, 5), (1, 1, 4, 5), (1, 4, 5, 1)])
def test_a_grey_picture_takes_the_shape_of_the_input(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    read = read_input(picture(GREY, tmp_path), shape)
    np.testing.assert_array_equal(read, GREY.reshape(shape))


def test_a_colour_picture_takes_the_axes_of_the_input(tmp_path: Path) -> None:
    path = picture(COLOUR, tmp_path)
    np.testing.assert_array_equal(read_input(path, (1, 4, 5, 3))[0], COLOUR)
    np.testing.assert_array_equal(read_input(path, (1, 3, 4, 5))[0], COLOUR.transpose(2, 0, 1))


def test_a_picture_with_a_palette_is_read_as_its_colours(tmp_path: Path) -> None:
    flat = np.zeros((4, 5, 3), dtype=np.uint8)
    flat[..., 0] = 255
    np.testing.assert_array_equal(read_input(picture(flat, tmp_path, "P"), (1, 4, 5, 3))[0], flat)


def test_a_transparent_picture_is_refused(tmp_path: Path) -> None:
    pixels = np.dstack([COLOUR, np.full((4, 5), 254, dtype=np.uint8)])
    with pytest.raises(InputError, match="transparent"):
        read_input(picture(pixels, tmp_path), (1, 4, 5, 3))
    np.testing.assert_array_equal(read_input(picture(pixels, tmp_path), (1, 4, 5, 4))[0], pixels)


def test_a_picture_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="5 × 4 pixels, the network takes 28 × 28"):
        read_input(picture(GREY, tmp_path), (1, 28, 28))


def test_a_picture_of_sixteen_bits_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    Image.fromarray(np.full((4, 5), 60_000, dtype=np.uint16)).save(path)
    with pytest.raises(InputError, match="8 bits"):
        read_input(str(path), (4, 5))


@pytest.mark.parametrize("shape", [(1, 2, 10), (1, 5, 2, 2)])
def test_a_picture_for_a_network_without_pictures_is_refused(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=rf"shape {re.escape(str(shape))}"):
        read_input(picture(GREY, tmp_path), shape)


@pytest.mark.parametrize("shape", [(20,), (1, 20), (1, 20, 1)])
def test_a_grey_picture_keeps_its_shape_for_a_flat_input(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    np.testing.assert_array_equal(read_input(picture(GREY, tmp_path), shape), GREY)


def test_a_colour_picture_for_a_flat_input_needs_the_order_of_its_axes(tmp_path: Path) -> None:
    path = picture(COLOUR, tmp_path)
    with pytest.raises(InputError, match=r"-shape 4,5,3\) if the .*-shape 3,4,5\) if each"):
        read_input(path, (1, 60))
    np.testing.assert_array_equal(read_input(path, (1, 60), (4, 5, 3)), COLOUR)
    np.testing.assert_array_equal(read_input(path, (1, 60), (3, 4, 5)), COLOUR.transpose(2, 0, 1))


def test_a_picture_of_another_size_for_a_flat_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"5 × 4 pixels, the network takes 784.*28,28"):
        read_input(picture(GREY, tmp_path), (1, 784))


@pytest.mark.parametrize("suffix", PICTURES)
def test_a_picture_in_each_format(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix.upper()}"
    grey = np.full((8, 8), 100, dtype=np.uint8)
    lossy = {"quality": 100} if suffix in ("jpg", "jpeg", "webp") else {}
    Image.fromarray(grey).save(path, **lossy)
    read = read_input(str(path), (1, 8, 8, 1))
    assert (read.shape, read.dtype) == ((1, 8, 8, 1), np.uint8)
    np.testing.assert_allclose(read[0, :, :, 0], grey, atol=3 if lossy else 0)
    note = decoded_note(str(path))
    assert note is not None
    assert f"decoded from x.{suffix.upper()}" in note
    assert ("lossy" in note) == bool(lossy)


@pytest.mark.parametrize("suffix", ["gif", "tiff", "webp"])
def test_a_picture_that_moves_is_its_first_frame(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    first, second = (Image.fromarray(np.full((8, 8), grey, dtype=np.uint8)) for grey in (0, 255))
    first.save(path, save_all=True, append_images=[second])
    assert read_input(str(path), (8, 8)).max() < 10
    assert "its first frame" in str(decoded_note(str(path)))


def test_a_picture_in_the_colours_of_print_is_refused(tmp_path: Path) -> None:
    Image.new("CMYK", (8, 8)).save(tmp_path / "x.jpg")
    with pytest.raises(InputError, match="mode CMYK; convert it to grey or RGB"):
        read_input(f"{tmp_path}/x.jpg", (8, 8))


def test_an_array_was_not_decoded() -> None:
    assert decoded_note("x.npy") is decoded_note("x.npz:a.png") is decoded_note("png") is None


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("x.txt", "cannot tell"),
        ("data.npz:a[b]", "cannot tell"),
        ("row.json", "need --inputs"),
        ("absent.npy", "absent.npy: No such file"),
        ("absent.npz:a", "absent.npz: No such file"),
        ("absent.png", "absent.png: No such file"),
        ("picture.png:a", "nothing after a colon"),
        ("text.jpg", "not a picture"),
        ("cut.jpg", "cannot read cut.jpg: image file is truncated"),
        ("two.npz", "name of an array; it holds a, b"),
        ("two.npz:c", "no array 'c'; it holds a, b"),
        ("two.npz:a[7]", r"entry 7 of an array of shape \(4, 5\)"),
        ("x.npy:a", "without a name"),
        ("text.npy", "holds no array"),
        ("text.npz:a", "holds no array"),
        ("text.png", "not a picture"),
        ("cut.npz:a", "holds no array"),
        ("objects.npy", "holds no array"),
    ],
)
def test_what_cannot_be_read(
    specification: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("two.npz", a=GREY, b=GREY)
    np.save("x.npy", GREY)
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    Path("cut.npz").write_bytes(Path("two.npz").read_bytes()[:200])
    Image.fromarray(GREY).save("cut.jpg")
    Path("cut.jpg").write_bytes(Path("cut.jpg").read_bytes()[:-3])
    for name in ("text.npy", "text.npz", "text.png", "text.jpg"):
        Path(name).write_text("not what it says")
    with pytest.raises(InputError, match=message):
        read_input(specification, (4, 5))


def test_bytes_are_scaled_as_a_user_would_scale_them() -> None:
    pixels = np.arange(256, dtype=np.uint8)
    scaled = scale_bytes(pixels, (0.0, 1.0), np.dtype(np.float32))
    np.testing.assert_array_equal(scaled, pixels / np.float32(255))
    assert scaled.dtype == np.float32


@pytest.mark.parametrize("domain", [(-0.1, 0.7), (-0.4242, 2.8215), (-2.1179, 2.6401)])
def test_bytes_fill_the_domain_and_stay_in_it(domain: tuple[float, float]) -> None:
    scaled = scale_bytes(np.arange(256, dtype=np.uint8), domain, np.dtype(np.float32))
    lower, upper = domain
    assert all(lower <= value <= upper for value in scaled.astype(np.float64).tolist())
    np.testing.assert_allclose(scaled[[0, -1]], domain, rtol=2e-7)


def test_what_is_not_bytes_or_has_no_domain_is_left_alone() -> None:
    floats = np.array([0.5])
    assert scale_bytes(floats, (0.0, 1.0), np.dtype(np.float32)) is floats
    pixels = np.array([7], dtype=np.uint8)
    assert scale_bytes(pixels, (0.0, np.inf), np.dtype(np.float32)) is pixels
