#!/usr/bin/env python3
"""Checks the licence of every crate in Cargo.lock against the list of those we may ship.

Reads `cargo metadata`; an SPDX expression passes when some choice of its ORs is wholly on the list.
Not looked at: Node packages, none of which is shipped.
"""

import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
# Exceptions only ever permit more.
EXCEPTIONS = {"LLVM-exception"}

TOKEN = re.compile(r"[()]|[^\s()]+")


class Expression:
    """expression := term (OR term)*; term := factor (AND factor)*; factor := id [WITH id] | (expression)"""

    def __init__(self, text):
        # "MIT/Apache-2.0" is how OR was written before SPDX expressions.
        self.tokens = TOKEN.findall(text.replace("/", " OR "))
        self.at = 0

    def allowed(self):
        result = self.any()
        if self.at != len(self.tokens):
            raise ValueError(f"unexpected {self.tokens[self.at]!r}")
        return result

    def take(self, *words):
        if self.at < len(self.tokens) and self.tokens[self.at].upper() in words:
            self.at += 1
            return True
        return False

    def any(self):
        result = self.all()
        while self.take("OR"):
            result = self.all() or result
        return result

    def all(self):
        result = self.one()
        while self.take("AND"):
            result = self.one() and result
        return result

    def one(self):
        if self.take("("):
            result = self.any()
            if not self.take(")"):
                raise ValueError("missing )")
            return result
        result = self.name() in ALLOWED
        if self.take("WITH"):
            result = self.name() in EXCEPTIONS and result
        return result

    def name(self):
        if self.at == len(self.tokens) or self.tokens[self.at] in "()":
            raise ValueError("a licence is missing")
        self.at += 1
        return self.tokens[self.at - 1]


def complaint(package):
    """What is wrong with a package's licence, or None."""
    text = package["license"]
    if not text:
        return f"names no licence (file: {package['license_file']})"
    try:
        return None if Expression(text).allowed() else f"is under {text}"
    except ValueError as error:
        return f"has the licence {text!r}, which cannot be read: {error}"


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = subprocess.run(command, stdout=subprocess.PIPE)
    if metadata.returncode:
        return 1
    packages = json.loads(metadata.stdout)["packages"]
    wrong = [(package, complaint(package)) for package in packages]
    wrong = [f"{package['name']} {package['version']} {reason}" for package, reason in wrong if reason]
    print(*wrong, f"{len(packages)} crates, {len(wrong)} with a licence that is not on the list", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
