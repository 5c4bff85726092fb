"""The generated stand-in for epsilon: its files, and that they go the way of the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from nnpu.parameters import InputError
from nnpu_paper import generated
from nnpu_paper.cli import main
from nnpu_paper.epsilon import EpsilonSpec, load_epsilon, parse_block
from nnpu_paper.experiments import FIGURE_2
from nnpu_paper.generated import GENERATED, generate_epsilon, measure_epsilon

SPEC = EpsilonSpec(n_train=1_500, n_test=300, n_features=20)


def test_the_files_have_epsilons_format_and_rows_of_length_1(tmp_path):
    bundle = generate_epsilon(tmp_path, SPEC)
    for file, rows in zip(bundle.files, (1_500, 300), strict=True):
        text = (tmp_path / file.name).read_bytes()
        x, y = parse_block(text, 20)
        assert x.shape == (rows, 20)
        assert np.linalg.norm(x, axis=1) == pytest.approx(1, abs=1e-5)
        assert text.startswith((b"+1 1:", b"-1 1:"))
        assert abs(np.mean(y == 1) - 0.5) < 0.1


def test_the_classes_differ_by_the_distance_of_their_means(tmp_path):
    """Two unit normal classes at a distance of 2 are told apart with an error of Φ(−1) = .159.

    Scaling a row to length 1 keeps the side of a plane through the origin. A plane through means
    estimated from 1,500 rows of 20 features adds about a point.
    """
    bundle = generate_epsilon(tmp_path, SPEC)
    (x, y), (x_test, y_test) = (
        parse_block((tmp_path / file.name).read_bytes(), 20) for file in bundle.files
    )
    normal = x[y == 1].mean(axis=0) - x[y == -1].mean(axis=0)
    error = np.mean((x_test @ normal > 0) != (y_test > 0))
    assert error == pytest.approx(0.165, abs=0.06)  # three standard errors of 300 rows


def test_the_same_seed_gives_the_same_files_and_another_others(tmp_path):
    sums = []
    for number, seed in enumerate((0, 0, 1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        sums.append([file.sha256 for file in generate_epsilon(folder, SPEC, seed=seed).files])
    assert sums[0] == sums[1]
    assert not set(sums[0]) & set(sums[2])
    assert sums[0][0] != sums[0][1]


def test_a_damaged_file_is_refused_and_the_data_set_is_called_generated(tmp_path):
    bundle = generate_epsilon(tmp_path, SPEC)
    where = {"spec": SPEC, "bundles": (bundle,), "name": "epsilon-generated", "cache": tmp_path}
    data = load_epsilon(folder=tmp_path, download=False, **where)
    assert data.name == "epsilon-generated"
    assert "Pascal" not in data.description
    assert data.x_train.shape == (1_500, 20)
    (tmp_path / "epsilon-generated" / "converted.json").unlink()
    with (tmp_path / "epsilon_generated").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(InputError, match="epsilon_generated is damaged"):
        load_epsilon(folder=tmp_path, download=False, **where)


def test_the_setting_is_epsilons_under_another_name():
    (epsilon,) = [setting for setting in FIGURE_2 if setting.name == "epsilon"]
    kept = ("model", "n_p", "n_u", "n_n", "optimizer", "lr", "weight_decay", "batch_size")
    assert [getattr(GENERATED, k) for k in kept] == [getattr(epsilon, k) for k in kept]
    assert all("generated" in text for text in (GENERATED.name, GENERATED.title, GENERATED.dataset))


def test_every_phase_is_timed_and_printed_and_nothing_is_left(tmp_path, cache, capsys, monkeypatch):
    phases = []

    def narrow(n_rows):
        phases.extend(measure_epsilon(n_rows, 8, folder=tmp_path))
        return phases

    monkeypatch.setattr(generated, "measure_epsilon", narrow)
    main(["bench", "epsilon", "--rows", "4000"])
    names = ["generate the text", "convert the text"]
    names += [f"{method}, 1 epoch" for method in ("PN", "uPU", "nnPU")]
    assert [phase["what"] for phase in phases] == names
    assert all(phase["rows_per_second"] > 0 for phase in phases[:2])
    assert all(phase["cpu_seconds"] > 0 for phase in phases)
    assert phases[-1]["resident_mb"] >= phases[0]["resident_mb"] > 1
    assert list(tmp_path.iterdir()) == []
    assert not list(cache.glob("epsilon*"))
    said = capsys.readouterr().out
    assert [line[:42].rstrip() for line in said.splitlines()[1:6]] == names
    assert "The data are generated." in said
