"""No network: the switch under which the suite runs bites, and nothing of ours needs one."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request

import pytest

# 192.0.2.1 is reserved for documentation: nobody is there.
OUTSIDE = {
    "a connection": lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
    "a datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 9)),
    "a name": lambda: socket.getaddrinfo("example.org", 80),
    "a page": lambda: urllib.request.urlopen("http://example.org", timeout=1),
}


@pytest.mark.parametrize("what", OUTSIDE)
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_the_switch_stops_whatever_reaches_out(what, tmp_path, monkeypatch):
    monkeypatch.setenv("NNPU_CACHE", str(tmp_path))
    monkeypatch.delenv("NNPU_DATA", raising=False)
    with pytest.raises(RuntimeError, match="the tests run without a network"):
        OUTSIDE[what]()


def test_the_switch_lets_this_machine_talk_to_itself():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
        server.accept()[0].close()


USE = """
import sys
used = []
sys.addaudithook(lambda event, arguments: used.append(event) if event[:7] == "socket." else None)
import numpy as np
import nnpu
from nnpu.cli import main
x, s = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3 == 0
for clf in (nnpu.PUClassifier(epochs=1, random_state=0), nnpu.LinearPU(0.4)):
    clf.fit(x, s).predict(x)
    nnpu.load(clf.save(sys.argv[1])).predict_proba(x)
np.savez(sys.argv[1] + ".npz", x=x, s=s.astype(int))
main(["fit", sys.argv[1] + ".npz", "--label", "s", "--out", sys.argv[1], "--epochs", "1",
      "--prior", "0.5", "--json"])
assert not used, used
"""


def test_import_fit_predict_and_the_command_line_open_no_socket(tmp_path):
    command = [sys.executable, "-c", USE, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
