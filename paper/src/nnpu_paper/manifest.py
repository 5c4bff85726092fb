"""The one table of the files that the data sets are read from.

Each set can be read from several bundles of files, in the order in which they are looked for and
downloaded. A SHA-256 is marked by where it comes from:

- measured: computed from the file itself, whose published MD5 also matched where one exists;
- published: taken from other projects that download the same address (named in ``source``);
- none recorded: the file is checked by its structure, and its hash is recorded on first use.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BUNDLES", "LICENCES", "Bundle", "DataFile", "glove_bundles"]


@dataclass(frozen=True)
class DataFile:
    """A file as its authors name it.

    Parameters
    ----------
    name : str
        File name.
    sha256 : str or None
        Checksum in hexadecimal; None where nobody has published one.
    size : int or None
        Bytes; None where it is not known.
    urls : tuple of str
        Where it can be downloaded, the first one first.
    source : str
        Where the checksum comes from.
    """

    name: str
    sha256: str | None
    size: int | None = None
    urls: tuple[str, ...] = ()
    source: str = "measured"


@dataclass(frozen=True)
class Bundle:
    """Files that together hold one data set in one form.

    Parameters
    ----------
    folder : str
        Folder of the files below the data folder or the cache.
    form : str
        Name of the format, for the reader.
    files : tuple of DataFile
        All of them are needed.
    """

    folder: str
    form: str
    files: tuple[DataFile, ...]

    @property
    def downloadable(self) -> bool:
        """Whether every file has an address."""
        return all(file.urls for file in self.files)


_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_EPSILON_SOURCE = "published: two public benchmark suites that download the same address"
_CIFAR_RECORDS = 10_000 * 3_073


def _mnist_gz(name: str, size: int, sha256: str) -> DataFile:
    return DataFile(f"{name}.gz", sha256, size, tuple(f"{url}{name}.gz" for url in _MNIST_MIRRORS))


def _cifar(name: str, sha256: str) -> DataFile:
    return DataFile(f"{name}.bin", sha256, _CIFAR_RECORDS)


BUNDLES: dict[str, tuple[Bundle, ...]] = {
    "mnist": (
        Bundle(
            "mnist",
            "idx.gz",
            (
                _mnist_gz(
                    "train-images-idx3-ubyte",
                    9_912_422,
                    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                ),
                _mnist_gz(
                    "train-labels-idx1-ubyte",
                    28_881,
                    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                ),
                _mnist_gz(
                    "t10k-images-idx3-ubyte",
                    1_648_877,
                    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                ),
                _mnist_gz(
                    "t10k-labels-idx1-ubyte",
                    4_542,
                    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                ),
            ),
        ),
        Bundle(
            "mnist",
            "idx",
            (
                DataFile(
                    "train-images-idx3-ubyte",
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                    47_040_016,
                ),
                DataFile(
                    "train-labels-idx1-ubyte",
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                    60_008,
                ),
                DataFile(
                    "t10k-images-idx3-ubyte",
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                    7_840_016,
                ),
                DataFile(
                    "t10k-labels-idx1-ubyte",
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                    10_008,
                ),
            ),
        ),
    ),
    "cifar10": (
        Bundle(
            "cifar10",
            "bin",
            (
                _cifar(
                    "data_batch_1",
                    "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
                ),
                _cifar(
                    "data_batch_2",
                    "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
                ),
                _cifar(
                    "data_batch_3",
                    "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
                ),
                _cifar(
                    "data_batch_4",
                    "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
                ),
                _cifar(
                    "data_batch_5",
                    "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
                ),
                _cifar(
                    "test_batch",
                    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
                ),
            ),
        ),
        Bundle(
            "cifar10",
            "tar",
            (
                DataFile(
                    "cifar-10-binary.tar.gz",
                    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                    170_052_171,
                    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                    "published: torchvision-ruby and GoMLX, which download the same address",
                ),
            ),
        ),
    ),
    "20news": (
        Bundle(
            "20news",
            "tar",
            (
                DataFile(
                    "20news-bydate.tar.gz",
                    "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
                    None,
                    (
                        "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
                        "https://ndownloader.figshare.com/files/5975967",
                    ),
                    "published: scikit-learn, fetch_20newsgroups",
                ),
            ),
        ),
        Bundle(
            "20news",
            "tar",
            (
                DataFile(
                    "20news-bydate.tar.xz",
                    "92de6d6ecb570d6dddec50c88c2617a1cc3f69f9169f72f51bf00cc40c1fc333",
                    8_680_280,
                ),
            ),
        ),
    ),
    "epsilon": (
        Bundle(
            "epsilon",
            "libsvm",
            (
                DataFile(
                    "epsilon_normalized.bz2",
                    "aff916d4f97f18d286558ca088d2a9f7e1fcee9376539a5aa6ef5b7ef9dfa978",
                    None,
                    (f"{_LIBSVM}epsilon_normalized.bz2",),
                    _EPSILON_SOURCE,
                ),
                DataFile(
                    "epsilon_normalized.t.bz2",
                    "cb299295ad11e200696eaa3050f5d8cf700eaa9c65e6aa859bda959f8669458b",
                    None,
                    (f"{_LIBSVM}epsilon_normalized.t.bz2",),
                    _EPSILON_SOURCE,
                ),
            ),
        ),
        Bundle(
            "epsilon",
            "libsvm",
            (
                DataFile("epsilon_normalized", None, source="none recorded"),
                DataFile("epsilon_normalized.t", None, source="none recorded"),
            ),
        ),
    ),
}

LICENCES = {
    "digits": "CC BY 4.0 (UCI Machine Learning Repository); comes with scikit-learn",
    "mnist": "not stated by its authors; CC BY-SA 3.0 is commonly cited",
    "cifar10": "not stated by its authors",
    "20news": "free for research and teaching",
    "epsilon": "not stated by its authors (Pascal Large Scale Learning Challenge, 2008)",
    "glove": "PDDL 1.0",
}

_GLOVE_ZIP = DataFile(
    "glove.6B.zip",
    "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
    862_182_613,
    (
        "https://downloads.cs.stanford.edu/nlp/data/glove.6B.zip",
        "https://nlp.stanford.edu/data/glove.6B.zip",
    ),
    "published: NumPy tutorials and Embeddings.jl",
)
_GLOVE_TEXT_SHA256 = {
    100: "95dde4dfd627ab26608d33e76d1195ec059734bd29089ea52cadb08d07c64544",
}
_GLOVE_COMPACT = {
    50: ("2ce7abd935bfb4d857a8f919a0ec764b97142d0e66b4cf99658e74b2bf441f12", 7_440_090),
    100: ("1ae11f3e38a142e1120dc8723b82ce5266200661c9791ef6db3aeec7238b37d3", 12_821_113),
}


def glove_bundles(dimension: int) -> tuple[Bundle, ...]:
    """Files that hold the GloVe 6B vectors of one dimension: text, the official zip, NPZ.

    >>> [bundle.files[0].name for bundle in glove_bundles(300)]
    ['glove.6B.300d.txt', 'glove.6B.zip', 'glove.6B.300d.20news.f16.npz']
    """
    text_sha256 = _GLOVE_TEXT_SHA256.get(dimension)
    text = DataFile(
        f"glove.6B.{dimension}d.txt",
        text_sha256,
        source="published: several public projects" if text_sha256 else "none recorded",
    )
    sha256, size = _GLOVE_COMPACT.get(dimension, (None, None))
    compact = DataFile(
        f"glove.6B.{dimension}d.20news.f16.npz",
        sha256,
        size,
        source="measured" if sha256 else "none recorded",
    )
    return (
        Bundle("glove", "text", (text,)),
        Bundle("glove", "zip", (_GLOVE_ZIP,)),
        Bundle("glove", "npz", (compact,)),
    )
