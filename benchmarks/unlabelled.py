r"""Ways to learn from unlabelled images, at equal cost: docs/lab/images.md.

    python benchmarks/unlabelled.py [--samplings 3]
    python benchmarks/unlabelled.py --unlabelled 60000 --images 720000 --samplings 1 \
        --methods vpu nnpu "second stage" --out benchmarks/results/unlabelled_full.csv

MNIST, even against odd, 1,000 P inside U = 20,000, the true prior. Every method gets the same
network, augmentation, optimiser and averaging, and 80,000 images to pass forward and backward (a
forward pass alone counts a third): a third of a CPU minute, far less than `ImagePU` takes. All
cut where a share of U as large as the prior scores more, so that they differ by their ranking
alone. Settings are those of the papers or a first guess: none was tuned, and no true label chooses
anything. The test images are looked at once, after the fit, and so is the PU risk of a tenth of
the images, which no network was fitted to. A run that is in the table is not run again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid, softplus
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import nnpu_paper
from nnpu import data, metrics
from nnpu.calibration import soft_labels
from nnpu.data.rows import as_rows
from nnpu.estimators.image_network import ConvNet, augmentation, refresh
from nnpu.estimators.images import ImageFolds
from nnpu.objective import Objective
from nnpu.training import BatchPlan, predict_scores
from nnpu.training.run_state import set_schedule
from nnpu_paper.results import read_results, write_results

N_P, N_U, BUDGET = 1_000, 20_000, 80_000
BATCH, POSITIVES, LR, DECAY = 256, 64, 3e-3, 5e-4
FIRST = 5 / 8  # of the budget, where there are two stages

#: The methods, and the one number that each leaves open.
SETTINGS = {
    "nnpu": 0.0,
    "second stage": 0.0,
    "mixup": 0.3,  # α of the Beta distribution
    "consistency": 1.0,  # weight of the difference between two views
    "vpu": 0.3,  # weight of the mixup term
    "dist-pu": 0.1,  # weight of the entropy
    "cvir": 0.25,  # share of the steps that tell P from all of U
}


def vpu(p, u):
    """Return log mean_U φ − mean_P log φ with φ = σ(g), for scores of P and U."""
    return torch.logsumexp(logsigmoid(u), 0) - np.log(len(u)) - logsigmoid(p).mean()


def dist_pu(p, u, prior, entropy=0.0):
    """Return 2π |mean_P σ(g) − 1| + |mean_U σ(g) − π| + weight · entropy of σ(g) on U."""
    q = u.sigmoid()
    spread = (q * softplus(-u) + (1 - q) * softplus(u)).mean()
    return 2 * prior * (1 - p.sigmoid().mean()) + (q.mean() - prior).abs() + entropy * spread


def kept_by_cvir(scores, prior):
    """Return which unlabelled images stay negatives: all but the share that scores highest."""
    kept = torch.ones(len(scores), dtype=torch.bool)
    kept[scores.argsort(descending=True)[: round(prior * len(scores))]] = False
    return kept


def soft_risk(scores, y):
    """Return the mean logistic loss of soft labels, weighted by |2y − 1|."""
    weight = (2 * y - 1).abs()
    return binary_cross_entropy_with_logits(scores, y, weight, reduction="sum") / weight.sum()


def balanced(p, u):
    """Return the logistic loss of telling P from U, both weighing the same."""
    return (softplus(-p).mean() + softplus(u).mean()) / 2


class Run:
    """One sampling: the images, and a way to fit a network to them by any step."""

    def __init__(self, mnist, seed, n_u=N_U, budget=BUDGET):
        sample = data.sample_pu(mnist, N_P, n_u, random_state=seed)
        self.x = torch.from_numpy(np.asarray(sample.x)[sample.index].reshape(-1, 1, 28, 28)).float()
        codes = np.asarray(sample.s, dtype=np.int8)
        self.rows, self.s = as_rows(self.x), torch.from_numpy(codes)
        self.held_out = torch.from_numpy(ImageFolds(self.rows, codes, seed).held_out)
        self.prior, self.seed, self.budget = sample.prior, seed, budget
        self.mean, self.scale = self.x.mean().view(1), self.x.std().view(1)
        self.first = None  # the first of two stages, which several methods share

    def part(self, code):
        return torch.nonzero((self.s == code) & ~self.held_out)[:, 0]

    def fit(self, step, groups, share=1.0, views=1.0, between=None):
        """Minimise step(network, rows, progress) on batches; `views` is what an image costs.

        `between` is called with the averaged network as often as a pass over all images is done.
        """
        torch.manual_seed(self.seed)
        net = ConvNet(
            (1, 28, 28), self.mean, self.scale, augmentation("auto", 28, 28, "unlabelled")
        )
        plan = BatchPlan(groups, BATCH, self.seed, POSITIVES if len(groups) > 1 else 1)
        size = float(np.mean([len(rows) for rows in plan.epoch(0)]))
        total = int(share * self.budget / (size * views))
        decay = float(np.clip(1 - 10 / total, 0.5, 0.99))
        averaged = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)
        optimizer = torch.optim.AdamW(net.parameters(), LR, weight_decay=DECAY)
        for number in range(total):
            epoch, place = divmod(number, len(plan))
            if place == 0:
                batches = plan.epoch(epoch)
                if between is not None and number:
                    between(averaged.module)
            net.train()
            set_schedule(optimizer, LR, "one-cycle", number / total)
            optimizer.zero_grad()
            step(net, batches[place], number / total).backward()
            optimizer.step()
            averaged.update_parameters(net)
        refresh(averaged.module, (self.x[rows] for rows in plan.epoch(0)[:20]))
        return averaged.module

    def scores(self, net, index):
        return predict_scores(net, self.rows, index=index)

    def pu(self, risk, **options):
        """Fit by a risk of (scores of P, scores of U, progress)."""

        def step(net, rows, progress):
            scores, of_p = net(self.x[rows])[:, 0], self.s[rows] == 1
            return risk(scores[of_p], scores[~of_p], progress)

        return self.fit(step, (self.part(1), self.part(0)), **options)

    def nnpu(self, share=1.0):
        """Algorithm 1; its first fifth with the logistic loss."""
        aims = [Objective(self.prior, loss=loss) for loss in ("logistic", "sigmoid")]

        def risk(p, u, progress):
            s = torch.cat([torch.ones(len(p)), torch.zeros(len(u))])
            return aims[progress >= 0.2].terms(torch.cat([p, u]), s).objective

        return self.pu(risk, share=share)

    def second(self, step, views=1.0):
        """A stage on soft labels of nnPU's network: step(net, images, labels)."""
        self.first = self.first or self.nnpu(FIRST)
        y = (self.s == 1).float()
        unlabelled = torch.nonzero(self.s == 0)[:, 0]
        scores = self.scores(self.first, unlabelled).numpy()
        y[unlabelled] = torch.from_numpy(soft_labels(scores, self.prior))
        scored = len(unlabelled) / 3 / self.budget
        index = torch.nonzero(~self.held_out)[:, 0]
        return self.fit(
            lambda net, rows, _: step(net, self.x[rows], y[rows]),
            (index,),
            share=1 - FIRST - scored,
            views=views,
        )

    def method(self, name, setting):
        if name == "nnpu":
            return self.nnpu()
        if name == "second stage":
            return self.second(lambda net, x, y: soft_risk(net(x)[:, 0], y))
        if name == "mixup":
            return self.second(lambda net, x, y: _mixed(net, x, y, setting))
        if name == "consistency":
            return self.second(lambda net, x, y: _two_views(net, x, y, setting), views=2.0)
        if name == "vpu":
            return self._vpu(setting)
        if name == "dist-pu":  # the entropy counts from the half on, when scores mean something
            return self.pu(
                lambda p, u, progress: dist_pu(p, u, self.prior, setting * (progress > 0.5))
            )
        return self._cvir(setting)

    def _vpu(self, weight):
        """The mixup term wants log φ of a mixture of images to be the mixture's log φ."""

        def step(net, rows, _):
            x, of_p = self.x[rows], self.s[rows] == 1
            scores = net(x)[:, 0]
            risk = vpu(scores[of_p], scores[~of_p])
            if not weight:
                return risk
            n = min(int(of_p.sum()), int((~of_p).sum()))
            share = torch.distributions.Beta(0.3, 0.3).sample((n,))
            mixed = share[:, None, None, None] * x[of_p][:n]
            mixed = mixed + (1 - share)[:, None, None, None] * x[~of_p][:n]
            wanted = share + (1 - share) * scores[~of_p][:n].detach().sigmoid()
            return risk + weight * (wanted.log() - logsigmoid(net(mixed)[:, 0])).square().mean()

        groups = self.part(1), self.part(0)
        return self.fit(step, groups, views=1.21 if weight else 1.0)

    def _cvir(self, share):
        """P against U, then P against the images of U that do not score highest."""
        unlabelled = self.part(0)
        kept = torch.ones(len(self.s), dtype=torch.bool)

        def choose(net):
            kept[unlabelled] = kept_by_cvir(self.scores(net.eval(), unlabelled), self.prior)

        def step(net, rows, progress):
            scores, of_p = net(self.x[rows])[:, 0], self.s[rows] == 1
            negative = ~of_p & (kept[rows] if progress >= share else True)
            return balanced(scores[of_p], scores[negative])

        return self.fit(step, (self.part(1), unlabelled), views=1.26, between=choose)


