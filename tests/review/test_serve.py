"""The served review: who is let in, that no answer is lost, and that no row is shown twice."""

from __future__ import annotations

import json
import threading
from http.client import HTTPException

import numpy as np
import pytest
from tests.review.served import HOSTILE, answered, logged, made_review, start

from nnpu.parameters import InputError
from nnpu.review import load
from nnpu.review.desk import Desk


@pytest.fixture
def kept(tmp_path):
    folder = tmp_path / "r"
    return folder, made_review(folder)


@pytest.fixture
def server(kept):
    one = start(kept[0])
    yield one
    one.kill()


def test_an_answer_is_on_the_disk_before_the_next_row_is_sent(kept, server):
    folder, y = kept
    _, found = server.do("next")
    for i in range(12):
        row = found["row"]["row"]
        answer = "?" if i == 5 else "yes" if y[row] else "no"
        status, found = server.do("answer", row=str(row), answer=answer)
        last = [event for event in logged(folder) if "answer" in event][-1]
        expected = None if i == 5 else int(y[row])
        assert (status, last["answer"]) == (200, [[row, expected]])
        assert found["status"]["looks"] == i + 1
    review = load(folder)
    assert review.found == found["status"]["found"] == np.nansum(list(review.answers.values()))
    curve = found["status"]["curve"]
    assert curve[0] == [0, 0]
    assert curve[-1] == [12, review.found]


