"""Writes gailou/schema.py from the OpenAPI document, of which the tests of the HTTP contract keep a snapshot.

    python packages/python/generate.py           writes it
    python packages/python/generate.py --check   fails where the file is older than the document

It needs the packages of requirements.txt.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SNAPSHOT = FOLDER / "../../tests/tests/contract/snapshots/contract__openapi__openapi.snap"
SCHEMA = FOLDER / "gailou/schema.py"
HEAD = '"""The shapes of the HTTP interface. Written by generate.py from the OpenAPI document; not by hand."""'
# Newer than Python 3.9 is what `gailou._typing` has.
IMPORTS = {"NotRequired": "gailou._typing", "TypeAlias": "gailou._typing"}
GENERATOR = [
    *(sys.executable, "-W", "ignore::FutureWarning", "-m", "datamodel_code_generator"),
    *("--input-file-type", "openapi"),
    *("--output-model-type", "typing.TypedDict"),
    *("--target-python-version", "3.10"),
    "--no-use-union-operator",
    *("--enum-field-as-literal", "all"),
    "--use-schema-description",
    "--use-field-description",
    "--use-double-quotes",
    *("--formatters", "black", "isort"),
    *("--import-overrides", json.dumps(IMPORTS)),
    *("--custom-file-header", HEAD),
]


def read_document() -> str:
    """A snapshot is a head between two lines of dashes, and the document."""
    return SNAPSHOT.read_text("utf-8").split("\n---\n", 1)[1]


def generate(document: str) -> str:
    # In the folder of this file: the formatters look for their settings there.
    done = subprocess.run(
        GENERATOR, input=document, stdout=subprocess.PIPE, text=True, check=True, cwd=FOLDER
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    generated = generate(read_document())
    if not is_check:
        SCHEMA.write_text(generated, "utf-8")
    elif not SCHEMA.exists() or SCHEMA.read_text("utf-8") != generated:
        sys.exit(
            "packages/python/gailou/schema.py is older than the OpenAPI document:\n"
            "run `python packages/python/generate.py`"
        )


if __name__ == "__main__":
    main()
