"""`ImagePU`: forms of images, refusals, model folders, resuming, the same bits again."""

from __future__ import annotations

import builtins
import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

import nnpu
from nnpu import ImagePU
from nnpu.calibration import positive_share, soft_labels
from nnpu.data.rows import as_rows
from nnpu.estimators import image_network as network
from nnpu.estimators import images as images_module
from nnpu.estimators.image_rows import ImageFormat, equal_images, open_images
from nnpu.estimators.images import ImageFolds, Stages, _Targets, seconds_an_image
from nnpu.parameters import InputError, ParameterError

EPOCHS = 4


def bars(n, seed=0):
    """Noise of 8 x 8 pixels; the first third of the images has a bar across."""
    images = np.random.default_rng(seed).integers(0, 60, (n, 8, 8), dtype=np.uint8)
    images[: n // 3, 2:6, 3:5] += 150
    return images


@pytest.fixture(scope="module")
def sample():
    """80 labelled and 160 unlabelled images, 40 of which have a bar."""
    images = bars(360)
    return images[:240], np.r_[np.ones(80), np.zeros(160)]


@pytest.fixture(scope="module")
def fitted(sample):
    return ImagePU(0.25, epochs=EPOCHS, random_state=0).fit(*sample)


# What it learns.


@pytest.fixture(scope="module")
def mixed():
    """60 labelled bars, and 180 unlabelled images of which 60 have one."""
    images = bars(360, seed=1)
    chosen = np.r_[0:120, 120:240]
    return images[chosen], np.r_[np.ones(60), np.zeros(180)], np.repeat([1, 0], [120, 120])


def test_it_tells_images_with_a_bar_from_those_without(mixed):
    images, s, _ = mixed
    clf = ImagePU(1 / 3, epochs=8, random_state=0).fit(images, s)
    test = bars(300, seed=2)
    assert np.mean(clf.predict(test) == np.repeat([1, 0], [100, 200])) > 0.97
    flagged = clf.predict(images[s == 0]).mean()
    assert flagged == pytest.approx(1 / 3, abs=0.01)  # the cut is at the prior
    assert clf.predict_proba(images).shape == (240, 2)
    assert clf.score(images, s) > 0.95


def test_held_out_images_calibrate_the_probabilities(mixed):
    images, s, _ = mixed
    clf = ImagePU(1 / 3, epochs=6, random_state=0).fit(images, s)
    assert (clf.calibration_.slope, clf.calibration_.intercept) != (1.0, 0.0)
    assert clf.predict_proba(images[s == 0])[:, 1].mean() == pytest.approx(1 / 3, abs=0.15)


def test_the_prior_is_estimated_where_none_is_given(mixed):
    images, s, _ = mixed
    clf = ImagePU(epochs=8, random_state=0).fit(images, s)
    assert clf.prior_ == clf.prior_estimate_.value
    assert clf.prior_ == pytest.approx(1 / 3, abs=0.1)
    assert {row["stage"] for row in clf.history_} == {0, 1, 2, 3}
    likely = clf.predict_proba(images)[:, 1] > 0.5  # an estimate cuts at one half
    assert np.array_equal(clf.predict(images) == 1, likely)


def test_directions_are_principal_components_of_what_the_last_layer_is_given(fitted, sample):
    """With as many as there are images, all inner products are kept, up to one scale."""
    images = sample[0][70:90]
    found = fitted.directions(images)
    assert found.shape == (20, 20)
    assert found.var(axis=0).mean() == pytest.approx(1, rel=1e-4)
    rows = torch.tensor(images[:, None], dtype=torch.float32)
    with torch.inference_mode():
        seen = fitted.module_.features(rows).double().numpy()
    seen -= seen.mean(axis=0)
    there, here = seen @ seen.T, found @ found.T
    assert np.allclose(here / np.trace(here), there / np.trace(there), atol=1e-5)
    assert fitted.directions(sample[0]).shape == (240, 32)


def test_one_sample_labels_as_many_unlabelled_images_as_are_left(mixed):
    images, s, _ = mixed  # 120 of 240 are positive, 60 of them labelled: 60 of 180 are left
    clf = ImagePU(0.5, sampling="one-sample", epochs=8, random_state=0).fit(images, s)
    assert clf.predict(images[s == 0]).mean() == pytest.approx(1 / 3, abs=0.01)
    assert positive_share(0.5, (s == 1).astype(np.int8), "one-sample") == pytest.approx(1 / 3)


def test_known_negatives_are_used(mixed):
    images, s, truth = mixed
    s = np.where(truth == 1, s, -1)
    s[130:] = 0
    clf = ImagePU(1 / 3, epochs=2, random_state=0).fit(images, s.astype(int))
    assert list(clf.classes_) == [-1, 1]


# Forms of images.


@pytest.mark.parametrize("shape", [(6, 9, 7), (6, 9, 7, 3), (6, 4, 9, 7), (6, 9, 7, 1)])
def test_every_layout_becomes_channels_first(shape):
    images = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    rows, found = open_images(images, "ImagePU")
    taken = rows.take(torch.tensor([4, 2]))
    expected = images[[4, 2]]
    if len(shape) == 3:
        expected = expected[:, None]
    elif shape[3] in (1, 3):
        expected = np.moveaxis(expected, 3, 1)
    assert taken.dtype == torch.float32
    assert np.array_equal(taken.numpy(), expected)
    assert found.shape == tuple(taken.shape[1:]) == rows.shape[1:]
    assert found.kind == "bytes"


def test_layouts_and_containers_of_one_image_set_give_the_same_scores(fitted, sample, tmp_path):
    images = sample[0][:20]
    expected = fitted.decision_function(images)
    np.save(tmp_path / "images.npy", images)
    for same in (
        images[..., None],
        images[:, None],
        torch.from_numpy(images),
        np.load(tmp_path / "images.npy", mmap_mode="r"),
        images.tolist() and list(images),
    ):
        assert np.array_equal(fitted.decision_function(same), expected)


def write_files(folder, images, mode="L"):
    folder.mkdir()
    paths = [folder / f"{number:03}.png" for number in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).convert(mode).save(path)
    return paths


def test_files_give_the_bits_of_the_array_they_hold(sample, fitted, tmp_path):
    images, s = sample
    paths = write_files(tmp_path / "images", images)
    from_files = ImagePU(0.25, epochs=EPOCHS, random_state=0).fit(tmp_path / "images", s)
    expected = fitted.decision_function(images)
    for form in (tmp_path / "images", str(tmp_path / "images"), paths, [str(p) for p in paths]):
        assert np.array_equal(from_files.decision_function(form), expected)


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_files_are_read_once_if_they_have_room_in_memory(room, tmp_path, monkeypatch):
    monkeypatch.setattr("nnpu.estimators.image_rows._KEPT", room)
    paths = write_files(tmp_path / "images", bars(5))
    rows, _ = open_images(paths, "ImagePU")
    first = rows.take(torch.tensor([3, 1]))
    paths[3].unlink()
    if room:
        assert torch.equal(rows.take(torch.tensor([1, 3])), first.flip(0))
    else:
        with pytest.raises(InputError, match=r"003\.png does not exist"):
            rows.take(torch.tensor([1, 3]))


@pytest.mark.parametrize(
    ("mode", "channels"), [("L", 1), ("1", 1), ("RGB", 3), ("P", 3), ("RGBA", 4)]
)
def test_files_of_every_common_mode_are_read(mode, channels, tmp_path):
    write_files(tmp_path / "a", bars(3), mode)
    rows, found = open_images(tmp_path / "a", "ImagePU")
    assert found.shape == (channels, 8, 8)
    assert rows.take(torch.tensor([0, 2])).shape == (2, channels, 8, 8)


def test_files_are_resized_on_request_only(tmp_path):
    paths = write_files(tmp_path / "a", bars(3))
    Image.fromarray(np.zeros((10, 12), np.uint8)).save(paths[1])
    with pytest.raises(InputError, match=r"10 x 12 pixels and .* has 8 x 8: resize them, or pass"):
        open_images(tmp_path / "a", "ImagePU")
    assert open_images(tmp_path / "a", "ImagePU", size=(9, 7))[0].shape == (3, 1, 9, 7)


# Refusals.


def float_images(low, high, n=6):
    return np.random.default_rng(0).uniform(low, high, (n, 8, 8))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((5, 8), np.uint8), r"shape \(n, h, w\), .* Got \(5, 8\)"),
        (np.zeros((5, 8, 8, 8, 1), np.uint8), "Got"),
        (np.zeros((5, 8, 8, 2), np.uint8), "c = 1, 3 or 4"),
        (np.zeros((5, 3, 8, 3), np.uint8), "cannot tell which axis"),
        (np.zeros((5, 8, 4), np.uint8), "at least 5 x 5 pixels"),
        (np.zeros((5, 4, 4, 3), np.uint8), "cannot tell which axis"),
        (np.zeros((5, 1, 9, 2), np.uint8), "at least 5 x 5 pixels"),
        (np.zeros((0, 8, 8), np.uint8), "at least one image"),
        (np.zeros((5, 8, 8), np.int64), "bytes .* or floats. Got int64"),
        (np.full((5, 8, 8), np.nan), "contains NaN"),
        ([np.zeros((8, 8)), np.zeros((9, 9))], "images of one size"),
        ("/no/such/folder", "not a folder of images"),
        (["/no/such/file.png"], "does not exist"),
    ],
)
def test_what_are_no_images_is_refused(images, message):
    with pytest.raises(InputError, match=message):
        ImagePU(0.3).fit(images, [1, 1, 0, 0, 0])


