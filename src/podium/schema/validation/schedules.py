"""Cron schedules and time zones of CronJobs."""

from __future__ import annotations

import zoneinfo

from podium.kube.fields import invalid
from podium.kube.numbers import whole_number
from podium.schema.validation.base import Errors

_MACROS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# Minute, hour, day, month, weekday: the smallest and largest value, and names that stand for values.
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def check_schedule(errors: Errors, path: str, text: str, *, has_zone: bool, zone_allowed: bool) -> None:
    """A schedule in cron's notation.  `zone_allowed`: the object had a zone in its schedule before."""
    schedule = text
    if text.startswith(("TZ=", "CRON_TZ=")):
        schedule = text.partition(" ")[2].strip()
    problem = _schedule_problem(schedule)
    if problem is not None:
        errors.append(invalid(path, text, problem))
    if "TZ" in text:
        if not zone_allowed:
            reported = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid(path, text, reported))
        elif has_zone:
            errors.append(invalid(path, text, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))


def check_time_zone(errors: Errors, path: str, zone: str) -> None:
    if not zone:
        errors.append(invalid(path, zone, "timeZone must be nil or non-empty string"))
        return
    if zone.lower() == "local":
        reported = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, reported))
        return
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        errors.append(invalid(path, zone, f"unknown time zone {zone}"))


def _schedule_problem(schedule: str) -> str | None:
    if schedule.startswith("@"):
        if schedule in _MACROS or schedule.startswith("@every "):
            return None
        return f"unrecognized descriptor: {schedule}"
    words = schedule.split()
    if len(words) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(words)}: [{' '.join(words)}]"
    for word, (low, high, known) in zip(words, _FIELDS, strict=True):
        for part in word.split(","):
            problem = _part_problem(part, low, high, known)
            if problem is not None:
                return problem
    return None


def _part_problem(part: str, low: int, high: int, known: dict[str, int]) -> str | None:
    """What is wrong with one range such as `*/5`, `mon-fri` or `1-30/2`."""
    span, slash, step = part.partition("/")
    if slash and not (every := whole_number(step)):
        if every is None:
            return f'failed to parse int from {step}: strconv.Atoi: parsing "{step}": invalid syntax'
        return f"step of range should be a positive number: {part}"
    if span in ("*", "?"):
        return None
    ends = span.split("-")
    if len(ends) > 2:
        return f"too many hyphens: {part}"
    values = []
    for end in ends:
        value = known.get(end.lower(), whole_number(end))
        if value is None:
            return f'failed to parse int from {end}: strconv.Atoi: parsing "{end}": invalid syntax'
        values.append(value)
    first, last = values[0], values[-1]
    if first < low:
        return f"beginning of range ({first}) below minimum ({low}): {part}"
    if last > high:
        return f"end of range ({last}) above maximum ({high}): {part}"
    if first > last:
        return f"beginning of range ({first}) beyond end of range ({last}): {part}"
    return None