@pytest.mark.parametrize(
    "how",
    [
        {"path": "/"},
        {"path": "/wrong-token-wrong-token-wrong-to/"},
        {"Host": "evil.example:80"},
        {"Host": None},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_stranger_gets_nothing(kept, server, how):
    """Neither the page nor a row, and an answer of theirs is not taken."""
    _, found = server.do("next")
    row = str(found["row"]["row"])
    requests = [("", None), ("next", None), ("undo", None)]
    requests.append(("answer", {"row": row, "answer": "yes"}))
    for action, body in requests:
        status, headers, content = server.ask(action, body, **how)
        # A request without a host is refused by the protocol.
        assert (status == 400) if how.get("Host", "") is None else (status, content) == (403, b"")
        assert "Access-Control-Allow-Origin" not in headers
    assert answered(kept[0]) == []


def test_a_post_must_name_its_origin_and_be_what_the_page_sends(kept, server):
    _, found = server.do("next")
    row = found["row"]["row"]
    good = {"row": str(row), "answer": "yes"}
    assert server.ask("answer", good, Origin=None)[0] == 403
    for action, body, status in [
        ("answer", b"{", 400),
        ("answer", b"[]", 400),
        ("answer", b"[" * 9_999, 400),
        ("answer", good | {"row": "9" * 4_000}, 409),
        ("answer", good | {"row": "-1"}, 409),
        ("answer", b'{"tab": 1}', 400),
        ("answer", b'{"tab": "t", "answer": "' + b"y" * 20_000 + b'"}', 400),
        ("answer", good | {"answer": "maybe"}, 400),
        ("answer", good | {"answer": ""}, 400),
        ("answer", good | {"row": "1.5"}, 400),
        ("answer", good | {"row": str(row + 1)}, 409),  # not the row of this tab
        ("answer", good | {"tab": "other"}, 409),
        ("drop", {}, 400),
    ]:
        assert server.ask(action, body)[0] == status, body
    assert server.ask("answer", method="GET")[0] == 405
    assert server.ask("next/", {})[0] == 404
    assert answered(kept[0]) == []
    assert server.do("answer", **good)[0] == 200


def test_every_reply_keeps_to_itself(server):
    page = server.ask()
    assert b"work.js" in page[2]
    assert b"<script>" not in page[2]
    assert b"style=" not in page[2]
    for action, method in (("", "GET"), ("work.js", "GET"), ("work.css", "GET"), ("next", "POST")):
        status, headers, _ = server.ask(action, None, method=method)
        headers = {name.lower(): value for name, value in headers.items()}
        assert status == 200
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers


def test_a_hostile_cell_travels_as_text(server):
    _, _, content = server.ask("next")
    found = json.loads(content)
    while found["state"] == "ranking":
        _, found = server.do("next")
    cell = found["row"]["cells"][0]
    assert cell["name"] == HOSTILE
    assert cell["text"] == f"row {found['row']['row']} {HOSTILE}"
    assert HOSTILE.encode(errors="surrogatepass") not in server.ask()[2]


def test_it_listens_on_the_loopback_interface_alone(server):
    with open("/proc/net/tcp") as file:
        port = f"{int(server.host.split(':')[1]):04X}"
        local = [line.split()[1].split(":") for line in file if line.split()[3] == "0A"]
    assert [address for address, at in local if at == port] == ["0100007F"]


def test_tabs_at_once_never_hold_the_same_row(kept, server):
    folder, y = kept
    seen: dict[str, list[int]] = {name: [] for name in "abcd"}

    def work(tab):
        _, found = server.do("next", tab=tab)
        for _ in range(15):
            row = found["row"]["row"]
            seen[tab].append(row)
            answer = "yes" if y[row] else "no"
            _, found = server.do("answer", tab=tab, row=str(row), answer=answer)

    people = [threading.Thread(target=work, args=(tab,)) for tab in seen]
    for one in people:
        one.start()
    for one in people:
        one.join()
    rows = [row for part in seen.values() for row in part]
    assert len(rows) == len(set(rows)) == 60
    assert sorted(answered(folder)) == sorted(rows)


def test_two_people_on_one_folder_get_different_rows_and_one_person_one_server(kept):
    folder, y = kept
    anna, ben = start(folder, "anna"), start(folder, "ben")
    try:
        with pytest.raises(AssertionError, match="served for 'anna' already"):
            start(folder, "anna")
        rows = []
        for _ in range(10):
            for one in (anna, ben):
                row = one.do("next")[1]["row"]["row"]
                rows.append(row)
                one.do("answer", row=str(row), answer="yes" if y[row] else "no")
        assert len(set(rows)) == 20
        assert ben.do("next")[1]["status"]["looks"] == 20  # both see the answers of both
    finally:
        anna.kill()
        ben.kill()
    given = {event["by"] for event in logged(folder) if "answer" in event}
    assert given == {"anna", "ben"}


def test_a_kill_at_any_moment_loses_no_answer_that_was_acknowledged(kept):
    """The kill comes up to 50 ms after the tenth answer: while one is sent, saved, replied."""
    folder, y = kept
    rng = np.random.default_rng(0)
    known: dict[int, float] = {}
    for _ in range(4):
        server = start(folder)
        given: dict[int, float] = {}
        timer = threading.Timer(0.05 * rng.random(), server.process.kill)
        try:
            _, found = server.do("next")
            while True:
                row = found["row"]["row"]
                assert row not in known | given
                _, found = server.do("answer", row=str(row), answer="yes" if y[row] else "no")
                given[row] = float(y[row])
                if len(given) == 10:
                    timer.start()
        except (OSError, HTTPException, ValueError):
            pass  # the server is gone
        timer.join()
        server.close()
        answers = load(folder).answers
        assert len(given) >= 10
        assert answers.items() >= (known | given).items()
        assert len(answers) - len(known | given) in (0, 1)  # saved, and the reply was lost
        known = answers


def test_a_row_that_was_shown_and_not_answered_is_shown_again_after_a_kill(kept):
    server = start(kept[0])
    before = [server.do("next", tab=tab)[1]["row"]["row"] for tab in "ab"]
    server.kill()
    server = start(kept[0])
    again = [server.do("next", tab=tab)[1]["row"]["row"] for tab in "cd"]
    assert again == before
    server.ask("release", {}, tab="c")
    assert server.do("next", tab="e")[1]["row"]["row"] == before[0]  # of the closed tab
    server.kill()


def test_undo_takes_answers_back_one_by_one_also_after_a_restart(kept):
    folder, _ = kept
    server, rows = start(folder), []
    assert server.do("next")[1]["undo"] is False
    for _ in range(3):
        rows.append(server.do("next")[1]["row"]["row"])
        server.do("answer", row=str(rows[-1]), answer="yes")
    _, found = server.do("undo")
    assert (found["row"]["row"], found["status"]["found"]) == (rows[2], 2)
    assert logged(folder)[-1]["back"] == [rows[2]]
    assert server.do("undo", tab="other")[1]["status"]["found"] == 2  # not their answers
    server.do("answer", row=str(rows[2]), answer="no")
    server.kill()
    server = start(folder)
    _, found = server.do("undo")
    assert (found["row"]["row"], found["status"]["looks"]) == (rows[2], 2)
    _, found = server.do("undo")
    assert (found["row"]["row"], found["status"]["looks"]) == (rows[1], 1)
    server.kill()
    assert list(load(folder).answers) == [rows[0]]


def plain(rows):
    return [{"cells": [], "why": ""} for _ in rows]


def test_answers_teach_the_rows_that_are_dealt_behind(tmp_path):
    """After some answers the desk's rows are those of the taught ranking, not of the first list."""
    y = made_review(tmp_path / "r")
    untaught = load(tmp_path / "r")
    first = np.argsort(-untaught.scores, kind="stable")[:100]
    with Desk(tmp_path / "r", plain, random=0) as desk:
        for _ in range(100):
            row = desk.take("t", wait=30)["row"]
            desk.answer("t", row, float(y[row]))
    taught = load(tmp_path / "r")
    assert taught.looks == 100
    assert taught.found > y[first].sum()


def test_a_desk_runs_until_no_row_is_left(tmp_path):
    y = made_review(tmp_path / "r", n=40)
    with Desk(tmp_path / "r", plain) as desk:
        while (found := desk.take("t", wait=30)) is not None:
            desk.answer("t", found["row"], float(y[found["row"]]))
        assert desk.spent
        assert desk.status()["certificate"]["issued"]
    assert sorted(answered(tmp_path / "r")) == list(range(40))


def test_a_full_disk_loses_no_row_and_the_same_answer_can_be_given_again(tmp_path, full_disk):
    made_review(tmp_path / "r")
    with Desk(tmp_path / "r", plain) as desk:
        row = desk.take("t", wait=30)["row"]
        size = (tmp_path / "r" / "looks.jsonl").stat().st_size
        with full_disk(size), pytest.raises(OSError, match="large"):
            desk.answer("t", row, 1.0)
        assert desk.take("t")["row"] == row
        desk.answer("t", row, 1.0)
    assert load(tmp_path / "r").answers == {row: 1.0}


def test_a_fault_of_the_ranking_is_reported_and_tried_again(tmp_path):
    made_review(tmp_path / "r")
    faults = [True]

    def describe(rows):
        if faults:
            raise OSError(faults.pop() and "the table is away")
        return plain(rows)

    with Desk(tmp_path / "r", describe) as desk:
        assert desk.take("t", wait=30) is None
        with pytest.raises(InputError, match="the table is away"):
            desk.take("t", wait=30)
        found = None
        while found is None:
            found = desk.take("t", wait=30)
        desk.answer("t", found["row"], 0.0)