def test_tables_on_disk_are_refused(tmp_path):
    from nnpu.data.rows import as_rows

    with pytest.raises(InputError, match="Got DenseRows"):
        open_images(as_rows(np.zeros((3, 8))), "ImagePU")


def test_files_that_are_no_images_are_refused_by_name(tmp_path):
    paths = write_files(tmp_path / "a", bars(3))
    paths[1].write_bytes(b"no image")
    with pytest.raises(InputError, match=r"001\.png is not an image"):
        open_images(paths, "ImagePU")
    Image.fromarray(np.zeros((8, 8), np.uint16)).save(paths[1])
    with pytest.raises(InputError, match=r"001\.png has pixels of mode"):
        open_images(paths, "ImagePU")
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(paths[1])
    with pytest.raises(InputError, match=r"001\.png is RGB and .*000\.png is L"):
        open_images(paths, "ImagePU")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no images"):
        open_images(tmp_path / "empty", "ImagePU")


def test_a_file_cut_short_is_an_error_when_it_is_read(tmp_path):
    paths = write_files(tmp_path / "a", bars(3))
    paths[1].write_bytes(paths[1].read_bytes()[:60])
    rows, _ = open_images(paths, "ImagePU")
    with pytest.raises(InputError, match=r"001\.png is damaged"):
        rows.take(torch.tensor([1]))


