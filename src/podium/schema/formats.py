"""String formats that an API server checks: whether a text is a date, an address, a host name and so on.

Unknown formats are no restriction.  Of the known ones only those stand here that can refuse a text; `password`,
for one, accepts anything.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

from podium.kube.quantity import QuantityError, parse_units

_HOST_LABEL = r"[a-zA-Z0-9\u0080-\U0010ffff](?:[-a-zA-Z0-9\u0080-\U0010ffff]{0,62}[a-zA-Z0-9\u0080-\U0010ffff])?"
_is_hostname = re.compile(rf"{_HOST_LABEL}(?:\.{_HOST_LABEL})*\.?").fullmatch
_is_date_time = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII
).fullmatch
_is_email = re.compile(r"[^@\s]+@[^@\s]+").fullmatch
_is_mac = re.compile(r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}").fullmatch
_is_uuid = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE).fullmatch
_is_color = re.compile(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})").fullmatch
_is_rgb = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)").fullmatch
_is_credit_card = re.compile(r"\d{13,19}").fullmatch
_is_isbn10 = re.compile(r"\d{9}[\dX]").fullmatch
_is_isbn13 = re.compile(r"\d{13}").fullmatch
_is_ssn = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}").fullmatch
_is_object_id = re.compile(r"[0-9a-fA-F]{24}").fullmatch
_UNIT = r"(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)"
_is_duration = re.compile(rf"[+-]?(?:0|(?:{_UNIT})+)|\d+\s*(?:[a-z]+)", re.ASCII).fullmatch
_WORDS_OF_TIME = re.compile(
    r"ns|nanos?|us|µs|micros?|ms|millis?|s|secs?|m|mins?|h|hours?|d|days?|w|weeks?"
).fullmatch


def is_date_time(text: str) -> bool:
    """RFC 3339, with the day and the hour being ones there are."""
    if not _is_date_time(text):
        return False
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        # A leap second is a time too.
        return text[17:19] == "60"
    return True


def is_byte(text: str) -> bool:
    """Base64 with padding; line ends inside do not matter."""
    try:
        base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def is_quantity(text: str) -> bool:
    try:
        parse_units(text)
    except QuantityError:
        return False
    return True


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_ip(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version and "%" not in text
        except ValueError:
            return False

    return check


def _is_cidr(text: str) -> bool:
    try:
        return "/" in text and bool(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return False


def _is_uri(text: str) -> bool:
    """A reference as HTTP requests have it: absolute, or a path from the root."""
    try:
        return text.startswith("/") or bool(urlsplit(text).scheme)
    except ValueError:
        return False


def _is_uuid_version(version: str) -> Callable[[str], bool]:
    return lambda text: bool(_is_uuid(text)) and text.replace("-", "")[12] == version


def _is_a_duration(text: str) -> bool:
    if not _is_duration(text):
        return False
    words = text.lstrip("0123456789 ") if text[:1].isdigit() else ""
    return not words.isalpha() or bool(_WORDS_OF_TIME(words))


FORMATS: dict[str, Callable[[str], object]] = {
    "bsonobjectid": _is_object_id,
    "byte": is_byte,
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "date-time": is_date_time,
    "datetime": is_date_time,
    "duration": _is_a_duration,
    "email": _is_email,
    "hexcolor": _is_color,
    "hostname": lambda text: len(text) <= 255 and _is_hostname(text),
    "ipv4": _is_ip(4),
    "ipv6": _is_ip(6),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "mac": _is_mac,
    "micro-time": is_date_time,
    "quantity": is_quantity,
    "rgbcolor": _is_rgb,
    "ssn": _is_ssn,
    "uri": _is_uri,
    "uuid": _is_uuid,
    "uuid3": _is_uuid_version("3"),
    "uuid4": _is_uuid_version("4"),
    "uuid5": _is_uuid_version("5"),
}
