"""Settings of the whole suite: the same examples on every run, and no network."""

from __future__ import annotations

import sys
from typing import Any

from hypothesis import settings

# The same examples on every run: a red suite means a change in the code, and a slow machine is
# not a failure. `--hypothesis-profile=default` searches at random.
settings.register_profile("nnpu", deadline=None, derandomize=True)
settings.load_profile("nnpu")

_HERE = {"", "localhost", "127.0.0.1", "::1", "0.0.0.0", None}
_ADDRESS_AT = {
    "socket.connect": 1,
    "socket.sendto": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.gethostbyaddr": 0,
}


class NetworkOffError(RuntimeError):
    """Something reached for another machine. Not an OSError: no retry may swallow it."""


def refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Stop every connection and every look-up of a name, but for this machine's own.

    An audit hook sees them all, whatever library makes them, and cannot be taken off again.
    Sockets of this machine (loopback, AF_UNIX, whose address is a path) are let through.
    """
    if event not in _ADDRESS_AT:
        return
    address = arguments[_ADDRESS_AT[event]]
    host = address[0] if isinstance(address, tuple) else address
    of_a_path = event in ("socket.connect", "socket.sendto") and not isinstance(address, tuple)
    if not of_a_path and host not in _HERE:
        raise NetworkOffError(f"{event} {address}: the tests run without a network")


sys.addaudithook(refuse_network)