def test_files_without_pillow_name_the_extra(monkeypatch, tmp_path):
    paths = write_files(tmp_path / "a", bars(3))
    real = builtins.__import__
    import importlib

    def missing(name, *rest):
        if name.startswith("PIL"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"nnpu\[images\]"):
        open_images(paths, "ImagePU")


@pytest.mark.parametrize(
    ("fit", "predict", "message"),
    [
        ((0, 1), (0, 255), r"outside \[0, 1\]"),
        ((0, 255), (0, 1), r"all within \[0, 1\]"),
        ((-1, 1), (0, 1), "without one below 0"),
        ((-1, 1), (-3, 3), r"outside \[-1, 1\]"),
        ((-2, 3), (-2, 30), "outside"),
        ((0, 1), (0, 1 / 255), "less than a 200th"),
        ((0, 1 / 255), (0, 1), "outside"),
        ((0, 2), (0, 255), "outside"),
        ((0, 4095), (0, 1), "less than a 200th"),
    ],
)
def test_floats_on_another_scale_are_refused(fit, predict, message):
    fitted = open_images(float_images(*fit), "ImagePU")[1]
    with pytest.raises(InputError, match=message):
        open_images(float_images(*predict), "ImagePU", fitted=fitted)


def test_images_that_may_be_dim_or_on_another_scale_are_warned_of():
    """Twelve bits in the fit, eight now: a sixteenth of the range, as a dim batch may have."""
    fitted = open_images(float_images(0, 4095), "ImagePU")[1]
    with pytest.warns(UserWarning, match="those of the fit from .* on another scale"):
        open_images(float_images(0, 255), "ImagePU", fitted=fitted)


