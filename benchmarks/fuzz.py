"""Coverage-guided fuzzing of everything that reads a file: no crash, no hang, no foreign error.

    python benchmarks/fuzz.py --minutes 10              # of each target, one after the other
    python benchmarks/fuzz.py --minutes 1 csv parquet   # of these

A target takes bytes, makes a file or a model folder of them, and reads it as a command would. It
may answer with finite numbers or with an `InputError` or a `ParameterError`; anything else (another
exception, NaN, more than ten seconds, more than 2 GiB) is a finding. atheris changes the bytes so
that they reach new lines of this package. A finding is kept in ``fuzz-findings/``; mended, it moves
to ``tests/corpus/TARGET/``, which the tests read and from which the next search starts.

One JSON object on standard output; exit status 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "corpus"
FINDINGS = Path("fuzz-findings")
READ = ("nnpu", "zipfile", "tomllib", "numpy.lib._format_impl")  # where new lines are looked for
SECONDS, MEBIBYTES = 10, 2048  # that one input may take


def read_like_fit(path: Path) -> None:
    """Read a table as ``nnpu fit`` does, up to the features."""
    import numpy as np

    from nnpu.data import read_table
    from nnpu.parameters import InputError
    from nnpu.table.columns import fit_columns
    from nnpu.table.reading import as_batch, label_cells, read_labels

    with contextlib.suppress(InputError):
        read_table(path)
    label = "y" if path.suffix == ".svm" else "s"
    batch = as_batch(path)
    s = read_labels([label_cells(batch, label)], label, batch.source).codes
    plan = fit_columns(batch, np.arange(0, len(s), 2), label="s")
    features = plan.transform(batch)
    assert features.shape == (len(s), plan.width)
    assert finite(features)
    with contextlib.suppress(InputError):
        assert finite(learned().transform(batch))


def finite(block: object) -> bool:
    import numpy as np
    from scipy import sparse

    return bool(np.isfinite(block.data if sparse.issparse(block) else block).all())


def learned() -> object:
    """What an earlier fit may have stored of the seeds' columns."""
    from nnpu.table.columns.column_plan import plan_from_json

    return plan_from_json(
        [
            {
                "kind": "number",
                "name": "a",
                "median": 1,
                "centre": 0,
                "scale": 0.1,
                "missing": True,
            },
            {"kind": "category", "name": "b", "values": ["w1"], "other": True, "missing": True},
            {"kind": "boolean", "name": "c", "missing": False},
            {"kind": "text", "name": "d", "analyzer": "char_wb", "buckets": 16},
        ]
    )


def table(suffix: str) -> Callable[[bytes, Path], None]:
    """A target: the bytes are a file of that suffix."""

    def target(data: bytes, folder: Path) -> None:
        path = folder / f"t{suffix}"
        path.write_bytes(data)
        read_like_fit(path)

    return target


def npz(data: bytes, folder: Path) -> None:
    """The bytes are an archive, or the one array `x` in an archive, which then has its checksum."""
    if data[:1] == b"\0":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("x.npy", data[1:])
            archive.writestr("s.npy", array([1, 0, 0]))
        data = stream.getvalue()
    table(".npz")(data, folder)


def config(data: bytes, folder: Path) -> None:
    """The bytes are the configuration of a fit that then finds no data."""
    from nnpu.cli import main

    path = folder / "c.toml"
    path.write_bytes(data)
    missing = str(folder / "missing.csv")
    status: object = 0
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(["fit", missing, "--label", "s", "--config", str(path)])
        except SystemExit as ended:
            status = ended.code
    assert status == 2, told.getvalue()
    assert told.getvalue().startswith("nnpu: ")


def model(data: bytes, folder: Path) -> None:
    """The bytes are weights or a configuration, or change one; the checksums are right."""
    import numpy as np

    from nnpu import load

    files = dict(honest_model())
    kind, content = data[:1], data[1:]
    if kind == b"\0":
        files["model.safetensors"] = content
    elif kind == b"\1":
        files["config.json"] = content
    else:  # most changes of a whole configuration are not even JSON
        files["config.json"] = patched(files["config.json"], content)
    sums = "".join(
        f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n"
        for name in ("config.json", "model.safetensors")
    )
    for name, content in {**files, "SHA256SUMS": sums.encode()}.items():
        (folder / name).write_bytes(content)
    classifier = load(folder).classifier_
    if classifier.n_features_in_ <= 1000:
        scores = classifier.decision_function(np.ones((2, classifier.n_features_in_)))
        assert scores.shape == (2,)


def patched(text: bytes, patch: bytes) -> bytes:
    """Replace parts of a configuration, as far down as the patch is made of objects."""

    def merge(into: object, part: object) -> object:
        if not isinstance(into, dict) or not isinstance(part, dict):
            return part
        return {**into, **{name: merge(into.get(name), value) for name, value in part.items()}}

    try:
        return json.dumps(merge(json.loads(text), json.loads(patch))).encode()
    except (ValueError, RecursionError):
        return patch


TARGETS: dict[str, Callable[[bytes, Path], None]] = {
    "csv": table(".csv"),
    "svmlight": table(".svm"),
    "npz": npz,
    "parquet": table(".parquet"),
    "config": config,
    "model": model,
}


