"""A client of the HTTP interface of Gailou, the comment system."""

from gailou.client import Client
from gailou.errors import GailouError
from gailou.schema import Comment, CommentPage, FieldError, Role, Sort, Subject
from gailou.tokens import sign_token

__all__ = [
    "Client",
    "Comment",
    "CommentPage",
    "FieldError",
    "GailouError",
    "Role",
    "Sort",
    "Subject",
    "sign_token",
]