@pytest.mark.parametrize("scale", [(0, 1), (0, 255), (-1, 1), (-2, 3)])
def test_floats_on_the_scale_of_fit_are_taken(scale):
    fitted = open_images(float_images(*scale), "ImagePU")[1]
    open_images(float_images(*scale, n=2).astype(np.float32), "ImagePU", fitted=fitted)
    if scale == (0, 255):  # a black image has no scale
        open_images(np.zeros((1, 8, 8)), "ImagePU", fitted=fitted)


def test_a_dark_image_of_two_values_is_on_the_scale_of_fit():
    fitted = open_images(float_images(0, 1), "ImagePU")[1]
    dark = np.zeros((1, 8, 8))
    dark[0, 3, 3] = 1 / 255  # the least step of a byte
    open_images(dark, "ImagePU", fitted=fitted)


def test_a_white_image_in_the_fit_does_not_hide_another_scale():
    images = float_images(-1, 1)
    images[0] = 1.0
    fitted = open_images(images, "ImagePU")[1]
    assert not fitted.signed
    with pytest.raises(InputError, match=r"without one below 0, as .* % of the images had"):
        open_images(float_images(0, 1), "ImagePU", fitted=fitted)
    open_images(images[:1], "ImagePU", fitted=fitted)


def test_another_type_or_shape_at_predict_is_refused(fitted, sample):
    images = sample[0][:4]
    with pytest.raises(InputError, match=r"fitted to images of bytes\. Got floats"):
        fitted.predict(images / 255)
    with pytest.raises(InputError, match=r"8 x 8 pixels and 1 channel.* Got 9 x 8"):
        fitted.predict(np.zeros((2, 9, 8), np.uint8))
    with pytest.raises(InputError, match="3 channel"):
        fitted.predict(np.zeros((2, 8, 8, 3), np.uint8))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior": 2}, "'prior'"),
        ({"prior": "none"}, "'prior'"),
        ({"sampling": "three"}, "'sampling'"),
        ({"augment": "rotate"}, "'augment' .*'auto', a callable, None"),
        ({"augment": []}, "'augment'"),
        ({"augment": 3}, "'augment'"),
        ({"epochs": 0}, "'epochs'"),
        ({"epochs": "many"}, "'epochs'"),
        ({"minutes": 0}, "'minutes'"),
        ({"minutes": "an hour"}, "'minutes'"),
        ({"minutes": 5, "epochs": 3}, "'epochs' .*'auto' if 'minutes' is given"),
        ({"size": 8}, "'size'"),
        ({"size": (8, 0)}, "'size'"),
        ({"checkpoint": 3}, "'checkpoint'"),
        ({"verbose": -1}, "'verbose'"),
    ],
)
def test_bad_parameters_are_refused_before_any_work(parameters, message, sample):
    with pytest.raises(ParameterError, match=message):
        ImagePU(**({"prior": 0.3} | parameters)).fit(*sample)


def test_too_few_labelled_images_are_refused(sample):
    images, s = sample
    with pytest.raises(InputError, match="at least 4 labelled"):
        ImagePU(0.3).fit(images, np.r_[np.ones(3), np.zeros(237)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ImagePU(0.3).fit(images, s[:-1])


def test_copies_of_few_images_are_learned_from_and_of_one_refused(sample):
    images, _ = sample
    with pytest.warns(UserWarning, match="could not calibrate"):  # one image was held out
        ImagePU(0.3, epochs=1, random_state=0).fit(images[[0, 239] * 40], np.repeat([1, 0], 40))
    with pytest.raises(InputError, match="images that differ"):
        ImagePU(0.3).fit(images[[0] * 40], np.repeat([1, 0], 20))


def test_minutes_choose_network_and_passes(sample, monkeypatch, tmp_path):
    """A clock that says what an image costs: the residual network only if there is time for it."""
    costs = iter([1e-3, 4e-3, 1e-3, 4e-3])
    monkeypatch.setattr(images_module, "seconds_an_image", lambda *_: next(costs))
    images, s = sample
    plenty = ImagePU(0.3, minutes=0.6, random_state=0).fit(images, s)  # 36 s, 0.96 s a pass
    assert plenty.module_.residual
    # 31.9 passes of all images are e/2 + e + 0.6 · 3e/2 of nine tenths of them: e = 14.
    passes = [sum(row["stage"] == stage for row in plenty.history_) for stage in (2, 3, 4)]
    assert passes == [7, 14, 21]
    plenty.save(tmp_path / "m")
    again = nnpu.load(tmp_path / "m")
    assert again.module_.residual
    np.testing.assert_array_equal(again.decision_function(images), plenty.decision_function(images))
    few = ImagePU(0.3, minutes=0.03, random_state=0).fit(images, s)
    assert not few.module_.residual
    assert len(few.history_) == 2 * 3


def test_a_resumed_fit_keeps_the_passes_that_its_minutes_gave(sample, tmp_path, monkeypatch):
    images, s = sample
    folder = tmp_path / "checkpoints"
    plan = {"batch_size": 32, "apart": 1, "first": 2, "second": 2, "residual": False}
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan))
    clf = ImagePU(0.3, minutes=60, checkpoint=folder, random_state=0).fit(images, s)
    assert len(clf.history_) == 4
    assert not folder.exists()
    folder.mkdir()
    (folder / "plan.json").write_text('{"first": 0}')
    with pytest.raises(InputError, match=r"plan\.json is damaged"):
        ImagePU(0.3, minutes=60, checkpoint=folder, random_state=0).fit(images, s)
    assert (folder / "plan.json").exists()


