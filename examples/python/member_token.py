"""A member's token: a JWT that your site signs for the member who is signed in there.

    GAILOU_TOKEN_SECRET=… python3 examples/python/member_token.py 7 Ann

Sign on the server, never in the browser: anyone who has the secret can be any member.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time


def member_token(member_id, name, secret, role="member", level=0, seconds=3600):
    """`member_id` is your own id of the member, a number below 2^62; `secret` is the server's
    GAILOU_TOKEN_SECRET, 32 bytes or more. A token may be good for 30 days at most."""
    now = int(time.time())
    claims = {
        "sub": str(member_id),
        "name": name,
        "role": role,
        "level": level,
        "aud": "gailou",
        "iat": now,
        "exp": now + seconds,
    }
    signed = part({"alg": "HS256", "typ": "JWT"}) + "." + part(claims)
    return signed + "." + text(hmac.digest(secret.encode(), signed.encode(), hashlib.sha256))


def part(value):
    return text(json.dumps(value).encode())


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 3 or "GAILOU_TOKEN_SECRET" not in os.environ:
        sys.exit("usage: GAILOU_TOKEN_SECRET=… python3 member_token.py ID NAME")
    print(member_token(sys.argv[1], sys.argv[2], os.environ["GAILOU_TOKEN_SECRET"]))
