"""How processes write their log: lines for people, or JSON for programs that collect them."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

import click

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

log_format_option = click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines for people, or one JSON object a line with ts, level, logger and msg.",
)


class JsonFormatter(logging.Formatter):
    """One object a line; what an error leaves behind is in it, not below it."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {"ts": at, "level": record.levelname.lower(), "logger": record.name, "msg": record.getMessage()}
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def log_to_stderr(level: int, form: str = "text") -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=level, handlers=[handler])
