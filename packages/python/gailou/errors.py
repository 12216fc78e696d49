"""What the server says when it refuses a request."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from gailou.schema import FieldError


class GailouError(Exception):
    """An answer that is no success. A request that gets no answer raises the error of httpx.

    `code` is stable and made for programs; an answer that is not Gailou's own, such as that of a proxy, gets one by its
    status. `errors` names each wrong field. `retry_after_seconds` is how long the server asks to wait, 0 when it asks
    nothing. `problem` is the whole body (RFC 9457), empty when it is none.
    """

    def __init__(self, response: httpx.Response) -> None:
        self.status: int = response.status_code
        self.problem: dict[str, Any] = _parse_problem(response.text)
        unnamed = "unavailable" if self.status >= 502 else "internal"
        self.code: str = self.problem.get("code", unnamed)
        self.detail: str = self.problem.get("detail", "")
        self.errors: list[FieldError] = self.problem.get("errors", [])
        self.retry_after_seconds: float = parse_retry_after(response.headers.get("Retry-After", ""))
        super().__init__(f"{self.status} {self.code}: {self.detail}")


def parse_retry_after(value: str) -> float:
    """Seconds, or an HTTP date; 0 for anything else and for a date in the past."""
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def _parse_problem(text: str) -> dict[str, Any]:
    try:
        problem = json.loads(text)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
