"""Reviews that work down a list: what is dealt, what answers teach, and that none is lost."""

from __future__ import annotations

import json
import multiprocessing

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from nnpu import TablePU
from nnpu.parameters import InputError, ParameterError
from nnpu.review import ListReview, load, worklist


def problem(seed=0, n=500):
    """Return truth and features; the second feature tells positives that the first one hides."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.15
    kind = rng.random(n) < 0.5
    x = rng.normal(size=(n, 4))
    x[:, 0] += 2.5 * (y & kind)
    x[:, 1] += 2.5 * (y & ~kind)
    return y, x


def work(review, y, rounds, random=0.0):
    for _ in range(rounds):
        rows = review.next(25, random=random)
        review.answer(rows, y[rows])
    return review


def test_the_first_list_is_the_models():
    _, x = problem()
    rows = ListReview(x[:, 0], x).next(25, random=0)
    assert rows.tolist() == np.argsort(-x[:, 0], kind="stable")[:25].tolist()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_answers_find_positives_that_the_list_alone_does_not(kind):
    """The list knows one of two kinds of positives; the answers show the other."""
    gained = []
    for seed in range(5):
        y, x = problem(seed)
        features = sparse.csr_array(x) if kind == "sparse" else x
        taught = work(ListReview(x[:, 0], features), y, 8).found
        gained.append(taught / work(ListReview(x[:, 0]), y, 8).found)
    assert min(gained) > 1
    assert np.mean(gained) > 1.2


def test_answers_spread_to_neighbours_of_neighbours():
    """Against a linear system, and to a text that shares no word with any answered one."""
    rng = np.random.default_rng(0)
    words = sparse.random_array((90, 60), density=0.1, format="csr", rng=rng)
    graph = worklist._neighbours(sparse.csr_array(words))
    dense = graph.toarray()
    assert np.allclose(dense, dense.T)
    assert (np.diag(dense) == 0).all()
    like = (words @ words.T).toarray()
    np.fill_diagonal(like, 0)
    linked = like.max(axis=1) > 0
    best = like.argmax(axis=1)
    assert (dense[linked, best[linked]] > 0).all()  # the nearest one is a neighbour
    positive, negative = np.array([3, 5]), np.array([8, 9, 11, 40])
    given = np.zeros(90)
    given[positive], given[negative] = 1 / 2, -1 / 4
    exact = np.linalg.solve(np.eye(90) - worklist._STAYS * dense, given)
    left = worklist._STAYS ** (worklist._STEPS + 1) / (1 - worklist._STAYS) * np.linalg.norm(given)
    assert np.linalg.norm(worklist._spread(graph, positive, negative) - exact) <= left

    # 0 and 1 share a word, 1 and 2 another; 3 shares none with these.
    chain = sparse.csr_array(
        [[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]
    )
    reached = worklist._spread(worklist._neighbours(chain), np.array([0]), np.array([], dtype=int))
    assert reached[2] > 0 == reached[3] == reached[4]


def test_the_regression_of_columns_takes_no_notice_of_their_sizes():
    y, x = problem()
    rows = np.arange(len(y))
    parts = rows[y][:20], rows[~y][:50], rows[200:]
    sizes = np.array([1e-4, 1.0, 50.0, 1e3])
    expected = worklist._regression(x, *parts)
    assert np.allclose(worklist._regression(x * sizes, *parts), expected, atol=1e-3)


def test_rows_are_dealt_once_and_known_ones_never():
    y, x = problem()
    known = np.where(np.arange(len(y)) % 5 == 0, 1.0, np.nan)
    review = work(ListReview(x[:, 0], x, known=known), y, 5, random=0.2)
    dealt = [int(row) for row in review.answers]
    more = []
    while len(rows := review.next(40, random=0.3)):
        more += rows.tolist()
    assert sorted(dealt + more) == np.flatnonzero(np.isnan(known)).tolist()
    assert sorted(review.waiting.tolist()) == sorted(more)


def test_random_looks_have_their_share_and_the_same_chance():
    """25 rows at 0.1 are 2.5 on the average; each row that is not listed is drawn as often."""
    scores = np.arange(60.0)
    drawn, counts = [], np.zeros(60)
    for seed in range(400):
        review = ListReview(scores, random_state=seed)
        rows = review.next(25, random=0.1)
        random = review.is_random(rows)
        drawn.append(random.sum())
        counts[rows[random]] += 1
    assert np.mean(drawn) == pytest.approx(2.5, abs=0.1)
    assert set(drawn) == {2, 3}
    # Rows 0 to 34 are never on the list: 2.5 of 37.5 rows on the average.
    assert counts[:35].mean() == pytest.approx(400 * 2.5 / 37.5, rel=0.1)
    assert counts[:35].min() > 10


def test_the_same_seed_and_answers_give_the_same_rows():
    y, x = problem()
    first, second = (work(ListReview(x[:, 0], x), y, 4, random=0.2) for _ in range(2))
    assert first.next(25).tolist() == second.next(25).tolist()


def test_a_review_stops_by_its_certificate_and_it_holds():
    y, x = problem(n=400)
    review = ListReview(x[:, 0] + x[:, 1], x)
    while not review.certificate(0.8).issued:
        rows = review.next(25, until=0.8)
        review.answer(rows, y[rows])
    assert review.found >= 0.8 * y.sum()
    assert review.looks <= 400
    assert review.left.low <= y.sum() - review.found <= review.left.high


def test_disagreements_are_shown_and_count_as_dont_know():
    review = ListReview(np.arange(5.0))
    review.answer([4, 3], [1, 1], by="anna")
    review.answer([4, 3, 2], [0, np.nan, 0], by="ben")
    assert review.disagreements == {4: {"anna": 1.0, "ben": 0.0}}
    assert review.found == 1  # row 3: ben does not know
    assert np.isnan(review.answers[4])
    review.answer([4], [1], by="ben")  # he thinks again
    assert review.disagreements == {}
    assert review.found == 2
    assert any("differ" in line for line in review.lines()) is False


def same(a, b):
    assert a._dealt == b._dealt
    assert json.dumps(a._given) == json.dumps(b._given)
    assert a.ranking().tolist() == b.ranking().tolist()


@pytest.mark.parametrize("kind", ["dense", "sparse", "none"])
def test_a_folder_gives_the_review_back(kind, tmp_path):
    y, x = problem()
    features = {"dense": x, "sparse": sparse.csr_array(x), "none": None}[kind]
    known = np.where(y & (np.arange(len(y)) % 2 == 0), 1.0, np.nan)
    review = work(ListReview(x[:, 0], features, known=known, expected=30.0), y, 2, random=0.2)
    review.save(tmp_path / "r")
    work(review, y, 2, random=0.2)  # after save: written as it happens
    again = load(tmp_path / "r")
    same(review, again)
    assert again.left == review.left
    assert again.next(25).tolist() == review_next_in_memory(review)


def review_next_in_memory(review):
    """Return what the review would deal, without writing."""
    review.folder = None
    return review.next(25).tolist()


def test_a_kill_at_any_byte_of_a_line_loses_no_earlier_answer(tmp_path):
    y, x = problem()
    review = work(ListReview(x[:, 0], x), y, 1)
    review.save(tmp_path / "r")
    review.answer([1, 2], [0, 0])
    log = tmp_path / "r" / "looks.jsonl"
    whole = log.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    for end in range(last, len(whole)):
        log.write_bytes(whole[:end])
        again = load(tmp_path / "r")
        assert again.looks == 25
        again.answer([1, 2], [0, 0])  # goes on after the whole lines
        assert load(tmp_path / "r").answers == review.answers


def test_a_disk_that_fills_up_within_an_answer_loses_and_repeats_none(tmp_path):
    resource = pytest.importorskip("resource")
    y, x = problem()
    work(ListReview(x[:, 0], x), y, 1).save(tmp_path / "r")
    review, log = load(tmp_path / "r"), tmp_path / "r" / "looks.jsonl"
    before, whole = review.answers, log.read_bytes()
    rows = review.next(20)
    dealt = log.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(dealt) + 30, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            review.answer(rows, y[rows])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(log.read_bytes()) == len(dealt) + 30  # a part of the line is there
    assert dealt.startswith(whole)
    assert review.answers == before == load(tmp_path / "r").answers
    for one in (review, load(tmp_path / "r")):  # the same process, and then another one
        one.answer(rows, y[rows])
        again = load(tmp_path / "r")
        assert again.answers == one.answers == before | dict(zip(rows, y[rows], strict=True))
        assert again.looks == len(before) + 20


def _deal(folder, who):
    review = load(folder)
    for _ in range(10):
        rows = review.next(5, random=0.2, by=who)
        review.answer(rows, np.zeros(5), by=who)


def test_people_at_the_same_time_are_dealt_different_rows(tmp_path):
    ListReview(np.arange(300.0)).save(tmp_path / "r")
    spawn = multiprocessing.get_context("spawn")
    people = [spawn.Process(target=_deal, args=(tmp_path / "r", who)) for who in ("a", "b", "c")]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert [one.exitcode for one in people] == [0, 0, 0]
    review = load(tmp_path / "r")  # a row that is dealt twice cannot be loaded
    assert review.looks == 150
    assert not len(review.waiting)


@pytest.mark.parametrize("words", [True, False])
def test_a_table_is_reviewed_by_its_own_row_numbers(words, tmp_path):
    """Labelled rows are never dealt, answers change the list, and the model stays as it is."""
    y, x = problem(n=300)
    pandas = pytest.importorskip("pandas")
    known = (y & (np.arange(300) % 3 == 0)).astype(int)
    if words:
        kinds = np.where(x[:, 0] > 1, "fever and cough", "nothing to report")
        kinds = [f"{kind} in case {i} of ward {i % 7}" for i, kind in enumerate(kinds)]
        table = pandas.DataFrame({"note": kinds, "known": known})
    else:
        table = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "known": known})
    model = TablePU(prior=0.2, model=None if words else "linear").fit(table, "known")
    before = model.predict_proba(table)
    review = model.review(table)
    assert sparse.issparse(review.features) == words
    if not words:  # a column counts by its correlation with the score
        free = ~known.astype(bool)
        size = abs(np.corrcoef(np.c_[x[:, :2], review.scores][free].T)[2, :2])
        assert review.features.std(axis=0) == pytest.approx(size / np.sqrt(np.mean(size**2)), 0.1)
    first = review.ranking().copy()
    rows = review.next(60, random=0.1)
    assert not known[rows].any()
    review.answer(rows, y[rows])
    assert review.found == y[rows].sum()
    assert (review.ranking() != first).any()
    assert np.array_equal(model.predict_proba(table), before)
    review.save(tmp_path / "r")
    assert load(tmp_path / "r").found == review.found


def test_what_cannot_be_is_refused(tmp_path):
    review = ListReview([1.0, 2.0, 3.0], known=[1, np.nan, np.nan])
    for rows, answers, words in [
        ([0], [1], "neither labelled nor known"),
        ([5], [1], "neither labelled nor known"),
        ([1.5], [1], "neither labelled nor known"),
        ([1, 2], [1], "an answer is needed"),
        ([1], [2], "must be 1"),
    ]:
        with pytest.raises(InputError, match=words):
            review.answer(rows, answers)
    assert review.looks == 0
    with pytest.raises(InputError, match="finite"):
        ListReview([1.0, np.nan])
    with pytest.raises(ParameterError, match="features"):
        ListReview([1.0, 2.0], [[1.0], [np.nan]])
    with pytest.raises(ValueError, match="random"):
        review.next(1, random=2)
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(InputError, match="not an empty folder"):
        review.save(tmp_path)
    with pytest.raises(InputError, match="holds no review"):
        load(tmp_path)
    folder = review.save(tmp_path / "r")
    with open(folder / "looks.jsonl", "a") as file:
        file.write('{"deal": [[0, 0]]}\n')
    with pytest.raises(InputError, match="damaged"):
        load(folder)


def test_an_answer_that_is_taken_back_was_never_given(tmp_path):
    y, x = problem()
    review = work(ListReview(x[:, 0], x), y, 2)
    review.save(tmp_path / "r")
    before = review.to_json()
    rows = review.next(2, random=0)
    review.answer(rows, [1, 0], by="anna")
    review.answer(rows[:1], [0], by="ben")
    assert review.answered_by("anna") == [rows[1], rows[0]]  # row 0 has the latest answer
    review.take_back(int(rows[1]), by="anna")
    review.take_back(int(rows[0]), by="ben")
    assert review.answers[int(rows[0])] == 1.0
    review.take_back(int(rows[0]), by="anna")
    again = load(tmp_path / "r")
    same(review, again)
    assert again.waiting_for() == rows.tolist()
    assert again.to_json() == before | {"waiting": 2}
    with pytest.raises(InputError, match="no answer of this person"):
        review.take_back(int(rows[0]), by="ben")


def test_rows_that_nobody_looked_at_yet_stay_in_the_pool():
    """What was dealt after the last answer has not been looked at: bounds do not move by it."""
    y, x = problem(n=100)
    review = work(ListReview(x[:, 0] + x[:, 1]), y, 3, random=0.5)
    left, certificate = review.left, review.certificate(0.8)
    rows = review.next(10, random=0.5)
    assert (review.left, review.certificate(0.8)) == (left, certificate)
    last = list(review._dealt)[-1]
    review.answer([last], [0])  # the nine before it count as looks without an answer
    assert review._looks().unclear == 9
    review.answer(rows, y[rows])
    assert review._looks().unclear == 0


def test_the_curve_counts_finds_in_the_order_of_the_looks():
    review = ListReview(np.arange(4.0))
    rows = review.next(3, random=0)
    review.answer(rows[::-1], [1, np.nan, 0])
    assert rows.tolist() == [3, 2, 1]
    assert review.curve == [0, 0, 1]


def test_answers_on_numbers_teach_as_a_kernel_ridge_regression_does():
    """scikit-learn's is the oracle: a bell of width √d, penalty 1, answers about their mean."""
    from sklearn.kernel_ridge import KernelRidge

    y, x = problem(n=5000)  # more than one block of rows
    x = x.astype(np.float32)
    asked = np.arange(0, 400, 7)
    model = KernelRidge(alpha=1.0, kernel="rbf", gamma=1 / (2 * x.shape[1]))
    expected = model.fit(x[asked], y[asked] - y[asked].mean()).predict(x)
    found = worklist._ridge(x, asked, y[asked].astype(float))
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_list_of_texts_in_one_dense_view_is_taught_too():
    """A linear model sees a text as thousands of sparse columns, beside its numbers."""
    rng = np.random.default_rng(0)
    y = rng.random(80) < 0.4
    words = np.array(["alpha beta gamma", "delta epsilon zeta"])[y.astype(int)]
    table = {
        "amount": rng.normal(y, 1),
        "story": [f"{text} number {i} of many" for i, text in enumerate(words)],
        "known": (y & (rng.random(80) < 0.5)).astype(int),
    }
    job = TablePU(0.5, model="linear").fit(pa.table(table), "known")
    review = job.review(pa.table(table))
    for row in review.next(3):
        review.answer([row], [float(y[row])])
    assert len(review.next(3)) == 3
