"""The examples: beside the package when it is installed, at the top of the repository otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

import podium
from podium.errors import UsageError


def example_documents(folder: str, pattern: str = "*.yaml") -> list[dict[str, Any]]:
    """Every object in the files of one folder of examples, in the order of their names."""
    package = Path(podium.__file__).parent
    for root in (package / "examples", package.parents[1] / "examples"):
        files = sorted((root / folder).glob(pattern))
        if files:
            break
    else:
        raise UsageError("the examples are not installed with this podium")
    texts = (path.read_text() for path in files)
    return [document for text in texts for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]
