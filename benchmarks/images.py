"""`ImagePU` on MNIST, even against odd digits, and on CIFAR-10: docs/lab/images.md.

    python benchmarks/images.py [--settings known estimated few] [--samplings 5]
    python benchmarks/images.py --settings cifar10 --samplings 1

known: 1,000 P, U = 60,000 (P is inside U, as in the paper), the true prior. estimated: the same
data with prior="auto". few: 100 P and 59,900 other images as U, the true prior. cifar10: the
paper's split, vehicles against animals, 1,000 P inside U = 50,000, the true prior, moved and
mirrored images (augment=["crop", "flip"]). Nothing is chosen by a true label: the test set is
looked at once, after the fit. The recipe was chosen on sampling 0 of MNIST, which is left out. A
sampling that is in the table is not run again, and one that was interrupted goes on from its
checkpoint.

    python benchmarks/images.py --speed

prints what a training step of the loop costs, as a multiple of a bare forward and backward pass.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

import nnpu_paper
from nnpu import ImagePU, data
from nnpu.data.rows import as_rows
from nnpu.estimators.image_network import ConvNet, augmentation
from nnpu.objective import Objective
from nnpu.training import TrainingSample, train
from nnpu_paper.results import read_results, write_results

SETTINGS = ("known", "estimated", "few")


def images_of(x):
    shape = x.shape[1:] if x.ndim == 4 else (28, 28)
    return np.rint(np.asarray(x).reshape(-1, *shape) * 255).astype(np.uint8)


def named(setting, epochs=None, minutes=None):
    ending = "" if epochs is None else f"-{epochs}"
    return setting + ending + ("" if minutes is None else f"-{minutes:g}-minutes")


def run(setting, seed, folder, epochs=None, minutes=None):
    name = named(setting, epochs, minutes)
    colour = setting == "cifar10"
    d = nnpu_paper.load("cifar10" if colour else "mnist")
    few = setting == "few"
    sample = data.sample_pu(d, 100 if few else 1_000, disjoint=few, random_state=seed)
    x = images_of(sample.x)[sample.index]
    prior = "auto" if setting == "estimated" else sample.prior
    begin, cpu = time.perf_counter(), time.process_time()
    clf = ImagePU(
        prior,
        augment=["crop", "flip"] if colour else "auto",
        epochs="auto" if epochs is None else epochs,
        minutes=minutes,
        random_state=seed,
        checkpoint=folder / f"{name}-{seed}.partial",
        verbose=1,
    )
    clf.fit(x, sample.s)
    minutes = (time.perf_counter() - begin) / 60, (time.process_time() - cpu) / 60
    y = d.y_test == 1
    scores = clf.decision_function(images_of(d.x_test))
    return {
        "setting": name,
        "seed": seed,
        "error": float(np.mean((scores > clf.threshold_) != y)),
        "error_at_half": float(np.mean((clf.calibration_(scores) > 0.5) != y)),
        "prior": clf.prior_,
        "true_prior": sample.prior,
        "cpu_minutes": round(minutes[1], 2),
        "minutes": round(minutes[0], 2),
    }


def speed(n=20_480, batch=256):
    """Seconds per image of bare passes and of the loop, one after another, three times."""
    x = torch.from_numpy(np.random.default_rng(0).random((n, 1, 28, 28), np.float32))
    s = (torch.arange(n) % 60 == 0).to(torch.int8)
    ratios = []
    for _ in range(3):
        net = ConvNet((1, 28, 28)).train()
        begin = time.process_time()
        for part in x.split(batch):
            net.zero_grad()
            net(part).mean().backward()
        bare = time.process_time() - begin
        net = ConvNet((1, 28, 28), augment=augmentation("auto", 28, 28, "speed"))
        begin = time.process_time()
        sample = TrainingSample(as_rows(x), s)
        train(net, sample, Objective(0.5), epochs=1, batch_size=batch, optimizer="adamw")
        ratios.append((time.process_time() - begin) / bare)
    print(f"step of the loop / bare forward and backward pass: {np.round(ratios, 2)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--settings", nargs="+", default=list(SETTINGS), choices=(*SETTINGS, "cifar10")
    )
    parser.add_argument("--samplings", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="0 was used to choose the recipe")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/images.csv"))
    parser.add_argument("--epochs", type=int, help="of each network; part of the setting's name")
    parser.add_argument("--minutes", type=float, help="of each fit; part of the setting's name")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    if options.speed:
        speed()
        return
    rows = read_results(options.out) if options.out.exists() else []
    budget = options.epochs, options.minutes
    for seed in range(options.first, options.first + options.samplings):
        for setting in options.settings:
            done = {(row["setting"], int(row["seed"])) for row in rows}
            if (named(setting, *budget), seed) in done:
                continue
            rows.append(run(setting, seed, options.out.parent, *budget))
            write_results(options.out, rows)
            print(rows[-1], flush=True)
    for setting in options.settings:
        errors = [float(row["error"]) for row in rows if row["setting"] == named(setting, *budget)]
        if errors:
            print(f"{setting}: error {np.mean(errors):.4f} of {len(errors)} samplings")


if __name__ == "__main__":
    main()
