"""Tokens of members, which a site signs with the secret that it shares with the server."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import jwt

from gailou.schema import Role

MAX_LIFETIME = timedelta(days=30)
MIN_SECRET_BYTES = 32


def sign_token(
    secret: str,
    member_id: int | str,
    name: str,
    *,
    avatar: str | None = None,
    email: str | None = None,
    level: int | None = None,
    role: Role | None = None,
    lifetime: timedelta = timedelta(hours=1),
    audience: str = "gailou",
) -> str:
    """Signs a token (JWT, HS256) with which a member of your site writes.

    `secret` is the server's GAILOU_TOKEN_SECRET; keep it on your server, because it signs for every member.
    `member_id` is your own id of the member, a number below 2^62. Without a `role` they are an ordinary member.
    Raises ValueError for a secret of fewer than 32 bytes, and for a lifetime that is not between 0 and 30 days.
    """
    key = secret.encode()
    if len(key) < MIN_SECRET_BYTES:
        raise ValueError(f"the secret must have {MIN_SECRET_BYTES} bytes or more")
    if not timedelta(0) < lifetime <= MAX_LIFETIME:
        raise ValueError(
            f"a token may be valid for {MAX_LIFETIME.days} days at most, and not for {lifetime}"
        )
    now = int(time.time())
    claims: dict[str, Any] = {
        "sub": str(member_id),
        "name": name,
        "avatar": avatar,
        "email": email,
        "level": level,
        "role": role,
        "aud": audience,
        "iat": now,
        "exp": now + int(lifetime.total_seconds()),
    }
    given = {claim: value for claim, value in claims.items() if value is not None}
    return jwt.encode(given, key, algorithm="HS256")