@pytest.mark.parametrize("residual", [True, False])
def test_a_plan_is_read_as_it_was_written(residual, sample, tmp_path, monkeypatch):
    """Of the small network too, which has no pretext."""
    monkeypatch.setattr(images_module, "seconds_an_image", lambda *_: 1e-6 if residual else 1.0)
    monkeypatch.setattr(images_module.Stages, "pretext", lambda _: 1 / 0)
    clf = ImagePU(0.3, minutes=0.01, checkpoint=tmp_path, random_state=0)
    with pytest.raises(ZeroDivisionError):
        clf.fit(*sample)
    plan, larger = images_module.read_plan(tmp_path / "plan.json")
    assert larger == residual
    assert (plan.pretext > 0) == residual


def test_an_image_costs_time(sample):
    cost = seconds_an_image(network.ConvNet((1, 8, 8)), as_rows(torch.rand(40, 1, 8, 8)), 32)
    assert cost > 0


def test_an_augmentation_that_changes_the_shape_is_refused(sample):
    with pytest.raises(InputError, match="keeps the shape"):
        ImagePU(0.3, augment=lambda batch: batch[:, :, 1:]).fit(*sample)


# Augmentation.


def test_a_shift_moves_each_image_as_a_whole():
    torch.manual_seed(0)
    images = torch.arange(64.0).view(1, 1, 8, 8).expand(200, -1, -1, -1)
    moved = network.shift(images, 2)
    # Inside, image = 8 row + column: a shift by (a, b) adds 8 a + b to every pixel.
    steps = (moved - images)[:, 0, 2:6, 2:6].flatten(1)
    assert (steps == steps[:, :1]).all()
    expected = {8 * a + b for a in range(-2, 3) for b in range(-2, 3)}
    assert set(steps[:, 0].tolist()) == expected
    assert moved[:, 0, 0, 0].min() == 0  # the border is repeated, not made up


def test_a_flip_mirrors_about_half_of_the_images():
    torch.manual_seed(0)
    images = torch.rand(400, 1, 5, 6)
    flipped = network.flip(images)
    same = (flipped == images).flatten(1).all(1)
    assert ((flipped == images.flip(3)).flatten(1).all(1) ^ same).all()
    assert 150 < int(same.sum()) < 250


def test_a_score_is_the_mean_over_views_where_training_moves_images(fitted, sample, tmp_path):
    images = torch.from_numpy(sample[0][:9]).float().unsqueeze(1)
    net = fitted.module_
    mean = torch.stack([net._scores(view) for view in network.views(images)]).mean(0)
    assert torch.equal(net(images), mean)
    still = ImagePU(0.25, augment="flip", epochs=1, random_state=0).fit(*sample)
    again = nnpu.load(still.save(tmp_path / "model"))
    for clf in (still, again):
        assert torch.equal(clf.module_(images), clf.module_._scores(images))


