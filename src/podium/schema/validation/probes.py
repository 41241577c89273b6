"""Probes and lifecycle hooks of containers."""

from __future__ import annotations

import re

from podium.kube import names
from podium.kube.fields import forbidden, invalid, required
from podium.schema.validation.base import (
    Document,
    Errors,
    check_choice,
    check_not_negative,
    check_port_or_name,
    complain,
)

_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_is_header_name = re.compile("[-A-Za-z0-9]+").fullmatch


def check_probe(errors: Errors, path: str, kind: str, probe: Document, grace: int) -> None:
    """A probe of `kind` livenessProbe, readinessProbe or startupProbe; `path` is its own."""
    _check_handler(errors, path, probe, grace)
    for field in _COUNTS:
        check_not_negative(errors, f"{path}.{field}", probe.get(field))
    patience = probe.get("terminationGracePeriodSeconds")
    if patience is not None and patience <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", patience, "must be greater than 0"))
    if kind == "readinessProbe":
        if patience is not None:
            reported = "must not be set for readinessProbes"
            errors.append(invalid(f"{path}.terminationGracePeriodSeconds", patience, reported))
    elif probe.get("successThreshold") != 1:
        errors.append(invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1"))


def check_lifecycle(errors: Errors, path: str, lifecycle: Document, grace: int) -> None:
    for hook in ("postStart", "preStop"):
        if hook in lifecycle:
            _check_handler(errors, f"{path}.{hook}", lifecycle[hook], grace)


def _check_handler(errors: Errors, path: str, handlers: Document, grace: int) -> None:
    given = [kind for kind in _HANDLERS if kind in handlers]
    if not given:
        errors.append(required(path, "must specify a handler type"))
        return
    for kind in given[1:]:
        errors.append(forbidden(f"{path}.{kind}", "may not specify more than 1 handler type"))
    kind = given[0]
    at, handler = f"{path}.{kind}", handlers[kind]
    match kind:
        case "exec":
            if not handler.get("command"):
                errors.append(required(f"{at}.command"))
        case "httpGet":
            check_port_or_name(errors, f"{at}.port", handler.get("port", 0))
            check_choice(errors, f"{at}.scheme", handler.get("scheme"), frozenset({"HTTP", "HTTPS"}))
            for header in handler.get("httpHeaders") or ():
                name = header.get("name", "")
                if not _is_header_name(name):
                    reported = (
                        "a valid HTTP header must consist of alphanumeric characters or '-' "
                        "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
                    )
                    errors.append(invalid(f"{at}.httpHeaders", name, reported))
        case "tcpSocket":
            check_port_or_name(errors, f"{at}.port", handler.get("port", 0))
        case "grpc":
            port = handler.get("port", 0)
            complain(errors, f"{at}.port", port, names.check_port_number(port))
        case "sleep":
            seconds = handler.get("seconds", 0)
            if not 0 <= seconds <= grace:
                reported = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                errors.append(invalid(at, seconds, reported))
