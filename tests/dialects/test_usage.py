"""What a group needs, written as Volcano writes it: sums of quantities in the words of quotas."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.dialects.volcano.usage import Usage, pod_usage
from podium.kube.wire import PodSpec

Document = dict[str, Any]


def spec(*resources: Document, **more: Any) -> PodSpec:
    containers = [{"name": f"c{number}", "resources": each} for number, each in enumerate(resources)]
    return msgspec.convert({"containers": containers, **more}, PodSpec)


def memory(*amounts: str) -> PodSpec:
    return spec(*({"requests": {"memory": amount}} for amount in amounts))


# As Volcano 1.10 on a real server wrote such sums.
@pytest.mark.parametrize(
    ("pods", "written"),
    [
        ([(memory("1Gi"), 2)], "2Gi"),
        ([(memory("100M"), 1)], "100M"),
        ([(memory("1G"), 2), (memory("1Gi"), 1)], "3073741824"),
        ([(memory("1Gi"), 1), (memory("1G"), 2)], "3001701Ki"),
        ([(memory("1e9"), 2)], "2e9"),
        ([(memory("1073741824"), 2)], "2147483648"),
        ([(memory("0", "1Gi"), 3)], "3Gi"),
        ([(memory("0"), 1), (memory("512Mi"), 2)], "1Gi"),
    ],
)
def test_a_sum_is_written_as_its_first_part(pods: list[tuple[PodSpec, int]], written: str) -> None:
    total = Usage()
    for each, count in pods:
        total.add(pod_usage(each), count)
    found = total.quantities()
    assert (found["memory"], found["requests.memory"]) == (written, written)


def test_limits_are_written_as_limits_were() -> None:
    total = Usage()
    total.add(pod_usage(spec({"requests": {"memory": "1Gi"}, "limits": {"memory": "1500M", "cpu": "0.5"}})), 2)
    found = total.quantities()
    assert (found["memory"], found["limits.memory"], found["limits.cpu"], found["cpu"]) == ("2Gi", "3G", "1", "1")


def test_a_thousand_pods() -> None:
    total = Usage()
    total.add(pod_usage(spec({"requests": {"cpu": "500m", "nvidia.com/gpu": "2"}})), 1000)
    assert total.quantities() == {
        **dict.fromkeys(("pods", "count/pods"), "1k"),
        **dict.fromkeys(("cpu", "requests.cpu"), "500"),
        **dict.fromkeys(("nvidia.com/gpu", "requests.nvidia.com/gpu"), "2k"),
    }


def test_no_pods_need_nothing() -> None:
    total = Usage()
    total.add(pod_usage(memory("1Gi")), 0)
    assert total.quantities() == {}
