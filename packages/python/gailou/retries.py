"""Repeats a request that failed for a reason that passes."""

from __future__ import annotations

import random
from typing import Callable, TypeVar

import httpx

from gailou.errors import GailouError

MAX_RETRIES = 4
"""With a backoff of 1 s that doubles: 15 s of waiting in all, unless the server asks for more."""
MAX_WAIT_SECONDS = 60.0
"""A server that asks for a longer wait gets no retry."""
FIRST_BACKOFF_SECONDS = 1.0
JITTER = 0.2
"""Each wait is up to this part shorter or longer, so that clients do not return at the same moment."""

PASSING_STATUSES = frozenset({429, 502, 503, 504})
"""Too many requests, and a server that cannot be reached or has too much to do."""
NO_ANSWER = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)
"""The connection broke, or took too long: whether the server has done what was asked is unknown."""

Result = TypeVar("Result")


def retry(attempt: Callable[[], Result], sleep: Callable[[float], None]) -> Result:
    """Runs `attempt`, which must be safe to repeat, and again while it fails for a reason that passes.

    Raises the last error when the retries are used up, and every other error at once.
    """
    for retries in range(MAX_RETRIES):
        try:
            return attempt()
        except NO_ANSWER:
            asked_seconds = 0.0
        except GailouError as error:
            if error.status not in PASSING_STATUSES or error.retry_after_seconds > MAX_WAIT_SECONDS:
                raise
            asked_seconds = error.retry_after_seconds
        backoff_seconds = (
            FIRST_BACKOFF_SECONDS * 2**retries * random.uniform(1 - JITTER, 1 + JITTER)
        )
        sleep(max(asked_seconds, backoff_seconds))
    return attempt()
