"""The client against a real server, which GAILOU_BASE names; GAILOU_TOKEN_SECRET is the secret of its tokens.

python -m unittest discover packages/python/tests
"""

from __future__ import annotations

import os
import unittest
import uuid
from datetime import timedelta

import httpx
from fault_server import Fault, FaultServer

from gailou import Client, GailouError, sign_token
from gailou.client import MAX_RESTARTS
from gailou.retries import MAX_RETRIES, MAX_WAIT_SECONDS

BASE = os.environ["GAILOU_BASE"]
SECRET = os.environ["GAILOU_TOKEN_SECRET"]

DROPPED = Fault()
ANSWER_LOST = Fault(passes_on=True)
UNAVAILABLE = Fault(status=503)
EXPIRED = Fault(status=410, code="cursor_expired")


def new_subject() -> str:
    """A slash in the key has to be encoded."""
    return f"article/test/{uuid.uuid4()}"


def token_of_ann() -> str:
    return sign_token(SECRET, 7, "Ann", level=3)


def contents(client: Client, subject: str) -> list[str]:
    return [comment["content"] for comment in client.comments(subject, sort="old")]


class Tokens(unittest.TestCase):
    def test_member_of_a_token_is_the_author(self) -> None:
        token = sign_token(SECRET, 8, "Bo", level=3, role="moderator", lifetime=timedelta(days=30))
        with Client(BASE, token) as client:
            author = client.post(new_subject(), "Hello")["author"]
        assert author is not None
        self.assertEqual((author["id"], author["name"], author["level"]), ("8", "Bo", 3))
        self.assertEqual(author["role"], "moderator")

    def test_token_of_another_secret_is_refused(self) -> None:
        forged = sign_token("x" * 32, 7, "Ann")
        with Client(BASE, forged) as client, self.assertRaises(GailouError) as raised:
            client.post(new_subject(), "Hello")
        self.assertEqual((raised.exception.status, raised.exception.code), (401, "token_invalid"))

    def test_short_secret_and_wrong_lifetime_sign_nothing(self) -> None:
        with self.assertRaises(ValueError):
            sign_token("x" * 31, 7, "Ann")
        for lifetime in (timedelta(0), timedelta(days=30, seconds=1)):
            with self.assertRaises(ValueError):
                sign_token(SECRET, 7, "Ann", lifetime=lifetime)

    def test_function_gives_a_token_for_each_request(self) -> None:
        tokens = [token_of_ann(), ""]
        with Client(BASE, lambda: tokens.pop(0)) as client:
            client.post(new_subject(), "Hello")
            with self.assertRaises(GailouError) as raised:
                client.post(new_subject(), "Hello")
        self.assertEqual(raised.exception.code, "token_missing")


class Requests(unittest.TestCase):
    def test_refusal_names_each_wrong_field(self) -> None:
        with Client(BASE, token_of_ann()) as client, self.assertRaises(GailouError) as raised:
            client.post(new_subject(), " ")
        error = raised.exception
        self.assertEqual((error.status, error.code), (400, "invalid_request"))
        self.assertEqual([wrong["field"] for wrong in error.errors], ["content"])

    def test_answer_without_a_body_is_none(self) -> None:
        with Client(BASE, token_of_ann()) as client:
            comment = client.post(new_subject(), "Hello")
            self.assertIsNone(client.request("DELETE", f"/v1/comments/{comment['id']}"))

    def test_answer_of_a_proxy_gets_a_code(self) -> None:
        proxy = httpx.MockTransport(lambda _: httpx.Response(413, text="<h1>Too large</h1>"))
        with Client(BASE, transport=proxy) as client, self.assertRaises(GailouError) as raised:
            client.request("GET", "/v1/latest")
        self.assertEqual((raised.exception.code, raised.exception.detail), ("internal", ""))


class WithFaults(unittest.TestCase):
    """A client behind a server that fails; its waits are recorded, and take no time."""

    def setUp(self) -> None:
        self.server = FaultServer(BASE)
        self.addCleanup(self.server.close)
        self.waits: list[float] = []
        self.client = Client(self.server.base_url, token_of_ann(), sleep=self.waits.append)
        self.addCleanup(self.client.close)
        self.subject = new_subject()


