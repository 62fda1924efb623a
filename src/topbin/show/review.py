"""The review page: a few static files and six answers in JSON, for this machine alone.

Whoever knows the address may label: it contains a random token, and there is no cookie, so no other
site can act in the name of the person who has it open. The Host header is checked, because a
site can give its own name the address of this machine. The page asks no other server for anything.
"""

import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Any

from topbin.core.errors import InputError, TopbinError, option
from topbin.core.optional import require

HOST = "127.0.0.1"
TYPES = {"review.html": "text/html", "review.css": "text/css", "review.js": "text/javascript"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def review_app(review: Any, token: str) -> Any:
    """The ASGI application for a `Review`; all addresses begin with the token."""
    names = "applications", "routing", "responses", "middleware.trustedhost", "concurrency"
    web, routing, responses, hosts, threads = (
        require(f"starlette.{name}", extra="review", caller="topbin review") for name in names
    )
    handlers = _handlers(review)

    async def endpoint(request: Any) -> Any:
        name, status = request.path_params["name"] or "review.html", 200
        if (refused := _refusal(request, token)) is not None:
            return responses.Response(refused, 403, HEADERS, "text/plain")
        if name in TYPES:
            text = files("topbin.show").joinpath("templates", name).read_bytes()
            return responses.Response(text, 200, HEADERS, TYPES[name])
        try:
            query = await request.json() if request.method == "POST" else request.query_params
            # Beside the event loop, so that a slow answer to one page does not stop the others.
            content = await threads.run_in_threadpool(handlers[request.method, name], query)
        except TopbinError as error:
            content, status = {"error": f"{error.code} {error.in_command}"}, 422
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            content, status = {"error": f"the request was not understood: {error!r}"}, 400
        return responses.JSONResponse(content, status, HEADERS)

    routes = [routing.Route("/{token}/{name:path}", endpoint, methods=["GET", "POST"])]
    inner = web.Starlette(routes=routes)
    inner.router.redirect_slashes = False  # what is not ours gets no hint of what would be
    return hosts.TrustedHostMiddleware(inner, [HOST, "localhost"], www_redirect=False)


def _handlers(review: Any) -> Mapping[tuple[str, str], Callable[[Any], Any]]:
    """What the page asks for, by method and by the last part of the address."""

    def next_row(query: Any) -> Any:
        return {"row": review.next_row(str(query["page"])), "progress": review.progress()}

    def row(query: Any) -> Any:
        return {"row": review.row(int(query["row"])), "progress": review.progress()}

    def answer(query: Any) -> Any:
        seen = query.get("seen")
        earlier = review.save(int(query["row"]), str(query["answer"]), seen=seen)
        return {"earlier": earlier} if earlier else next_row(query)

    def state(query: Any) -> Any:
        review.stay(str(query["page"]))
        name = review.folder.resolve().name
        about = {"run": name, "where": review.where, "question": review.question}
        about["learns"] = review.learns
        return {**about, "progress": review.progress(), "judged": review.judged()}

    def judge(query: Any) -> Any:
        return {"judged": review.judge()}

    def more(query: Any) -> Any:
        review.more()
        return next_row(query)

    return {("GET", "next"): next_row, ("GET", "row"): row, ("GET", "state"): state,
            ("POST", "answer"): answer, ("POST", "judge"): judge,
            ("POST", "more"): more}  # fmt: skip


def _refusal(request: Any, token: str) -> str | None:
    """Why a request is not answered, or None."""
    headers = request.headers
    if not secrets.compare_digest(request.path_params["token"].encode(), token.encode()):
        return "Open the whole address that topbin review printed: it contains a token."
    is_ours = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    if not is_ours or headers.get("origin") not in (None, f"http://{headers['host']}"):
        return "Another site asked for this."
    if request.method == "POST" and headers.get("content-type") != "application/json":
        return "Answers are sent as application/json."
    return None


def open_port(port: int = 0) -> socket.socket:
    """A socket of this machine alone; port 0 is any free one."""
    # The protocol is named because asyncio otherwise lets answers wait 40 ms for more to send.
    server_socket = socket.socket(proto=socket.IPPROTO_TCP)
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server_socket.bind((HOST, port))
        server_socket.listen()  # from now on, so that whoever has the address is only kept waiting
    except OSError as error:
        server_socket.close()
        raise InputError(
            "TB008",
            f"port {port} cannot be used: {error.strerror}. Leave out {option('port')}, or choose "
            "another one.",
        ) from error  # fmt: skip
    return server_socket


def serve(app: Any, server_socket: socket.socket) -> None:
    """Answer until somebody presses Ctrl-C."""
    uvicorn = require("uvicorn", extra="review", caller="topbin review")
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[server_socket])
