"""What newer versions of Python have in `typing`."""

import sys

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypeAlias
else:
    from typing_extensions import NotRequired, TypeAlias

__all__ = ["NotRequired", "TypeAlias"]
