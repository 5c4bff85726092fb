"""A served review in a process of its own, and what a page would send to it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from nnpu.review import ListReview

HOSTILE = "</script><script>document.title='taken'</script>\u202e\x00\x07\ud800"
SERVE = """
import sys
from nnpu.review.desk import Desk
from nnpu.review.serve import serve
folder, by, cell = sys.argv[1:4]
cell = cell.encode().decode("unicode_escape")
def describe(rows):
    cells = lambda row: [{"name": cell, "text": f"row {row} {cell}", "image": None}]
    return [{"cells": cells(row), "why": cell} for row in rows]
say = lambda address: print(address, flush=True)
serve(Desk(folder, describe, by=by), announce=say)
"""


def made_review(folder, n=400, seed=0):
    """Keep a review of a made-up table; return the truth."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.2
    x = rng.normal(size=(n, 3))
    x[:, 0] += 1.5 * y
    x[:, 1] += 2.0 * y
    ListReview(x[:, 0], x).save(folder)
    return y


class Served:
    """A server that was started; `address` is what it announced."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = b""
        while b"http://" not in line:
            line = self.process.stdout.readline()
            if not line:
                words = self.process.stderr.read().decode()
                self.close()
                raise AssertionError(words)
        self.address = line.decode().split()[-1]
        parts = urlsplit(self.address)
        self.host, self.path = parts.netloc, parts.path

    def ask(self, action="", body=None, *, method=None, path=None, tab="t", **headers):
        """Return status, headers and content of a request; those of our page by default."""
        method = method or ("POST" if action else "GET")
        named = {"Host": self.host} | ({"Origin": f"http://{self.host}"} if action else {})
        named |= headers
        content = body
        if isinstance(body, dict) or (body is None and action):
            content = json.dumps({"tab": tab} | (body or {})).encode()
        connection = http.client.HTTPConnection(*self.host.split(":"), timeout=60)
        try:
            where = (self.path if path is None else path) + action
            connection.putrequest(method, where, skip_host=True, skip_accept_encoding=True)
            for name, value in named.items():
                if value is not None:
                    connection.putheader(name, value)
            if content is not None:
                connection.putheader("Content-Length", str(len(content)))
            connection.endheaders(content)
            got = connection.getresponse()
            return got.status, dict(got.getheaders()), got.read()
        finally:
            connection.close()

    def do(self, action, tab="t", **body):
        """Return what the page is told, once a row is ready."""
        while True:
            status, _, content = self.ask(action, body, tab=tab)
            found = json.loads(content)
            if status != 200 or found["state"] != "ranking":
                return status, found
            action, body = "next", {}

    def kill(self):
        self.process.kill()
        self.close()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        self.close()

    def close(self):
        self.process.wait(timeout=60)
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()


def start(folder, by="", cell=HOSTILE):
    """Serve a kept review whose cells hold `cell`."""
    escaped = cell.encode("unicode_escape").decode()
    return Served([sys.executable, "-c", SERVE, str(folder), by, escaped])


def start_command(*arguments):
    """Start ``nnpu review`` with these arguments."""
    return Served([sys.executable, "-m", "nnpu", "review", *map(str, arguments)])


def logged(folder):
    """Return the events of a review's log."""
    return [json.loads(line) for line in (Path(folder) / "looks.jsonl").read_text().splitlines()]


def answered(folder):
    """Return the rows of the answers in a review's log, in their order."""
    return [row for event in logged(folder) for row, _ in event.get("answer", ())]