def test_views_are_the_image_and_its_neighbours():
    image = torch.arange(16.0).view(1, 1, 4, 4)
    inside = [view[0, 0, 1, 1].item() for view in network.views(image)]
    assert inside == [5, 1, 9, 4, 6]  # itself, above, below, left, right


def test_every_fourth_image_is_upright_and_the_others_are_turned(monkeypatch):
    """The network sees squares of six pixels, turned by 0, 90, 180 and 270 degrees."""
    torch.manual_seed(0)
    net = network.ConvNet((2, 8, 11), residual=True)
    task, images, seen = network.Upright(net), torch.rand(6, 2, 8, 11), []
    real = net.features
    monkeypatch.setattr(net, "features", lambda batch: (seen.append(batch), real(batch))[1])
    task(images)
    squares = images.unfold(2, 6, 1).unfold(3, 6, 1)  # (n, c, place down, place right, 6, 6)
    back = torch.stack([image.rot90(-number, (1, 2)) for number, image in enumerate(seen[0])])
    same = (squares == back[:, :, None, None]).flatten(4).all(4).all(1).all(0)
    assert same.sum() == 1  # one place, for all images of the batch


def test_telling_turns_apart_costs_the_logarithm_of_four_without_knowledge():
    net = network.ConvNet((1, 8, 8), residual=True)
    task = network.Upright(net)
    torch.nn.init.zeros_(task.turns.weight), torch.nn.init.zeros_(task.turns.bias)
    losses = task(torch.rand(5, 1, 8, 8))
    assert torch.allclose(losses, torch.full((5,), np.log(4.0)))
    losses.sum().backward()
    assert net.layers[-1].weight.grad is None
    assert task.turns.weight.grad.abs().sum() > 0


def test_unsure_labels_have_no_weight():
    """Labels 1, 0, 1/2: the mean of ℓ(g₁) and ℓ(−g₂), whatever g₃ is."""
    scores, labels = torch.tensor([0.3, -1.0, 40.0]), torch.tensor([1.0, 0.0, 0.5])
    risk = _Targets(0.5, loss="logistic").terms(scores, labels).risk
    expected = (np.log1p(np.exp(-0.3)) + np.log1p(np.exp(-1.0))) / 2
    assert float(risk) == pytest.approx(expected, rel=1e-6)


def test_augmentation_is_for_training_only(fitted, sample):
    assert fitted.module_.augment is not None
    images = torch.from_numpy(sample[0][:9]).float().unsqueeze(1)
    assert torch.equal(fitted.module_(images), fitted.module_(images))


@pytest.mark.parametrize("augment", [None, "flip", ["crop", "flip"], torch.clone])
def test_augmentations_are_taken_by_name_list_or_callable(augment, sample):
    clf = ImagePU(0.25, augment=augment, epochs=1, random_state=0).fit(*sample)
    assert np.isfinite(clf.decision_function(sample[0])).all()


# The stages.


def test_equal_images_are_learned_from_or_held_out_together():
    images = bars(60)
    images[50] = images[0]  # a positive that is also in U
    codes = np.r_[np.ones(12), np.zeros(48)].astype(np.int8)
    folds = ImageFolds(open_images(images, "ImagePU")[0], codes, seed=0)
    assert folds.fold[0] == folds.fold[50]
    assert set(codes[folds.held_out]) == {0, 1}
    first, second = folds.halves()
    assert not (first & second).any()
    assert (first | second)[codes == 0].all()  # all of U is scored
    assert 2 <= (first | second)[codes == 1].sum() <= 6  # two fifths of P


def test_no_network_learns_from_what_it_scores(sample, monkeypatch):
    images, s = sample
    seen, scored = [], []
    real = Stages._network

    def noted(self, name, training, *rest):
        seen.append((name, set(training.index.tolist())))
        return real(self, name, training, *rest)

    real_score = Stages._score

    def noted_score(self, net, chosen):
        scored.append((seen[-1], set(np.flatnonzero(chosen).tolist())))
        return real_score(self, net, chosen)

    monkeypatch.setattr(Stages, "_network", noted)
    monkeypatch.setattr(Stages, "_score", noted_score)
    ImagePU(epochs=1, random_state=0).fit(images, s)
    names = [name for name, _ in seen]
    assert names == ["apart-0", "apart-1", "half-0", "half-1", "first", "second"]
    assert len(scored) == 5
    assert all(learned.isdisjoint(chosen) for (_, learned), chosen in scored)
    held_out = scored[-1][1]
    assert all(learned.isdisjoint(held_out) for name, learned in seen[4:])


