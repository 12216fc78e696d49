"""The client: lists as iterators, posts that are safe to repeat, and every other call by `request`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, Literal, Union
from urllib.parse import quote

import httpx

from gailou._typing import TypeAlias
from gailou.errors import GailouError
from gailou.retries import retry
from gailou.schema import Comment, CommentPage, NewComment, Sort, Visibility

TIMEOUT_SECONDS = 20.0
MAX_PAGE_SIZE = 100
MAX_RESTARTS = 3
"""A list whose cursors expire more often is not read to its end."""

ReplySort: TypeAlias = Literal["hot", "old", "new"]
Token: TypeAlias = Union[str, Callable[[], str], None]


class Client:
    """A client of one server; use it in a `with` statement, or call `close`.

    `token` is that of a member or a guest, or a function that gives one before each request; without it the client
    only reads. `transport` and `sleep` take the place of the network and the clock, for example in tests.
    """

    def __init__(
        self,
        base_url: str,
        token: Token = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._token = token
        self._sleep = sleep
        self._http = httpx.Client(base_url=base_url, timeout=timeout_seconds, transport=transport)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Sends one request, once: `client.request("GET", "/v1/comments/123")`.

        Returns the JSON of the answer, None where it has no body. Raises GailouError when the server refuses, and
        httpx.TransportError when no answer comes.
        """
        token = self._token() if callable(self._token) else self._token
        sent = dict(headers or {})
        if token:
            sent["Authorization"] = f"Bearer {token}"
        response = self._http.request(method, path, params=params, json=body, headers=sent)
        if not response.is_success:
            raise GailouError(response)
        return response.json() if response.content else None

    def comments(
        self, subject: str, *, sort: Sort = "hot", page_size: int = MAX_PAGE_SIZE
    ) -> Iterator[Comment]:
        """The roots of a subject, such as "article/hello", to the end of the list, each once."""
        return self._read_to_end(f"{_subject_path(subject)}/comments", sort, page_size)

    def replies(
        self, comment_id: str, *, sort: ReplySort = "hot", page_size: int = MAX_PAGE_SIZE
    ) -> Iterator[Comment]:
        """Everything below a comment, as a flat list, to its end, each once."""
        return self._read_to_end(
            f"/v1/comments/{quote(comment_id, safe='')}/replies", sort, page_size
        )

    def post(
        self,
        subject: str,
        content: str,
        parent_id: str | None = None,
        *,
        mentions: Sequence[str] = (),
        media: Sequence[str] = (),
        visibility: Visibility = "everyone",
        idempotency_key: str | None = None,
    ) -> Comment:
        """Posts a comment, or with `parent_id` a reply, and returns it; its `state` is `review` when it is held.

        Posts again, with the same key, when no answer comes, and when the server has too much to do or asks to wait:
        however often it is sent, it is one comment. With an `idempotency_key` of your own that holds for repeated
        calls within 24 hours, too. Raises what `request` raises: GailouError when the server refuses, or has not had
        time after several attempts.
        """
        comment: NewComment = {
            "content": content,
            "parent_id": parent_id,
            "mentions": list(mentions),
            "media": list(media),
            "visibility": visibility,
        }
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        path = f"{_subject_path(subject)}/comments"
        posted: Comment = retry(
            lambda: self.request("POST", path, body=comment, headers=headers), self._sleep
        )
        return posted

    def _read_to_end(self, path: str, sort: str, page_size: int) -> Iterator[Comment]:
        """Follows the cursors. When one has expired, the list starts again, and nothing is given twice."""
        seen: set[str] = set()
        cursor: str | None = None
        restarts = 0
        while True:
            try:
                page = self._read_page(path, sort, page_size, cursor, past_caches=restarts > 0)
            except GailouError as error:
                if error.code != "cursor_expired" or restarts == MAX_RESTARTS:
                    raise
                cursor = None
                restarts += 1
                continue
            for comment in page["data"]:
                if comment["id"] not in seen:
                    seen.add(comment["id"])
                    yield comment
            cursor = page["page"]["next"]
            if cursor is None:
                return

    def _read_page(
        self, path: str, sort: str, page_size: int, cursor: str | None, *, past_caches: bool
    ) -> CommentPage:
        params: dict[str, str | int] = {"sort": sort, "limit": page_size}
        if cursor is not None:
            params["cursor"] = cursor
        headers = {"Cache-Control": "no-cache"} if past_caches else {}
        page: CommentPage = retry(
            lambda: self.request("GET", path, params=params, headers=headers), self._sleep
        )
        return page


def _subject_path(subject: str) -> str:
    """The type ends at the first slash; the key may have more of them."""
    subject_type, _, key = subject.partition("/")
    return f"/v1/subjects/{quote(subject_type, safe='')}/{quote(key, safe='')}"
