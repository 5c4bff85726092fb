"""A page that learns: a review down a list, answered in a browser of this machine.

The server listens on the loopback interface alone. Its address holds a random token, new at every
start. A request with another path, another ``Host`` (a foreign name that was made to lead here) or
the ``Origin`` of another site gets an empty answer. Cells of the table travel as JSON and are shown
as text: none can become a part of the page, whose policy allows no script but its own file.

Every answer is on the disk before the next row is sent.
"""

from __future__ import annotations

import json
import secrets
import socket
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from nnpu.extras import needing
from nnpu.parameters import InputError
from nnpu.review.sheets import parse_answer
from nnpu.templating import environment

with needing("starlette", extra="serve", owner="nnpu review --serve"):
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import Response
    from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from nnpu.review.desk import Desk

__all__ = ["make_app", "serve"]

_HOST = "127.0.0.1"
_LARGEST = 10_000  # bytes of a request
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def serve(
    desk: Desk,
    *,
    question: str = "Is this row a positive?",
    port: int = 0,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve a review until Ctrl-C.

    Parameters
    ----------
    desk : Desk
        Which rows are shown, and where answers go.
    question : str
        What is asked of every row.
    port : int, default=0
        Of the loopback interface; 0 takes a free one.
    announce : callable
        Is given the address of the page once it can be opened.
    """
    try:
        listener = socket.create_server((_HOST, port))
    except OSError as error:
        raise InputError(
            f"--port {port} cannot be used ({error.strerror}); choose another one, or leave it out."
        ) from error
    token = secrets.token_urlsafe(24)
    port = listener.getsockname()[1]
    # One implementation of the protocol, whatever else is installed.
    how = {"http": "h11", "loop": "asyncio", "ws": "none", "lifespan": "off"}
    app = make_app(desk, token, port, question=question)
    quiet = {"log_level": "error", "access_log": False, "server_header": False}
    settings: Any = {**how, **quiet, "timeout_graceful_shutdown": 2}
    server = uvicorn.Server(uvicorn.Config(app, **settings))
    with listener, desk:
        announce(f"http://{_HOST}:{port}/{token}/")
        server.run(sockets=[listener])


def make_app(
    desk: Desk, token: str, port: int, *, question: str = "Is this row a positive?"
) -> ASGIApp:
    """Return the application that `serve` runs.

    Parameters
    ----------
    desk : Desk
        Which rows are shown, and where answers go.
    token : str
        The first part of every path.
    port : int
        The port that requests name.
    question : str
        What is asked of every row.
    """
    template = environment("nnpu.review").get_template("work.html")
    folder = files("nnpu.review").joinpath("templates")
    style = "".join(
        folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "work.css")
    )
    script = folder.joinpath("work.js").read_text(encoding="utf-8")

    def page(request: Request) -> Response:
        tab = secrets.token_urlsafe(12)  # a copy of a tab is a tab of its own
        text = template.render(question=question, by=desk.by, tab=tab)
        return Response(text, media_type="text/html")

    def sheet(request: Request) -> Response:
        return Response(style, media_type="text/css")

    def code(request: Request) -> Response:
        return Response(script, media_type="text/javascript")

    async def act(request: Request) -> Response:
        try:
            wanted = await _body(request)
            return await run_in_threadpool(_acted, desk, request.path_params["action"], wanted)
        except _RefusedError:
            return Response(status_code=400)
        except InputError as error:
            return _json({"error": str(error)}, status=409)
        except OSError as error:
            words = f"Not saved: {error.strerror or error}. Fix that, then answer again."
            return _json({"error": words}, status=500)

    routes = [
        Route("/", page, methods=["GET"]),
        Route("/work.css", sheet, methods=["GET"]),
        Route("/work.js", code, methods=["GET"]),
        Route("/{action:str}", act, methods=["POST"]),
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False  # a redirection would not know the token
    return _Door(app, token, port)


class _RefusedError(Exception):
    """A request that our page does not make."""


async def _body(request: Request) -> dict[str, str]:
    """Return the JSON object of a request: names and strings."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST:
            raise _RefusedError
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:  # the latter of a thousand brackets
        raise _RefusedError from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise _RefusedError
    return found


def _acted(desk: Desk, action: str, wanted: dict[str, str]) -> Response:
    """Do what the page asks for, and return the row that its tab shows next."""
    tab = wanted.get("tab", "")
    if not tab or len(tab) > 100:
        raise _RefusedError
    if action == "release":
        desk.release(tab)
        return Response(status_code=204)
    if action == "answer":
        try:
            number, answer = int(wanted["row"]), parse_answer(wanted["answer"])
        except (KeyError, ValueError) as error:
            raise _RefusedError from error
        if answer is None:
            raise _RefusedError
        desk.answer(tab, number, answer)
    elif action == "undo":
        desk.undo(tab)
    elif action != "next":
        raise _RefusedError
    row = desk.take(tab)
    state = "row" if row else "spent" if desk.spent else "ranking"
    found = {"state": state, "row": row, "status": desk.status(), "undo": desk.can_undo(tab)}
    return _json(found)


def _json(values: dict[str, Any], status: int = 200) -> Response:
    # ASCII: a cell may hold half of a surrogate pair, which has no UTF-8.
    content = json.dumps(values, allow_nan=False)
    return Response(content, status, media_type="application/json")


class _Door:
    """Lets in the requests of our own page, and takes the token off their paths."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.prefix = app, f"/{token}"
        self.hosts = [f"{name}:{port}" for name in (_HOST, "localhost")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.lower().encode(), value.encode()) for name, value in _HEADERS.items()),
                ]
            await send(message)

        path = self._inside(scope)
        if path is None:
            await Response(status_code=403)(scope, receive, with_headers)
        else:
            inner = {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}
            await self.app(inner, receive, with_headers)

    def _inside(self, scope: Scope) -> str | None:
        """Return the path behind the token, or None for a request that is not from our page."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        hosts, origins = headers.get("host", []), headers.get("origin", [])
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return None
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return None
        if scope["method"] == "POST" and not origins:  # a browser always names it
            return None
        path, start = str(scope["path"]), f"{self.prefix}/"
        if not secrets.compare_digest(path[: len(start)].encode(), start.encode()):
            return None
        return "/" + path[len(start) :]
