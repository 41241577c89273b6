"""What the whole test run says at its end."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests import browser

# A busy machine is no failure: what is too slow shows in the benchmarks.
settings.register_profile("podium", deadline=None)
settings.load_profile("podium")

# How a scenario was run, by the tests that do so.
_SCENARIOS = {
    "test_scenarios.py::test_scenario[": "on facts",
    "test_scenario_objects.py::test_scenario[": "as objects",
    "test_once_scenarios.py::test_scenario[": "as objects of a real server",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each report of a case says which one it is."""
    for item in items:
        for mark in item.iter_markers("case"):
            item.user_properties.append(("case", f"{mark.args[1]} {mark.args[0]}"))


def _count_cases(terminalreporter: pytest.TerminalReporter) -> None:
    outcomes: dict[str, bool] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.getreports(outcome):
            for name, case in getattr(report, "user_properties", ()):
                if name == "case":
                    outcomes[case] = outcomes.get(case, True) and outcome == "passed"
    tags = sorted({case.split()[0] for case in outcomes})
    counted = [[passed for case, passed in outcomes.items() if case.startswith(f"{tag} ")] for tag in tags]
    if tags:
        said = ", ".join(f"{tag} {sum(each)} of {len(each)}" for tag, each in zip(tags, counted, strict=True))
        terminalreporter.write_line(f"cases of Koordinator's behaviour that passed: {said}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What could not be looked at, and how much of Volcano's behaviour was shown."""
    if browser.missing:
        terminalreporter.write_sep("!", "NO PAGE WAS LOOKED AT IN A BROWSER", red=True, bold=True)
        terminalreporter.write_line(browser.missing[0], red=True)
    _count_cases(terminalreporter)
    for test, how in _SCENARIOS.items():
        passed, failed = (
            sum(test in report.nodeid for report in terminalreporter.getreports(outcome))
            for outcome in ("passed", "failed")
        )
        if passed or failed:
            total = passed + failed
            terminalreporter.write_line(f"{passed} of {total} scenarios of Volcano's behaviour passed {how}")
    if any(
        "test_published.py::test_published_runs" in report.nodeid
        for report in terminalreporter.getreports("skipped")
    ):
        reported = "THE PUBLISHED FIGURES OF GPU PACKING WERE NOT CHECKED: PODIUM_TRACES must name the traces"
        terminalreporter.write_line(reported, red=True, bold=True)
