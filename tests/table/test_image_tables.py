"""Tables that name image files: the commands, the model folder, the report."""

from __future__ import annotations

import csv
import io
import json
import struct
import zlib

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import nnpu
from nnpu import ImagePU, TablePU, cli, report
from nnpu.parameters import InputError, ParameterError
from nnpu.report.sections import png

N = 240


def main(arguments):
    """Run a command and return its exit status."""
    try:
        return cli.main(arguments) or 0
    except SystemExit as error:
        return error.code


def bar_images(n, seed=0):
    """Noise, with a bar in every other image."""
    images = np.random.default_rng(seed).integers(0, 60, (n, 8, 8), dtype=np.uint8)
    images[::2, 2:6, 3:5] += 150
    return images


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """labels.csv, and the images beside it in a folder; 60 of 120 bars are labelled."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "png").mkdir()
    with (folder / "labels.csv").open("w", newline="") as stream:
        write = csv.writer(stream).writerow
        write(["file", "known", "camera"])
        for number, image in enumerate(bar_images(N)):
            name = f"png/{number:03}.png"
            Image.fromarray(image).save(folder / name)
            write([name, int(number % 4 == 0) or "", "left"])
    return folder


@pytest.fixture(scope="module")
def model_dir(folder):
    out = folder / "model"
    table = str(folder / "labels.csv")
    how = ["--images", "file", "--prior", "0.5", "--epochs", "8"]
    assert main(["fit", table, "--label", "known", *how, "--out", str(out), "--json"]) == 0
    return out


def test_paths_are_relative_to_the_table_and_name_the_rows(folder, model_dir, tmp_path):
    out = tmp_path / "p.csv"
    assert main(["predict", str(model_dir), str(folder / "labels.csv"), "--out", str(out)]) == 0
    found = pd.read_csv(out)
    assert list(found) == ["file", "score", "probability", "prediction", "rank"]
    assert found["rank"].isna().sum() == 60  # the labelled rows
    assert found.file[3] == "png/003.png"
    assert np.mean(found.prediction == (np.arange(N) % 2 == 0)) > 0.97


def test_the_command_and_the_class_give_the_same_bits(folder, model_dir):
    job = TablePU(0.5, images="file", model=ImagePU(epochs=8)).fit(folder / "labels.csv", "known")
    loaded = nnpu.load(model_dir)
    assert isinstance(loaded, TablePU)
    assert isinstance(loaded.classifier_, ImagePU)
    assert loaded.images == "file"
    mine, theirs = (each.decision_function(folder / "labels.csv") for each in (job, loaded))
    assert mine.tobytes() == theirs.tobytes()
    frame = pd.read_csv(folder / "labels.csv")
    frame["file"] = [str(folder / name) for name in frame.file]
    assert loaded.decision_function(frame).tobytes() == mine.tobytes()


def test_only_the_images_are_learned_from(model_dir):
    columns = json.loads((model_dir / "config.json").read_text())["columns"]
    assert [(column["name"], column["kind"]) for column in columns] == [
        ("file", "image"),
        ("camera", "dropped"),
    ]
    assert not model_dir.with_name("model.partial").exists()


def test_evaluate_judges_and_shows_example_images(folder, model_dir, tmp_path, capsys):
    page = tmp_path / "page.html"
    table = str(folder / "labels.csv")
    code = main(["evaluate", str(model_dir), table, "--label", "known", "--report", str(page)])
    assert code == 0
    assert "Unlabelled rows: 180. Positive among them: 60" in capsys.readouterr().out
    for text in (page.read_text(), (model_dir / "report.html").read_text()):
        assert text.count("data:image/png;base64,") == 24  # 8 of each of three kinds
        for title in ("Surest positives", "Closest to the threshold", "Surest negatives"):
            assert title in text


def test_a_row_without_a_file_or_with_a_wrong_one_is_named(folder, model_dir, tmp_path, capsys):
    table = folder / "gap.csv"
    table.write_text("file,known\npng/000.png,1\n,0\n")
    assert main(["predict", str(model_dir), str(table), "--out", str(tmp_path / "p.csv")]) == 2
    assert "Column 'file', row 2: this cell holds no file name." in capsys.readouterr().err
    table.write_text("file,known\npng/000.png,1\npng/none.png,0\n")
    assert main(["predict", str(model_dir), str(table), "--out", str(tmp_path / "p.csv")]) == 2
    assert f"{folder / 'png/none.png'} does not exist" in capsys.readouterr().err
    table.write_text("image,known\npng/000.png,1\n")
    assert main(["predict", str(model_dir), str(table), "--out", str(tmp_path / "p.csv")]) == 2
    assert "no column 'file'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--images", "photo"], "no column 'photo'"),
        (["--images", "file", "--model", "linear"], "the model is ImagePU"),
        (["--image-size", "8"], "'--image-size' parameter"),
        (["--images", "camera"], "does not exist"),
    ],
)
def test_what_cannot_be_is_refused(folder, tmp_path, options, message, capsys):
    table = ["fit", str(folder / "labels.csv"), "--label", "known", "--prior", "0.5"]
    assert main([*table, *options, "--out", str(tmp_path / "m")]) == 2
    assert message in capsys.readouterr().err


def test_files_of_many_sizes_are_resized_on_request(folder, tmp_path):
    table = tmp_path / "t.csv"
    rows = ["file,known"]
    for number, image in enumerate(bar_images(40)):
        side = 8 + number % 3
        Image.fromarray(image).resize((side, side)).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png,{int(number % 2 == 0)}")
    table.write_text("\n".join(rows))
    fit = ["fit", str(table), "--label", "known", "--images", "file", "--prior", "0.6", "--json"]
    fit += ["--epochs", "1", "--out", str(tmp_path / "m")]
    assert main(fit) == 2
    assert main([*fit, "--image-size", "9"]) == 0
    loaded = nnpu.load(tmp_path / "m")
    assert loaded.classifier_.image_shape_ == (1, 9, 9)
    assert loaded.decision_function(table).shape == (40,)
    assert "image-size = 9\n" in (tmp_path / "m" / "run.toml").read_text()


def test_an_image_model_needs_the_column_and_the_column_an_image_model(folder):
    with pytest.raises(ParameterError, match="'images' parameter"):
        TablePU(0.5, model=ImagePU()).fit(pd.DataFrame({"a": range(9), "s": [1, 0, 0] * 3}), "s")
    with pytest.raises(ParameterError, match="'images' parameter"):
        TablePU(0.5, images="file", model="trees").fit(folder / "labels.csv", "known")


def test_a_folder_whose_columns_are_not_the_models_is_refused(model_dir, tmp_path):
    import hashlib
    import shutil

    copy = tmp_path / "m"
    shutil.copytree(model_dir, copy)
    config = json.loads((copy / "config.json").read_text())
    config["columns"][0]["kind"] = "id"
    (copy / "config.json").write_text(json.dumps(config))
    names = ("config.json", "model.safetensors")
    digests = [hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names]
    sums = [f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True)]
    (copy / "SHA256SUMS").write_text("".join(sums))
    with pytest.raises(InputError, match="not those of the model"):
        nnpu.load(copy)


def test_an_image_of_billions_of_pixels_is_refused_in_one_line(tmp_path):
    """60,000 x 60,000 pixels by its header, which alone is read: width and height lead IHDR."""
    stream = io.BytesIO()
    Image.new("L", (8, 8)).save(stream, "PNG")
    content = stream.getvalue()
    header = b"IHDR" + struct.pack(">II", 60_000, 60_000) + content[24:29]
    crc = struct.pack(">I", zlib.crc32(header))
    (tmp_path / "big.png").write_bytes(content[:12] + header + crc + content[33:])
    with pytest.raises(InputError, match=r"big\.png is not an image that can be read"):
        ImagePU(prior=0.5).fit([tmp_path / "big.png"] * 4, [1, 1, 0, 0])


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_png_gives_back_its_pixels(channels):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    back = np.asarray(Image.open(io.BytesIO(png(image)))).reshape(5, 7, channels)
    assert np.array_equal(back, image)


def test_the_page_of_arrays_shows_the_images_with_the_highest_and_lowest_scores():
    images, s = bar_images(120), (np.arange(120) % 4 == 0).astype(int)
    clf = ImagePU(0.5, sampling="one-sample", epochs=4, random_state=0).fit(images / 255, s)
    text = report.page(clf, images / 255, s)._repr_html_()
    assert text.count("data:image/png;base64,") == 24
    shown = clf.pixels(images / 255, np.array([3, 0]))
    assert np.array_equal(shown[..., 0], images[[3, 0]])  # floats of [0, 1] as bytes


def test_the_prior_of_images_is_left_to_a_fit(folder):
    with pytest.raises(InputError, match=r"not images.*classifier_\.prior_estimate_"):
        TablePU(images="file").estimate_prior(folder / "labels.csv", "known")
