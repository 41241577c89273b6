"""The objects of a TrainingJob, with names, labels, commands, ports and environment as Paddle has them.

<job>-master    ReplicaSet of one pod, of jobs that tolerate faults, with etcd beside the master
<job>-etcd      StatefulSet and headless Service, if more than one etcd is wanted
<job>-pserver   ReplicaSet
<job>-trainer   batch Job without completions, so that its parallelism can move
"""

from __future__ import annotations

import math
from typing import Any

from podium.dialects.paddle.names import (
    ETCD,
    JOB_NAME,
    JOB_UID,
    LABELS,
    MASTER,
    PSERVER,
    ROLE,
    SCHEDULER,
    TRAINER,
    TRAININGJOBS,
    object_name,
)
from podium.dialects.paddle.types import GPU, TrainingJob
from podium.kube.conditions import owner_reference
from podium.kube.pod_script import SCRIPT
from podium.kube.quantity import QuantityError, parse_milli
from podium.kube.resources import JOBS, REPLICASETS, SERVICES, STATEFULSETS

Document = dict[str, Any]

ETCD_IMAGE = "quay.io/coreos/etcd:v3.2.1"
_MASTER_PORT, _CLIENT_PORT, _OLD_CLIENT_PORT, _PEER_PORT = 8080, 2379, 4001, 2380
_UNLIMITED = 2**31 - 1  # faults of trainers are the master's matter


def replicas_of(job: TrainingJob, role: str) -> int:
    """How many pods of a role the job starts with."""
    spec = job.spec
    if role == MASTER:
        return 1 if spec.fault_tolerant else 0
    if role == ETCD:
        return spec.own_etcd
    return spec.pserver.min_instance if role == PSERVER else spec.trainer.min_instance


def roles_of(job: TrainingJob) -> list[str]:
    """In the order in which they are made."""
    return [role for role in (MASTER, ETCD, PSERVER, TRAINER) if replicas_of(job, role) > 0]


def object_of(job: TrainingJob, role: str, replicas: int) -> Document:
    """The object that makes the pods of a role."""
    name = object_name(job.name, role)
    labels = {LABELS[role]: job.name}
    metadata: Document = {
        "name": name,
        "namespace": job.namespace,
        "labels": labels,
        "ownerReferences": [owner_reference(job, TRAININGJOBS)],
    }
    template = template_of(job, role)
    if role == TRAINER:
        spec: Document = {"parallelism": replicas, "backoffLimit": _UNLIMITED, "template": template}
        return {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "metadata": metadata, "spec": spec}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if role == ETCD:
        spec |= {"serviceName": name, "podManagementPolicy": "Parallel"}
        return {
            "apiVersion": STATEFULSETS.api_version,
            "kind": STATEFULSETS.kind,
            "metadata": metadata,
            "spec": spec,
        }
    return {"apiVersion": REPLICASETS.api_version, "kind": REPLICASETS.kind, "metadata": metadata, "spec": spec}


def etcd_service(job: TrainingJob) -> Document:
    """By which the etcds know each other."""
    name = object_name(job.name, ETCD)
    ports = [{"name": "client", "port": _CLIENT_PORT}, {"name": "peer", "port": _PEER_PORT}]
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": name,
            "namespace": job.namespace,
            "labels": {LABELS[ETCD]: job.name},
            "ownerReferences": [owner_reference(job, TRAININGJOBS)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {LABELS[ETCD]: job.name},
            "ports": ports,
        },
    }


def template_of(job: TrainingJob, role: str) -> Document:
    """The pods of a role."""
    spec = job.spec
    containers = {MASTER: _master, PSERVER: _pserver, TRAINER: _trainer, ETCD: _etcd_member}[role](job)
    for container in containers:
        if spec.volume_mounts:
            container["volumeMounts"] = list(spec.volume_mounts)
    pod: Document = {"schedulerName": SCHEDULER, "containers": containers}
    if role == TRAINER:
        pod["restartPolicy"] = "Never"
    if spec.volumes:
        pod["volumes"] = list(spec.volumes)
    if spec.node_selector:
        pod["nodeSelector"] = dict(spec.node_selector)
    if spec.on_host_network:
        pod["hostNetwork"] = True
    if spec.image_pull_secrets:
        pod["imagePullSecrets"] = list(spec.image_pull_secrets)
    marks = {JOB_NAME: job.name, JOB_UID: job.uid, ROLE: role}
    # What a simulated trainer is told to do stands on the job.
    script = {key: job.annotations[key] for key in SCRIPT if key in job.annotations} if role == TRAINER else {}
    return {
        "metadata": {"labels": {LABELS[role]: job.name}, "annotations": {**script, **marks}},
        "spec": pod,
    }


# --- containers ------------------------------------------------------------------------------------------------


def _container(job: TrainingJob, role: str, command: list[str], resources: Document, pull: str = "") -> Document:
    ports = range(job.spec.port, job.spec.port + job.spec.ports_num + job.spec.ports_num_for_sparse)
    container: Document = {
        "name": role,
        "image": job.spec.image,
        "command": ["paddle_k8s", *command],
        "env": environment(job),
        "ports": [{"name": f"jobport-{port}", "containerPort": port} for port in ports],
        "resources": resources,
    }
    return container | ({"imagePullPolicy": pull} if pull else {})


