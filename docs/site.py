"""For mkdocs: pages link to files of the repository, such as `../ARCHITECTURE.md`, which the site has or has not.

The pages of the repository's root become pages of the site.  Other files are named without a link.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
AT_ROOT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_LINK = re.compile(r"\[([^\]]*)\]\((\.\./)?([^)#\s]+)(#[^)]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages of the root."""
    for name in AT_ROOT:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Makes links work from the place that a page has in the site."""
    at_root = page.file.src_uri in AT_ROOT

    def target(found: re.Match[str]) -> str:
        text, up, name, anchor = found.group(1), found.group(2) or "", found.group(3), found.group(4) or ""
        if "://" in name or not (up or at_root):
            return found.group(0)
        inside = name.removeprefix("docs/")
        known = files.get_file_from_path(inside if at_root else name)
        return f"[{text}]({inside}{anchor})" if known is not None else text

    return _LINK.sub(target, markdown)