def timed(folder):
    """A fit of the larger network, whose plan is in the folder already."""
    folder.mkdir()
    plan = {"batch_size": 32, "apart": 1, "first": 1, "second": 1, "pretext": 2, "residual": True}
    (folder / "plan.json").write_text(json.dumps(plan))
    return ImagePU(0.25, minutes=60, checkpoint=folder, random_state=0)


def test_all_networks_start_from_the_one_that_knows_which_way_up_images_are(
    sample, tmp_path, monkeypatch
):
    seen = []
    real = images_module.train

    def noted(net, training, *rest, **options):
        if not isinstance(net, network.Upright):
            seen.append({name: value.clone() for name, value in net.state_dict().items()})
        trained = real(net, training, *rest, **options)
        if isinstance(net, network.Upright):
            held = set(np.flatnonzero(training.s.numpy() >= 0)) - set(training.index.tolist())
            assert len(held) == 24  # the images of the calibration
        return trained

    monkeypatch.setattr(images_module, "train", noted)
    started = []
    real_new = Stages._new
    monkeypatch.setattr(
        Stages, "_new", lambda self, name: (started.append(self.start), real_new(self, name))[1]
    )
    timed(tmp_path / "partial").fit(*sample)
    assert len(seen) == 2
    assert started[0] is None
    assert started[1] is started[2]
    upright = started[1].state_dict()
    last = f"layers.{len(started[1].layers) - 1}."
    for weights in seen:
        for name, value in weights.items():
            assert name.startswith(last) or torch.equal(value, upright[name])
    assert not torch.equal(seen[0][last + "weight"], seen[1][last + "weight"])


def test_a_fit_stopped_after_the_pretext_ends_in_the_same_bits(sample, tmp_path, monkeypatch):
    expected = timed(tmp_path / "whole").fit(*sample)
    clf = timed(tmp_path / "stopped")

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Stages, "first", stop)
        with pytest.raises(KeyboardInterrupt):
            clf.fit(*sample)
    assert (tmp_path / "stopped" / "pretext").is_dir()
    resumed = clf.fit(*sample)
    same = (fit.decision_function(sample[0]) for fit in (expected, resumed))
    assert np.array_equal(*same)
    assert resumed.history_ == expected.history_
    assert not (tmp_path / "stopped").exists()


def test_equal_images_have_equal_numbers():
    images = bars(6)
    images[4] = images[1]
    assert equal_images(open_images(images, "ImagePU")[0]).tolist() == [0, 1, 2, 3, 1, 4]


@pytest.mark.parametrize("share", [0.01, 0.3, 0.95])
def test_soft_labels_have_the_share_as_mean_and_keep_the_order(share):
    scores = np.random.default_rng(0).normal(0, 30, 500).astype(np.float32)
    labels = soft_labels(scores, share)
    assert labels.mean() == pytest.approx(share, abs=1e-5)
    assert (np.diff(labels[np.argsort(scores)]) >= 0).all()


def test_batch_norm_is_measured_again_for_averaged_weights():
    torch.manual_seed(0)
    net = network.ConvNet((1, 8, 8))
    batches = [torch.rand(16, 1, 8, 8) + number for number in range(3)]
    network.refresh(net, batches)
    first = net.layers[0](torch.cat([(batch - net.mean) / net.scale for batch in batches]))
    expected = first.mean((0, 2, 3))  # equal batches: the mean of their means
    assert torch.allclose(net.layers[1].running_mean, expected, atol=1e-5)
    assert not net.training


@pytest.mark.parametrize("side", [5, 8, 28, 32, 65, 224])
def test_the_network_fits_the_size_of_the_images(side):
    net = network.ConvNet((3, side, side + 9))
    assert net(torch.zeros(2, 3, side, side + 9)).shape == (2, 1)
    assert net.layers[-1].in_features <= 4_096


def test_channels_are_standardised_by_their_own_statistics():
    images = np.random.default_rng(0).integers(0, 255, (40, 6, 7, 3), dtype=np.uint8)
    mean, scale = network.channel_scale(open_images(images, "ImagePU")[0])
    assert np.allclose(mean, images.mean((0, 1, 2)), atol=1e-3)
    assert np.allclose(scale, images.std((0, 1, 2)), atol=1e-3)


