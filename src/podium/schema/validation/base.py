"""The few checks that every kind's validation is made of.

All checks take the list of errors and append to it: a good object, the usual case, then costs no lists.  Documents
have passed the type check and the defaulting before, so what is there has the right type and null does not occur.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Mapping
from typing import Any

from podium.kube import names
from podium.kube.fields import FieldError, forbidden, invalid, required, unsupported
from podium.kube.quantity import QuantityError, parse_milli

Document = dict[str, Any]
Errors = list[FieldError]

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"
POSITIVE = "must be greater than zero"


def complain(errors: Errors, path: str, value: Any, problem: str | None) -> None:
    """Appends what a `names.check_...` function said about `value`, one error for each complaint."""
    if problem:
        errors.extend(invalid(path, value, each) for each in problem.split("; "))


def check_name(errors: Errors, path: str, value: str | None, check: Callable[[str], str | None]) -> None:
    """A name that must be there and be of the given shape."""
    if not value:
        errors.append(required(path))
    else:
        complain(errors, path, value, check(value))


def check_choice(errors: Errors, path: str, value: str | None, choices: Collection[str]) -> None:
    """A value out of a few; tuples are listed in their order, sets sorted, as the API server does."""
    if value in choices:
        return
    errors.append(unsupported(path, value, choices) if value else required(path))


def check_not_negative(errors: Errors, path: str, value: int | None) -> None:
    if value is not None and value < 0:
        errors.append(invalid(path, value, NOT_NEGATIVE))


def check_same(errors: Errors, path: str, new: Any, old: Any) -> None:
    """A field that cannot change once the object exists.  None, "" and empty containers are the same."""
    if (new or None) != (old or None):
        errors.append(invalid(path, new, IMMUTABLE))


def check_labels(errors: Errors, path: str, labels: Mapping[str, str] | None) -> None:
    if labels:
        for key, value in labels.items():
            if problem := names.check_qualified_name(key):
                complain(errors, path, key, problem)
            if problem := names.check_label_value(value):
                complain(errors, path, value, problem)


def check_selector(errors: Errors, path: str, selector: Document | None) -> None:
    """A LabelSelector's own syntax."""
    if not selector:
        return
    check_labels(errors, f"{path}.matchLabels", selector.get("matchLabels"))
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        operator, values = requirement.get("operator", ""), requirement.get("values")
        if operator in ("In", "NotIn"):
            if not values:
                errors.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                errors.append(
                    forbidden(f"{at}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
                )
        else:
            errors.append(invalid(f"{at}.operator", operator, "not a valid selector operator"))
        key = requirement.get("key", "")
        complain(errors, f"{at}.key", key, names.check_qualified_name(key))
        for number, value in enumerate(values or ()):
            complain(errors, f"{at}.values[{number}]", value, names.check_label_value(value))


def check_ip(errors: Errors, path: str, value: str) -> None:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        errors.append(invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"))


def check_cidr(errors: Errors, path: str, value: str) -> None:
    address, slash, _ = value.partition("/")
    try:
        network = ipaddress.ip_network(value, strict=False)
    except ValueError:
        network = None
    if network is None or not slash:
        errors.append(invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"))
    elif ipaddress.ip_address(address) != network.network_address:
        errors.append(invalid(path, value, "must not have bits set beyond the prefix length"))


def check_port_or_name(errors: Errors, path: str, port: int | str) -> None:
    if isinstance(port, int):
        complain(errors, path, port, names.check_port_number(port))
    else:
        complain(errors, path, port, names.check_port_name(port))


def milli_or_none(value: Any) -> int | None:
    """A quantity in thousandths, or None for text that is none."""
    try:
        return parse_milli(value)
    except QuantityError:
        return None