def _master(job: TrainingJob) -> list[Document]:
    spec = job.spec
    master = _container(job, MASTER, ["start_master"], spec.master.amounts(), "Always")
    master["ports"] = [
        {"name": "master-port", "containerPort": _MASTER_PORT},
        {"name": "etcd-port", "containerPort": _CLIENT_PORT},
    ]
    if spec.own_etcd or spec.master.etcd_endpoint or spec.trainer.etcd_endpoint:
        return [master]
    del master["ports"][1]  # the sidecar has it
    return [master, _etcd(spec.etcd.amounts(), ["etcd"], _advertised("$(POD_IP)", "$(POD_IP)"))]


def _pserver(job: TrainingJob) -> list[Document]:
    command = "start_new_pserver" if job.spec.fault_tolerant else "start_pserver"
    return [_container(job, PSERVER, [command], job.spec.pserver.amounts())]


def _trainer(job: TrainingJob) -> list[Document]:
    command = ["start_new_trainer"] if job.spec.fault_tolerant else ["start_trainer", "v2"]
    return [_container(job, TRAINER, command, job.spec.trainer.amounts(), "Always")]


def _etcd_member(job: TrainingJob) -> list[Document]:
    name = object_name(job.name, ETCD)
    members = ",".join(
        f"{name}-{index}=http://{name}-{index}.{name}:{_PEER_PORT}" for index in range(job.spec.own_etcd)
    )
    arguments = [
        *_advertised("$(POD_IP)", f"$(POD_NAME).{name}"),
        "--name", "$(POD_NAME)", "--initial-cluster", members, "--initial-cluster-token", job.uid or name,
    ]  # fmt: skip
    return [_etcd(job.spec.etcd.amounts(), ["etcd"], arguments)]


def _advertised(client: str, peer: str) -> list[str]:
    clients = f"http://0.0.0.0:{_CLIENT_PORT},http://0.0.0.0:{_OLD_CLIENT_PORT}"
    return [
        "--listen-client-urls", clients, "--advertise-client-urls", f"http://{client}:{_CLIENT_PORT}",
        "--listen-peer-urls", f"http://0.0.0.0:{_PEER_PORT}",
        "--initial-advertise-peer-urls", f"http://{peer}:{_PEER_PORT}",
    ]  # fmt: skip


def _etcd(resources: Document, command: list[str], arguments: list[str]) -> Document:
    ports = {"etcd-port": _CLIENT_PORT, "etcd-old-port": _OLD_CLIENT_PORT, "etcd-peer-port": _PEER_PORT}
    return {
        "name": ETCD,
        "image": ETCD_IMAGE,
        "imagePullPolicy": "Always",
        "command": command,
        "args": arguments,
        "env": [_field("POD_IP", "status.podIP"), _field("POD_NAME", "metadata.name")],
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        "resources": resources,
    }


def environment(job: TrainingJob) -> list[Document]:
    """What every process of the job knows of it."""
    spec = job.spec
    amounts = spec.trainer.amounts()
    gpus = _count(amounts, GPU)
    known = {
        "PADDLE_JOB_NAME": job.name,
        "TRAINERS": spec.trainer.min_instance,
        "PSERVERS": spec.pserver.min_instance,
        "ENTRY": spec.trainer.entrypoint,
        "TOPOLOGY": spec.trainer.entrypoint,
        "TRAINER_PACKAGE": spec.trainer.workspace,
        "PADDLE_INIT_PORT": spec.port,
        "PADDLE_INIT_TRAINER_COUNT": gpus or _count(amounts, "cpu"),
        "PADDLE_INIT_PORTS_NUM": spec.ports_num,
        "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": spec.ports_num_for_sparse,
        "PADDLE_INIT_NUM_GRADIENT_SERVERS": spec.trainer.min_instance,
        "PADDLE_INIT_NUM_PASSES": spec.passes,
        "PADDLE_INIT_USE_GPU": 1 if gpus else 0,
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
    }
    endpoint = spec.master.etcd_endpoint or spec.trainer.etcd_endpoint
    if spec.own_etcd:
        name = object_name(job.name, ETCD)
        hosts = (f"http://{name}-{index}.{name}:{_CLIENT_PORT}" for index in range(spec.own_etcd))
        endpoint = ",".join(hosts)
    if endpoint:
        known["ETCD_ENDPOINTS"] = endpoint
    found: list[Document] = [{"name": name, "value": str(value)} for name, value in known.items()]
    return [*found, _field("NAMESPACE", "metadata.namespace"), _field("POD_IP", "status.podIP")]


def _count(resources: Document, name: str) -> int:
    """A whole number of something, of the limits or else of the requests; a bad amount counts as none."""
    for part in ("limits", "requests"):
        amount = (resources.get(part) or {}).get(name)
        if amount is not None:
            try:
                return math.ceil(parse_milli(amount) / 1000)
            except QuantityError:
                return 0
    return 0


def _field(name: str, path: str) -> Document:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