# The same bits again.


def test_the_same_seed_gives_the_same_bits(fitted, sample):
    again = ImagePU(0.25, epochs=EPOCHS, random_state=0).fit(*sample)
    assert np.array_equal(again.decision_function(sample[0]), fitted.decision_function(sample[0]))
    assert again.history_ == fitted.history_
    other = ImagePU(0.25, epochs=EPOCHS, random_state=1).fit(*sample)
    assert not np.array_equal(
        other.decision_function(sample[0]), fitted.decision_function(sample[0])
    )


def test_a_stopped_fit_goes_on_and_ends_in_the_same_bits(fitted, sample, tmp_path, monkeypatch):
    folder = tmp_path / "model.partial"
    clf = ImagePU(0.25, epochs=EPOCHS, random_state=0, checkpoint=folder)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Stages, "held_out", stop)
        with pytest.raises(KeyboardInterrupt):
            clf.fit(*sample)
    networks = ["first", "second"]
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == networks
    shutil.rmtree(folder / "second")  # as if it had been stopped before the last network
    steps = []
    real = network.ConvNet.forward
    with monkeypatch.context() as patch:
        patch.setattr(
            network.ConvNet,
            "forward",
            lambda self, images: (steps.append(self.training), real(self, images))[1],
        )
        resumed = clf.fit(*sample)
    assert np.array_equal(resumed.decision_function(sample[0]), fitted.decision_function(sample[0]))
    assert not folder.exists()
    one_pass = -(-216 // 32)  # batches of nine tenths of 240 images
    # One network learns; of both batch norm is measured again.
    assert sum(steps) == one_pass * (EPOCHS + 2)


def test_a_checkpoint_of_other_images_is_refused(sample, tmp_path, monkeypatch):
    images, s = sample
    clf = ImagePU(0.25, epochs=1, random_state=0, checkpoint=tmp_path / "partial")
    with monkeypatch.context() as patch:
        patch.setattr(Stages, "finish", lambda self: None)
        clf.fit(images, s)
    with pytest.raises(InputError, match="another run"):
        clf.fit(images[::-1].copy(), s)


def test_progress_names_the_cost_of_a_pass(sample, capsys):
    ImagePU(0.25, epochs=1, random_state=0, verbose=1).fit(*sample)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "s a pass over all images, about" in lines[0]


# Model folders.


def test_a_model_folder_gives_the_same_scores(fitted, sample, tmp_path):
    loaded = nnpu.load(fitted.save(tmp_path / "model"))
    assert type(loaded) is ImagePU
    for method in ("decision_function", "predict", "predict_proba"):
        mine, theirs = (getattr(clf, method)(sample[0]) for clf in (fitted, loaded))
        assert mine.tobytes() == theirs.tobytes()
    assert loaded.history_ == fitted.history_
    assert loaded.image_shape_ == (1, 8, 8)
    with pytest.raises(InputError, match="fitted to images of bytes"):
        loaded.predict(sample[0] / 255)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("height", 10**9),
        ("height", -1),
        ("kind", "words"),
        ("low", None),
        ("signed", 1),
        ("negative", 2),
    ],
)
def test_a_forged_format_is_refused(fitted, tmp_path, field, value):
    import hashlib

    folder = fitted.save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["fitted"]["images"][field] = value
    (folder / "config.json").write_text(json.dumps(config))
    names = ("config.json", "model.safetensors")
    digests = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names]
    sums = [f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True)]
    (folder / "SHA256SUMS").write_text("".join(sums))
    with pytest.raises(InputError):
        nnpu.load(folder)


def test_a_format_knows_its_limits():
    assert ImageFormat(1, 8, 8, "floats", 0.1, 0.9).limits() == (0.0, 1.0)
    assert ImageFormat(1, 8, 8, "floats", -0.1, 0.9).limits() == (-1.0, 1.0)
    assert ImageFormat(1, 8, 8, "floats", 0.0, 200.0).limits() == (0.0, 255.0)
    assert ImageFormat(1, 8, 8, "floats", -2.0, 2.0).limits() == (-4.0, 4.0)
