"""A server between client and Gailou that fails as often as a test says, and passes everything else on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx

CLOSE_POLL_SECONDS = 0.02


@dataclass
class Fault:
    """What happens to one request in the place of an answer.

    `passes_on` says whether Gailou gets it all the same, so that the answer alone is lost. Without a `status` the
    connection is closed.
    """

    status: int | None = None
    code: str = "unavailable"
    headers: dict[str, str] = field(default_factory=dict)
    passes_on: bool = False


@dataclass
class Received:
    """A request as the client has sent it."""

    method: str
    path: str
    headers: Message


class FaultServer:
    """Listens on a free port until it is closed. `faults` meet the next requests in order; None lets one pass."""

    def __init__(self, upstream: str) -> None:
        self.faults: list[Fault | None] = []
        self.received: list[Received] = []
        self._http = httpx.Client(base_url=upstream)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        Thread(target=self._server.serve_forever, args=[CLOSE_POLL_SECONDS], daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._http.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        faults, received, http = self.faults, self.received, self._http

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.respond()

            def do_POST(self) -> None:
                self.respond()

            def respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                received.append(Received(self.command, self.path, self.headers))
                fault = faults.pop(0) if faults else None
                if fault is None or fault.passes_on:
                    kept = {k: v for k, v in self.headers.items() if k.lower() != "host"}
                    passed = http.request(self.command, self.path, content=body, headers=kept)
                if fault is None:
                    self.answer(passed.status_code, {}, passed.content)
                elif fault.status is not None:
                    problem = {"status": fault.status, "code": fault.code, "detail": "a fault"}
                    self.answer(fault.status, fault.headers, json.dumps(problem).encode())

            def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
