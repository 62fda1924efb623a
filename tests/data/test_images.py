import hashlib
import os
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from coded import fails
from hypothesis import given
from hypothesis import strategies as st
from pictures import bars
from PIL import Image

from topbin.data.images import Images, cache, decode, pixel_keys
from topbin.data.images.cache import common_shape, decode_files, open_stored, write_store
from topbin.data.images.decode import Header
from topbin.data.paths import find_images, inside, names_images

RED = (200, 30, 40)


def picture(size=(20, 10), mode="RGB", color=RED):
    return Image.new(mode, size, color)


def bomb(path, side=20_000):
    """A png of a few bytes whose header says that it has 400 million pixels."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, data in chunks:
            file.write(struct.pack(">I", len(data)) + name + data)
            file.write(struct.pack(">I", zlib.crc32(name + data)))


@pytest.mark.parametrize("ending", ["png", "jpg", "webp", "bmp", "tiff", "gif"])
def test_every_format_is_decoded(tmp_path, ending):
    picture().save(tmp_path / f"a.{ending}")
    found = decode_files([str(tmp_path / f"a.{ending}")], shape=(3, 8, 8))
    assert not found.bad
    assert found.images.shape == (1, 3, 8, 8)
    assert np.abs(found.images.read()[0].mean(axis=(1, 2)) - RED).max() < 12


def test_modes_become_grey_or_color_on_white(tmp_path):
    made = {
        "clear.png": picture(mode="RGBA", color=(0, 0, 0, 0)),
        "palette.png": picture().convert("P"),
        "grey-clear.png": picture(mode="LA", color=(0, 0)),
        "cmyk.jpg": picture().convert("CMYK"),
        "deep.png": Image.fromarray(np.full((10, 20), 51_400, np.uint16)),
    }
    for name, image in made.items():
        image.save(tmp_path / name)
    found = decode_files([str(tmp_path / name) for name in made], shape=(3, 8, 8))
    assert not found.bad
    colors = dict(zip(made, found.images.read().mean(axis=(2, 3)), strict=True))
    assert (colors["clear.png"] == 255).all()
    assert (colors["grey-clear.png"] == 255).all()
    assert np.abs(colors["palette.png"] - RED).max() < 40
    assert np.abs(colors["cmyk.jpg"] - RED).max() < 12
    assert np.abs(colors["deep.png"] - 200).max() < 2


def test_a_photograph_is_turned_as_the_camera_says(tmp_path):
    upright = np.zeros((16, 16, 3), np.uint8)
    upright[:4] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by 90 degrees
    turned = Image.fromarray(np.rot90(upright).copy())
    turned.save(tmp_path / "a.png", exif=exif)
    found = decode_files([str(tmp_path / "a.png")], shape=(3, 16, 16)).images.read()[0]
    assert (found[:, :4] == 255).all()
    assert (found[:, 4:] == 0).all()


def test_what_is_no_image_is_named_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0).integers(0, 255, (40, 40, 3), np.uint8)
    Image.fromarray(noise).save("good one.png")
    Path("empty.jpg").touch()
    Path("notes.txt").write_text("no image")
    Path("cut.png").write_bytes(Path("good one.png").read_bytes()[:2000])
    bomb("bomb.png")
    os.symlink("loop.png", "loop.png")
    os.symlink(".", "round")
    Image.fromarray(np.zeros((9, 9), np.float32)).save("float.tiff")
    paths = find_images(".")
    assert len(paths) == 7
    found = decode_files(paths)
    assert [paths[i] for i in found.readable] == ["./good one.png"]
    words = {os.path.basename(path): why for path, why in found.bad.items()}
    assert words["empty.jpg"] == "is empty (0 bytes)"
    assert words["notes.txt"] == "is not an image"
    assert words["cut.png"] == "is cut off"
    assert words["bomb.png"].endswith("pixels; the limit is 64,000,000")
    assert "symbolic links" in words["loop.png"]
    assert "32-bit" in words["float.tiff"]


def test_a_killed_decoding_goes_on_and_changed_files_start_over(tmp_path, monkeypatch):
    for i in range(6):
        picture(color=(i, 0, 0)).save(tmp_path / f"{i}.png")
    paths = find_images(tmp_path)
    seen = []

    def counting(path, *shape):
        seen.append(path)
        if len(seen) == 5:
            raise KeyboardInterrupt
        return decoded(path, *shape)

    decoded = decode.decode
    monkeypatch.setattr(decode, "decode", counting)
    monkeypatch.setattr(cache, "AT_ONCE", 2)
    monkeypatch.setattr(cache, "CHUNK", 2)
    store = tmp_path / "store"
    with pytest.raises(KeyboardInterrupt):
        decode_files(paths, folder=store, threads=1)
    seen.clear()
    found = decode_files(paths, folder=store, threads=1)
    assert len(seen) == 2  # four were on the disk
    assert found.images.read()[:, 0].max(axis=(1, 2)).tolist() == [0, 1, 2, 3, 4, 5]
    seen.clear()
    assert decode_files(paths, folder=store, threads=1).images.hash("") == found.images.hash("")
    assert not seen
    picture(color=(99, 0, 0)).save(tmp_path / "3.png")
    os.utime(tmp_path / "3.png", ns=(1, 1))
    seen.extend("so many that none is interrupted")
    again = decode_files(paths[:4], folder=store, threads=1)
    assert again.images.read()[3, 0].max() == 99


def test_a_shape_that_was_guessed_wrong_is_known_next_time(tmp_path, monkeypatch):
    for i in range(12):
        picture(mode="L", color=9).save(tmp_path / f"{i:02d}.png")
    (tmp_path / "00.json").write_text("{}")
    picture().save(tmp_path / "11.png")
    monkeypatch.setattr(cache, "LOOKED_AT", 1)
    monkeypatch.setattr(cache, "_header", lambda path: Header(8, 8, True))
    opened = []

    def opening(folder, paths, shape):
        opened.append(shape)
        return actual(folder, paths, shape)

    actual = cache._open
    monkeypatch.setattr(cache, "_open", opening)
    store, paths = tmp_path / "store", find_images(tmp_path)
    first = decode_files(paths, folder=store)
    assert opened[0][0] == 1
    assert opened[1][0] == 3
    opened.clear()
    again = decode_files(paths, folder=store)
    assert opened == [first.images.row_shape]
    assert again.images.hash("") == first.images.hash("")
    assert decode_files(paths, folder=store, size=32).images.row_shape == (3, 32, 32)


def test_headers_are_read_of_images_not_of_files_beside_them(tmp_path, monkeypatch):
    for i in range(40):
        picture().save(tmp_path / f"{i:02d}.png")
        (tmp_path / f"{i:02d}.json").write_text("{}")
    monkeypatch.setattr(cache, "LOOKED_AT", 3)
    shape = cache._guessed(find_images(tmp_path), None, 1)
    assert shape == decode_files(find_images(tmp_path)).images.row_shape


def test_processes_and_threads_give_the_same_bits(tmp_path, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 255, (40, 30, 40, 3), np.uint8)
    for i, pixels in enumerate(noise):
        Image.fromarray(pixels).save(tmp_path / f"{i:02d}.jpg")
    (tmp_path / "05.jpg").write_bytes(b"")
    (tmp_path / "30.jpg").write_bytes((tmp_path / "31.jpg").read_bytes()[:500])
    paths = find_images(tmp_path)
    one = decode_files(paths, size=32)
    started = []

    def counted_helper():
        started.append(1)
        return helper()

    helper = decode._helper
    monkeypatch.setattr(decode, "_helper", counted_helper)
    monkeypatch.setattr(decode, "MANY", 1)
    other = decode_files(paths, size=32, threads=2)
    assert started == [1]  # the first of the two is this process
    assert (one.images.read() == other.images.read()).all()
    assert (one.images.row_keys == other.images.row_keys).all()
    assert (one.images.sums == other.images.sums).all()
    assert one.bad == other.bad
    assert list(one.bad) == [paths[5], paths[30]]
    decode_files(paths, size=32, threads=1)
    assert started == [1]


@pytest.fixture
def three(tmp_path):
    """Three files, the second no image, and an empty file for their pixels."""
    for i in range(3):
        picture(color=(i, 9, 9)).save(tmp_path / f"{i}.png")
    (tmp_path / "1.png").write_text("no image")
    (tmp_path / "pixels").touch()
    target = decode.Target(str(tmp_path / "pixels"), 4, (3, 8, 8))
    return target, [(i, str(tmp_path / f"{i}.png")) for i in range(3)]


def test_a_helper_decodes_as_this_process_does(three, monkeypatch):
    target, chunk = three
    rows, bad = decode.decode_chunk(target, chunk)
    written = Path(target.file).read_bytes()
    assert rows["done"].tolist() == [1, 0, 1]
    assert written[4:7] == bytes([0, 9, 9])
    Path(target.file).write_bytes(b"")
    with decode._helper() as ask:
        monkeypatch.setattr(decode, "decode", None)  # not in the other process
        found, why = ask(target, chunk)
    assert (found == rows).all()
    assert why == bad == {chunk[1][1]: "is not an image"}
    assert Path(target.file).read_bytes() == written


def test_the_files_of_a_helper_that_died_are_decoded_here(three, monkeypatch):
    target, chunk = three
    with decode._helper() as ask:
        with pytest.raises(FileNotFoundError):  # it dies of this, and so it is seen here
            ask(replace(target, file="nowhere"), chunk)
        assert ask(target, chunk)[0]["done"].tolist() == [1, 0, 1]
    monkeypatch.setattr("sys.executable", "nowhere")
    with decode._helper() as ask:
        assert ask(target, chunk)[0]["done"].tolist() == [1, 0, 1]


def test_a_helper_ends_with_its_pipe_and_imports_little():
    heavy = {"pandas", "sklearn", "torch", "duckdb", "pyarrow"}
    code = "from topbin.data.images.decode import serve; import sys; serve(); print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], input=b"", capture_output=True, timeout=60, check=True
    )
    assert not heavy & set(found.stdout.decode().split())


def test_what_is_stored_is_found_by_name_and_damage_is_nothing(tmp_path):
    images = Images.of(bars(4, True))
    write_store(tmp_path / "s", images[1:], ["b", "c", "d"])
    found, places = open_stored(tmp_path / "s")
    assert places == {"b": 0, "c": 1, "d": 2}
    assert (found.read() == images.read()[1:]).all()
    assert (found.row_keys == images.row_keys[1:]).all()
    (tmp_path / "s" / "pixels.npy").write_bytes(b"damaged")
    assert open_stored(tmp_path / "s") is None
    assert open_stored(tmp_path / "nowhere") is None


def test_the_sum_is_that_of_the_file(tmp_path):
    picture().save(tmp_path / "a.png")
    images = decode_files([str(tmp_path / "a.png")]).images
    assert bytes(images.sums[0]) == hashlib.sha256((tmp_path / "a.png").read_bytes()).digest()


@pytest.mark.parametrize(
    ("sizes", "size", "shape"),
    [
        ([(28, 28)] * 3, None, (3, 28, 28)),
        ([(40, 20)] * 3, None, (3, 20, 40)),
        ([(640, 480), (300, 200)], None, (3, 64, 64)),
        ([(50, 40), (60, 33)], None, (3, 32, 32)),
        ([(4, 4), (9, 9)], None, (3, 32, 32)),
        ([(640, 480)], 96, (3, 96, 96)),
    ],
)
def test_one_size_for_all(sizes, size, shape):
    headers = [Header(width, height, False) for width, height in sizes]
    assert common_shape(headers, size) == shape


def test_names_of_images_and_other_sources(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.csv").touch()
    assert not names_images(tmp_path / "x")
    (tmp_path / "x" / "A.JPG").touch()
    assert names_images(tmp_path / "x")
    assert names_images([tmp_path / "x", "b.png"])
    assert not names_images(["b.png", "c.csv"])
    assert not names_images([])
    with fails("TB130", "no file fits the pattern"):
        find_images(tmp_path / "x" / "none*.png")


def test_a_picture_among_texts_makes_no_folder_of_images(tmp_path):
    (tmp_path / "cover.png").touch()
    assert names_images(tmp_path)
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).touch()
    assert not names_images(tmp_path)


def test_no_image_and_no_such_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    with fails("TB130", "there is no image in"):
        find_images(tmp_path / "empty")
    with fails("TB130", "no file or folder"):
        find_images(tmp_path / "nowhere")
    with fails("TB101"):
        find_images("s3://bucket/photos")


def test_a_table_cannot_name_files_outside_its_folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.png").touch()
    os.symlink(tmp_path / "secret.png", tmp_path / "in" / "link.png")
    root = str(tmp_path / "in")
    for path in ("../secret.png", str(tmp_path / "secret.png"), "link.png"):
        with fails("TB133", "outside the folder"):
            inside(path, root, "path")
    assert inside("a/../b.png", root, "path").endswith("b.png")
    assert inside("secret.png", str(tmp_path / "in/.."), "path")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 8, 8)),
        np.zeros((3, 8), np.uint8),
        np.zeros((3, 3, 8, 8), np.uint8),
        np.zeros((3, 4, 4), np.uint8),
        np.zeros((3, 8, 2000), np.uint8),
    ],
)
def test_arrays_that_are_no_images(array):
    with fails("TB134"):
        Images.of(array)


def test_a_guess_from_some_headers_is_corrected_by_all(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "LOOKED_AT", 2)
    for i in range(6):
        Image.new("L", (12, 12), i).save(tmp_path / f"{i}.png")
    paths = find_images(tmp_path)
    assert decode_files(paths).images.row_shape == (1, 12, 12)
    Image.new("RGB", (12, 12), (9, 0, 0)).save(tmp_path / "2.png")  # its header is not looked at
    store = tmp_path / "store"
    found = decode_files(paths, folder=store)
    assert found.images.row_shape == (3, 12, 12)
    assert found.images.read()[:, :, 5, 5].tolist()[2] == [9, 0, 0]
    assert found.readable.tolist() == list(range(6))
    assert not found.bad


def test_keys_do_not_depend_on_the_version():
    keys = [pixel_keys(np.arange(3 * k * k, dtype=np.uint8).reshape(1, 3, k, k)) for k in (8, 9)]
    assert keys == [10312841798640228632, 10605493108402189920]


@given(st.lists(st.integers(0, 200), min_size=2, max_size=2, unique=True), st.integers(0, 7))
def test_keys_of_images_that_differ_in_two_pixels_differ(places, bit):
    images = np.zeros((2, 3, 9, 10), np.uint8)
    images[1].reshape(-1)[places] = 1 << bit
    assert len(set(pixel_keys(images).tolist())) == 2