def check(target: str, data: bytes, folder: Path) -> None:
    """Read the bytes; an error that is none of ours goes through."""
    from nnpu.parameters import InputError, ParameterError

    with contextlib.suppress(InputError, ParameterError):
        TARGETS[target](data, folder)


def array(values: object) -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, np.asarray(values))
    return stream.getvalue()


@functools.cache
def honest_model() -> dict[str, bytes]:
    """The files of a small model with a column plan."""
    import numpy as np

    from nnpu import TablePU

    rng = np.random.default_rng(0)
    fitted = TablePU(0.6, model="linear").fit(rng.normal(size=(40, 3)), np.arange(40) % 2)
    with tempfile.TemporaryDirectory() as folder:
        path = fitted.save(Path(folder) / "model")
        names = ("config.json", "model.safetensors")
        return {name: (path / name).read_bytes() for name in names}


def seeds(target: str) -> list[bytes]:
    """Right inputs, from which the search starts."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = "\n".join(f"{n}.5,w{n % 3},yes,some words of {n},{n % 2}" for n in range(30))
    text = f"a,b,c,d,s\n{rows}\n".encode()
    if target == "csv":
        return [text, b'\xef\xbb\xbfid,"a b",s\r\n1,"x ""y""",1\r\n2,,0\r\n3,NA,\r\n']
    if target == "svmlight":
        return [b"1 1:0.5 3:2\n0 2:1e3 # note\n-1 1:7 2:-1\n"]
    if target == "npz":
        stream = io.BytesIO()
        np.savez_compressed(stream, x=np.eye(3), s=np.array([1, 0, 0]))
        kinds = [np.ones((3, 2)), np.array(["a", "b", "c"]), np.arange(3, dtype=">i2")]
        return [stream.getvalue(), *(b"\0" + array(kind) for kind in kinds)]
    if target == "parquet":
        found = []
        columns = {
            "a": [1.5, None, 2.0],
            "b": pa.array(["w1", "y", "x"]).dictionary_encode(),
            "c": [True, False, None],
            "d": ["some words", None, ""],
            "s": [1, 0, 0],
        }
        for compression in ("none", "snappy", "zstd"):
            sink = pa.BufferOutputStream()
            pq.write_table(pa.table(columns), sink, compression=compression)
            found.append(sink.getvalue().to_pybytes())
        return found
    if target == "config":
        return [b'label = "s"\nepochs = 3\nprior = "0.3"\ndrop = ["a", "b"]\nseed = 1\nid = "i"\n']
    made = honest_model()
    parts = json.loads(made["config.json"])
    patches = [
        {part: {name: parts[part][name]}}
        for part in ("parameters", "fitted")
        for name in parts[part]
    ]
    patches += [{"columns": parts["columns"]}, {"estimator": "PUClassifier"}]
    return [
        b"\0" + made["model.safetensors"],
        b"\1" + made["config.json"],
        *(b"\2" + json.dumps(patch).encode() for patch in patches),
    ]


def search(target: str, arguments: list[str]) -> None:
    """Be the process that fuzzes one target; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=list(READ)):
        pass
    folder = Path(tempfile.mkdtemp())

    def probe(data: bytes) -> None:
        try:
            check(target, data, folder)
        except BaseException:  # libFuzzer keeps crashes and hangs, but not every exception
            (FINDINGS / target / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
            raise

    atheris.Setup([sys.argv[0], *arguments], probe)
    atheris.Fuzz()


def run(target: str, minutes: float, work: Path) -> dict[str, int]:
    """Fuzz one target in a process of its own; return what libFuzzer counted."""
    kept = FINDINGS / target
    kept.mkdir(parents=True, exist_ok=True)
    before = set(kept.iterdir())
    corpus = work / target
    corpus.mkdir()
    for number, content in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(content)
    command = [sys.executable, __file__, "--child", target, "--", str(corpus)]
    command += [str(folder) for folder in [CORPUS / target] if folder.is_dir()]
    command += [f"-max_total_time={round(60 * minutes)}", f"-timeout={SECONDS}"]
    command += [f"-rss_limit_mb={MEBIBYTES}", "-max_len=65536", f"-artifact_prefix={kept}/"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    found = set(kept.iterdir()) - before
    if found or ended.returncode:
        print(ended.stdout[-3000:], ended.stderr[-3000:], sep="\n", file=sys.stderr)
    done = [int(number) for number in re.findall(r"^#(\d+)", ended.stderr, re.MULTILINE)]
    reached = [int(number) for number in re.findall(r" cov: (\d+)", ended.stderr)]
    return {
        "inputs": max(done, default=0),
        "reached": max(reached, default=0),
        "findings": max(len(found), int(ended.returncode != 0)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--child", choices=TARGETS, help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; default all")
    arguments = parser.parse_args()
    if arguments.child:
        search(arguments.child, arguments.targets)
        return 0
    result = {}
    with tempfile.TemporaryDirectory() as work:
        for target in arguments.targets or TARGETS:
            result[target] = run(target, arguments.minutes, Path(work))
            print(f"{target}: {result[target]}", file=sys.stderr, flush=True)
    print(json.dumps(result))
    return int(any(counted["findings"] for counted in result.values()))


if __name__ == "__main__":
    sys.exit(main())
