"""What a spec asks of nodes and of other pods, in the core's words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podium.core.model.constraints import (
    Attachment,
    Claim,
    Constraints,
    NodeTerm,
    PodSelection,
    PodTerm,
    Port,
    Requirement,
    Sharing,
    Spread,
    Toleration,
    VolumeOption,
)
from podium.dialects.kubernetes.constraints import image_name
from podium.kube.cache import Cache
from podium.kube.resources import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES, Resource
from podium.kube.wire import struct_of
from tests.dialects.objects import Document, decode, pod, read, reader, task

APP = {"matchLabels": {"app": "x"}}
IS_APP = (Requirement("app", "In", ("x",)),)


def constraints(**spec: Any) -> Constraints:
    return task(pod(**spec)).constraints


def test_selectors_and_node_affinity() -> None:
    term = {
        "matchExpressions": [
            {"key": "z", "operator": "In", "values": ["b", "a", "b"]},
            {"key": "g", "operator": "Gt", "values": ["3"]},
        ],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
    }
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term}],
        }
    }
    found = constraints(nodeSelector={"b": "2", "a": "1"}, affinity=affinity)
    expected = NodeTerm(
        (Requirement("g", "Gt", ("3",)), Requirement("z", "In", ("a", "b"))),
        (Requirement("metadata.name", "In", ("n",)),),
    )
    assert found.selector == (("a", "1"), ("b", "2"))
    assert found.required == (expected,)
    assert found.preferred == ((5, expected),)
    assert constraints().required is None, "nothing is asked for"


def test_tolerations_ports_images_and_devices() -> None:
    found = constraints(
        tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}, {"key": "b", "value": "c"}],
        containers=[
            {
                "name": "c",
                "image": "busybox",
                "ports": [
                    {"containerPort": 1, "hostPort": 80, "hostIP": "0.0.0.0"},
                    {"containerPort": 2, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"},
                    {"containerPort": 3},
                ],
            }
        ],
        initContainers=[
            {"name": "i", "ports": [{"containerPort": 1, "hostPort": 81}]},
            {"name": "s", "restartPolicy": "Always", "ports": [{"containerPort": 1, "hostPort": 82}]},
        ],
        resourceClaims=[{"name": "gpu"}],
    )
    assert found.tolerations == (Toleration("a", "Exists"), Toleration("b", "Equal", "c"))
    assert found.ports == (Port(53, "UDP", "10.0.0.1"), Port(80), Port(82)), "init containers have ended"
    assert found.images == ("busybox:latest",)
    assert found.device_claims == ("gpu",)


@pytest.mark.parametrize(
    ("image", "name"),
    [("a", "a:latest"), ("a:1", "a:1"), ("host:5000/a", "host:5000/a:latest"), ("a@sha256:0f", "a@sha256:0f")],
)
def test_images_as_nodes_list_them(image: str, name: str) -> None:
    assert image_name(image) == name


def near(*terms: Document, kind: str = "podAffinity") -> Document:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


@pytest.mark.parametrize(
    ("term", "selection"),
    [
        ({"labelSelector": APP}, PodSelection(("default",), IS_APP)),
        ({}, PodSelection(("default",), None)),
        ({"labelSelector": {}}, PodSelection(("default",), ())),
        ({"labelSelector": APP, "namespaces": ["b", "a"]}, PodSelection(("a", "b"), IS_APP)),
        ({"labelSelector": APP, "namespaceSelector": {}}, PodSelection((), IS_APP, ())),
        (
            {"labelSelector": APP, "namespaces": ["a"], "namespaceSelector": {"matchLabels": {"t": "1"}}},
            PodSelection(("a",), IS_APP, (Requirement("t", "In", ("1",)),)),
        ),
        (
            {"labelSelector": APP, "matchLabelKeys": ["v", "absent"], "mismatchLabelKeys": ["w"]},
            PodSelection(
                ("default",),
                (*IS_APP, Requirement("v", "In", ("1",)), Requirement("w", "NotIn", ("2",))),
            ),
        ),
    ],
)
def test_pod_affinity(term: Document, selection: PodSelection) -> None:
    labels = {"v": "1", "w": "2"}
    whole = {"topologyKey": "zone", **term}
    expected = (PodTerm("zone", selection),)
    assert constraints(affinity=near(whole), labels=labels).affinity == expected
    assert constraints(affinity=near(whole, kind="podAntiAffinity"), labels=labels).anti_affinity == expected


def test_wishes_to_be_near_and_apart() -> None:
    term = {"weight": 7, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": APP}}
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    found = constraints(affinity={"podAffinity": wish, "podAntiAffinity": wish}).preferred_peers
    expected = PodTerm("zone", PodSelection(("default",), IS_APP))
    assert found == ((7, expected), (-7, expected))


def test_spread() -> None:
    hard = {"maxSkew": 2, "topologyKey": "zone", "labelSelector": APP, "minDomains": 3}
    soft = {
        "maxSkew": 1,
        "topologyKey": "host",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": APP,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["v"],
    }
    first, second = constraints(topologySpreadConstraints=[hard, soft], labels={"v": "1"}).spread
    assert first == Spread("zone", PodSelection(("default",), IS_APP), max_skew=2, min_domains=3)
    narrowed = PodSelection(("default",), (*IS_APP, Requirement("v", "In", ("1",))))
    assert second == Spread("host", narrowed, hard=False, honor_affinity=False, honor_taints=True)


def test_terms_mean_the_pods_own_namespace() -> None:
    term = {"topologyKey": "zone", "labelSelector": APP}
    one = constraints(affinity=near(term), namespace="a").affinity[0].selection
    other = constraints(affinity=near(term), namespace="b").affinity[0].selection
    assert (one.namespaces, other.namespaces) == (("a",), ("b",))


# --- volumes -----------------------------------------------------------------------------------------------


def stored(*objects: tuple[Resource, Document]) -> Cache:
    cache = Cache()
    for version, (resource, document) in enumerate(objects, 1):
        document["metadata"]["resourceVersion"] = str(version)
        cache.apply(resource, msgspec.convert(document, struct_of(resource)))
    return cache


def claim(name: str, *, annotations: Document | None = None, **spec: Any) -> tuple[Resource, Document]:
    owners = spec.pop("owners", None)
    metadata = {"name": name, "namespace": "default", "ownerReferences": owners, "annotations": annotations}
    spec.setdefault("resources", {"requests": {"storage": "5Gi"}})
    return PERSISTENTVOLUMECLAIMS, {"metadata": metadata, "spec": spec}


def bound(name: str, volume: str, **spec: Any) -> tuple[Resource, Document]:
    return claim(name, annotations={"pv.kubernetes.io/bind-completed": "yes"}, volumeName=volume, **spec)


def volume(name: str, *, labels: Document | None = None, node: str = "", **spec: Any) -> tuple[Resource, Document]:
    if node:
        condition = {"key": "host", "operator": "In", "values": [node]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}}
    spec.setdefault("capacity", {"storage": "10Gi"})
    return PERSISTENTVOLUMES, {"metadata": {"name": name, "labels": labels}, "spec": spec}


def storage_class(name: str, **more: Any) -> tuple[Resource, Document]:
    more.setdefault("volumeBindingMode", "WaitForFirstConsumer")
    more.setdefault("provisioner", "kubernetes.io/no-provisioner")
    return STORAGECLASSES, {"metadata": {"name": name}, **more}


NONSENSE = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}}
MOUNTED: Document = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}


def on(node: str) -> tuple[NodeTerm, ...]:
    return (NodeTerm((Requirement("host", "In", (node,)),)),)


def with_volumes(*objects: tuple[Resource, Document], **spec: Any) -> Constraints:
    facts = read(pod("p", uid="u", **(spec or MOUNTED)), stored(*objects))
    assert facts.refusal is None
    return facts.task.constraints


def test_a_claim_that_is_not_there_or_that_others_bind() -> None:
    assert with_volumes().unbound == ("data does not exist",)
    assert with_volumes(claim("data")).unbound == ("data is not bound",), "without a class"
    immediate = storage_class("fast", volumeBindingMode="Immediate")
    assert with_volumes(claim("data", storageClassName="fast"), immediate).unbound == ("data is not bound",)
    assert with_volumes(bound("data", "gone")).unbound == ("data is bound to gone, which does not exist",)
    half = with_volumes(claim("data", volumeName="pv"), volume("pv"))
    assert half.unbound == ("data is not bound",), "naming a volume is not having it"
    lost = bound("data", "pv")
    lost[1]["status"] = {"phase": "Lost"}
    assert with_volumes(lost).unbound == ("data has lost its volume pv",)
    leaving = bound("data", "pv")
    leaving[1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert with_volumes(leaving, volume("pv")).unbound == ("data is being deleted",)


def test_a_bound_claim() -> None:
    csi = {"driver": "disk.example", "volumeHandle": "h1"}
    zones = {"topology.kubernetes.io/zone": "b__a", "other": "x"}
    found = with_volumes(bound("data", "pv"), volume("pv", node="n1", csi=csi, labels=zones))
    assert found.claims == (Claim((VolumeOption(on("n1")),)),)
    assert found.zones == (Requirement("topology.kubernetes.io/zone", "In", ("a", "b")),)
    assert found.attachments == (Attachment("disk.example", "h1"),)
    assert found.unbound == ()
    assert with_volumes(bound("data", "pv"), volume("pv")).claims == (), "reached from everywhere"


def test_a_claim_that_waits_for_its_pod() -> None:
    small = volume("small", node="n1", storageClassName="local", capacity={"storage": "5Gi"})
    large = volume("large", node="n2", storageClassName="local")
    tiny = volume("tiny", node="n3", storageClassName="local", capacity={"storage": "1Gi"})
    taken = volume("taken", node="n4", storageClassName="local", claimRef={"namespace": "a", "name": "b"})
    broken = volume("broken", storageClassName="local", nodeAffinity=NONSENSE)
    wanted = claim("data", storageClassName="local")
    found = with_volumes(wanted, storage_class("local"), small, large, tiny, taken, broken)
    options = (VolumeOption(on("n1"), 1.0, "small"), VolumeOption(on("n2"), 0.5, "large"))
    assert found.claims == (Claim(options, open=True),)
    assert found.attachments == ()
    promised = volume(
        "mine", node="n5", storageClassName="local", claimRef={"namespace": "default", "name": "data"}
    )
    only = with_volumes(wanted, storage_class("local"), small, promised)
    assert only.claims == (Claim((VolumeOption(on("n5"), 0.5, "mine"),), open=True),)
    assert with_volumes(wanted, storage_class("local")).claims == (Claim((), open=True),), "no volume, no node"


def test_a_volume_that_a_scheduler_has_given_away_is_its_claims() -> None:
    reference = {"namespace": "default", "name": "data", "uid": "c1"}
    mine = volume("mine", node="n5", storageClassName="local", claimRef=reference)
    free = volume("free", node="n1", storageClassName="local", capacity={"storage": "5Gi"})
    wanted = claim("data", storageClassName="local")
    wanted[1]["metadata"]["uid"] = "c1"
    found = with_volumes(wanted, storage_class("local"), free, mine)
    assert [option.volume for option in found.claims[0].options] == ["mine"]
    wanted[1]["metadata"]["uid"] = "c2"
    other = with_volumes(wanted, storage_class("local"), free, mine)
    assert [option.volume for option in other.claims[0].options] == ["free"], (
        "of the claim that had the name before"
    )


def test_a_claim_for_which_a_volume_is_made() -> None:
    topologies = [{"matchLabelExpressions": [{"key": "zone", "values": ["b", "a"]}]}]
    made = storage_class("csi", provisioner="disk.example", allowedTopologies=topologies)
    found = with_volumes(claim("data", storageClassName="csi"), made)
    in_zone = NodeTerm((Requirement("zone", "In", ("a", "b")),))
    assert found.claims == (Claim((VolumeOption((in_zone,)),), open=True),)
    assert found.attachments == (Attachment("disk.example"),)
    chosen = claim("data", storageClassName="csi", annotations={"volume.kubernetes.io/selected-node": "n7"})
    named = NodeTerm(names=(Requirement("metadata.name", "In", ("n7",)),))
    assert with_volumes(chosen, made).claims == (Claim((VolumeOption((named,)),), open=True),)
    picky = claim("data", storageClassName="csi", selector={"matchLabels": {"a": "b"}})
    assert with_volumes(picky, made).claims == (Claim((), open=True),), "nobody can make what a selector asks for"


def test_claims_that_one_pod_or_one_node_may_use() -> None:
    made = storage_class("csi", provisioner="disk.example")
    alone = claim("data", storageClassName="csi", accessModes=["ReadWriteOncePod"])
    found = with_volumes(alone, made).claims[0]
    assert (found.key, found.sharing) == ("default/data", Sharing.TASK)
    own = with_volumes(claim("data", storageClassName="csi", accessModes=["ReadWriteOnce"]), made).claims[0]
    assert (own.key, own.sharing) == ("", Sharing.NODE), "a pod with a claim of its own is like its siblings"
    cache = stored(claim("data", storageClassName="csi", accessModes=["ReadWriteMany"]), made)
    first, second = pod("a", **MOUNTED), pod("b", **MOUNTED)
    for each in (first, second):
        cache.apply(PODS, decode(each))
    both = [read(each, cache).task.constraints.claims[0] for each in (first, second)]
    assert [(each.key, each.sharing) for each in both] == [("default/data", Sharing.NODES)] * 2


def test_small_claims_choose_first() -> None:
    large = claim("large", storageClassName="local", resources={"requests": {"storage": "8Gi"}})
    small = claim("small", storageClassName="local", resources={"requests": {"storage": "1Gi"}})
    cache = stored(large, small, storage_class("local"))
    mounts = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("large", "small")]
    found = reader(cache).volumes.read(decode(pod(volumes=mounts)))
    assert found.claims == (("default", "small"), ("default", "large"))


def test_the_claim_of_an_ephemeral_volume_is_the_pods_own() -> None:
    spec: Document = {"volumes": [{"name": "v", "ephemeral": {}}]}
    foreign = bound("p-v", "pv")
    assert with_volumes(foreign, volume("pv", node="n"), **spec).unbound == ("p-v does not belong to this pod",)
    owner = {"kind": "Pod", "name": "p", "uid": "u", "controller": True}
    own = bound("p-v", "pv", owners=[owner])
    assert with_volumes(own, volume("pv", node="n"), **spec).claims == (Claim((VolumeOption(on("n")),)),)


def test_a_broken_volume_refuses_the_pod() -> None:
    facts = read(pod(**MOUNTED), stored(bound("data", "pv"), volume("pv", nodeAffinity=NONSENSE)))
    assert "persistentvolume pv: spec.nodeAffinity" in str(facts.refusal)