class Lists(WithFaults):
    def setUp(self) -> None:
        super().setUp()
        self.texts = [f"Comment {number}" for number in range(5)]
        self.posted = [self.client.post(self.subject, text) for text in self.texts]
        self.server.received.clear()

    def read(self) -> list[str]:
        comments = self.client.comments(self.subject, sort="old", page_size=2)
        return [comment["content"] for comment in comments]

    def test_all_pages_are_read(self) -> None:
        self.assertEqual(self.read(), self.texts)
        self.assertEqual(len(self.server.received), 3)

    def test_replies_are_read_to_their_end(self) -> None:
        root = self.posted[0]["id"]
        for text in self.texts:
            self.client.post(self.subject, text, root)
        replies = list(self.client.replies(root, sort="old", page_size=2))
        self.assertEqual([reply["content"] for reply in replies], self.texts)
        self.assertEqual({reply["parent_id"] for reply in replies}, {root})

    def test_subject_without_comments_is_empty(self) -> None:
        self.assertEqual(contents(self.client, new_subject()), [])

    def test_expired_cursor_starts_again_past_the_caches(self) -> None:
        self.server.faults += [None, None, EXPIRED]
        self.assertEqual(self.read(), self.texts)
        first, _, expired, again = self.server.received[:4]
        self.assertIn("cursor=", expired.path)
        self.assertEqual(again.path, first.path)
        self.assertIsNone(first.headers["Cache-Control"])
        self.assertEqual(again.headers["Cache-Control"], "no-cache")

    def test_list_that_always_expires_is_given_up(self) -> None:
        self.server.faults += [None, EXPIRED] * (MAX_RESTARTS + 1)
        with self.assertRaises(GailouError) as raised:
            self.read()
        self.assertEqual(raised.exception.code, "cursor_expired")
        self.assertEqual(self.server.faults, [])

    def test_reading_waits_for_the_server(self) -> None:
        self.server.faults += [None, UNAVAILABLE, DROPPED]
        self.assertEqual(self.read(), self.texts)
        self.assertEqual(len(self.waits), 2)


class Posts(WithFaults):
    def assert_refused(self, status: int, attempts: int) -> None:
        with self.assertRaises(GailouError) as raised:
            self.client.post(self.subject, "Hello")
        self.assertEqual(raised.exception.status, status)
        self.assertEqual(len(self.server.received), attempts)

    def test_faults_make_one_comment(self) -> None:
        self.server.faults += [ANSWER_LOST, DROPPED, UNAVAILABLE, Fault(status=503, passes_on=True)]
        comment = self.client.post(self.subject, "Hello")
        keys = {request.headers["Idempotency-Key"] for request in self.server.received}
        self.assertEqual((len(self.server.received), len(keys)), (5, 1))
        listed = list(self.client.comments(self.subject))
        self.assertEqual([listed_one["id"] for listed_one in listed], [comment["id"]])

    def test_two_posts_have_two_keys(self) -> None:
        self.client.post(self.subject, "Hello")
        self.client.post(self.subject, "Hello")
        self.assertEqual(contents(self.client, self.subject), ["Hello", "Hello"])

    def test_key_of_the_caller_holds_over_calls(self) -> None:
        key = str(uuid.uuid4())
        first = self.client.post(self.subject, "Hello", idempotency_key=key)
        again = self.client.post(self.subject, "Hello", idempotency_key=key)
        self.assertEqual(first["id"], again["id"])

    def test_waits_grow_and_respect_retry_after(self) -> None:
        limited = Fault(status=429, code="rate_limited", headers={"Retry-After": "7"})
        self.server.faults += [UNAVAILABLE, limited, DROPPED]
        self.client.post(self.subject, "Hello")
        first, second, third = self.waits
        self.assertTrue(0.8 <= first <= 1.2, first)
        self.assertEqual(second, 7)
        self.assertTrue(3.2 <= third <= 4.8, third)

    def test_other_refusals_are_not_repeated(self) -> None:
        for status in (400, 401, 403, 404, 409, 413, 422, 500):
            self.server.received.clear()
            self.server.faults.append(Fault(status=status))
            self.assert_refused(status, attempts=1)
        self.assertEqual(self.waits, [])

    def test_retries_end(self) -> None:
        self.server.faults += [UNAVAILABLE] * (MAX_RETRIES + 1)
        self.assert_refused(503, attempts=MAX_RETRIES + 1)

    def test_broken_connections_end_with_the_error_of_httpx(self) -> None:
        self.server.faults += [DROPPED] * (MAX_RETRIES + 1)
        with self.assertRaises(httpx.TransportError):
            self.client.post(self.subject, "Hello")

    def test_long_wait_is_left_to_the_caller(self) -> None:
        too_long = str(int(MAX_WAIT_SECONDS) + 1)
        self.server.faults.append(Fault(status=429, headers={"Retry-After": too_long}))
        self.assert_refused(429, attempts=1)


if __name__ == "__main__":
    unittest.main()