def _mixed(net, x, y, alpha):
    share = float(torch.distributions.Beta(alpha, alpha).sample())
    other = torch.randperm(len(x))
    scores = net(share * x + (1 - share) * x[other])[:, 0]
    return share * soft_risk(scores, y) + (1 - share) * soft_risk(scores, y[other])


def _two_views(net, x, y, weight):
    one, two = net(torch.cat([x, x]))[:, 0].chunk(2)
    apart = (one.sigmoid() - two.sigmoid()).square().mean()
    return (soft_risk(one, y) + soft_risk(two, y)) / 2 + weight * apart


def judged(run, net, mnist):
    """Return the held-out PU risk and the test error, both at the prior's cut."""
    unlabelled = torch.nonzero(run.s == 0)[:, 0]
    cut = float(np.quantile(run.scores(net, unlabelled).numpy(), 1 - run.prior))
    held = torch.nonzero(run.held_out)[:, 0]
    s, positive = run.s[held].numpy(), run.scores(net, held).numpy() > cut
    test = torch.from_numpy(np.asarray(mnist.x_test).reshape(-1, 1, 28, 28)).float()
    scores = predict_scores(net, as_rows(test)).numpy()
    return {
        "held_out_risk": metrics.pu_zero_one_risk(s, positive.astype(int), prior=run.prior),
        "error": float(np.mean((scores > cut) != (mnist.y_test == 1))),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samplings", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--unlabelled", type=int, default=N_U, help="images in U")
    parser.add_argument("--images", type=int, default=BUDGET, help="to pass forward and backward")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/unlabelled.csv"))
    options = parser.parse_args()
    rows = read_results(options.out) if options.out.exists() else []
    mnist = nnpu_paper.load("mnist")
    for seed in range(1, options.samplings + 1):
        done = {(row["method"], int(row["seed"])) for row in rows}
        left = [name for name in options.methods if (name, seed) not in done]
        run = Run(mnist, seed, options.unlabelled, options.images) if left else None
        for name in left:
            shared = run.first is not None and name in ("second stage", "mixup", "consistency")
            begin = time.process_time()
            net = run.method(name, SETTINGS[name])
            seconds = round(time.process_time() - begin, 1)
            row = {"method": name, "seed": seed} | judged(run, net, mnist)
            rows.append(row | {"cpu_seconds": seconds, "first_stage_shared": shared})
            write_results(options.out, rows)
            print(rows[-1], flush=True)
    for name in options.methods:
        errors = [float(row["error"]) for row in rows if row["method"] == name]
        print(f"{name}: {np.mean(errors):.4f} {np.round(errors, 4)}")


if __name__ == "__main__":
    main()
