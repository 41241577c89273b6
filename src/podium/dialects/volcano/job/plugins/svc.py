"""svc: the pods of a Job find each other by name.

A headless Service gives every pod a name; a ConfigMap, mounted under /etc/volcano, lists the names of each task in
a file; the same lists are variables; a NetworkPolicy keeps others out.

Files and variables are called after their task.  Version 1.1 took a task's name as it is, later ones write `_` for
`-`: here are both, and a task without a dash has one spelling.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.dialects.volcano.job.names import JOB_NAME, JOB_NAMESPACE
from podium.dialects.volcano.job.plugin import Document, Flag, JobPlugin, Wanted, add_variable, containers
from podium.dialects.volcano.job.plugins.common import LARGEST, full_names, mount, names_size
from podium.dialects.volcano.job.types import TaskSpec
from podium.kube.resources import CONFIGMAPS, NETWORKPOLICIES, SERVICES, Resource

_PATH = "/etc/volcano"


class SvcPlugin(JobPlugin):
    name = "svc"
    FLAGS = (
        Flag("publish-not-ready-addresses", False, "names of pods that are not ready yet are known, too"),
        Flag("disable-network-policy", False, "no NetworkPolicy is made"),
        Flag("inject-hosts-env", True, "the lists of hosts are variables, too"),
    )

    def problems(self) -> list[str]:
        found = []
        if "." in self.job.name:
            found.append(f"a Service is called like the Job, and its name may have no dots: {self.job.name}")
        tasks = self.job.spec.tasks
        if sum(2 * len(_spellings(task.name)) * names_size(self.job, task) for task in tasks) > LARGEST:
            found.append(f"the names of {self.job.total} pods do not fit into a ConfigMap")
        return found

    def objects(self) -> list[Wanted]:
        spec: Document = {"clusterIP": "None", "selector": self._own_pods}
        if self.flags.switch("publish-not-ready-addresses"):
            spec["publishNotReadyAddresses"] = True
        found: list[Wanted] = [
            _object(CONFIGMAPS, self._files, data=self._lists()),
            _object(SERVICES, self.job.name, spec=spec),
        ]
        if not self.flags.switch("disable-network-policy"):
            found.append(_object(NETWORKPOLICIES, self.job.name, spec=self._policy()))
        return found

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        spec = pod["spec"]
        spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
        spec["subdomain"] = spec.get("subdomain") or self.job.name
        if self.flags.switch("inject-hosts-env"):
            for container in containers(pod):
                for name in self._variables():
                    reference = {"name": self._files, "key": name}
                    add_variable(container, {"name": name, "valueFrom": {"configMapKeyRef": reference}})
        mount(pod, {"name": self._files, "configMap": {"name": self._files}}, _PATH)

    @property
    def _files(self) -> str:
        return f"{self.job.name}-{self.name}"

    @property
    def _own_pods(self) -> dict[str, str]:
        return {JOB_NAME: self.job.name, JOB_NAMESPACE: self.job.namespace}

    def _policy(self) -> Document:
        own = {"podSelector": {"matchLabels": self._own_pods}}
        return {**own, "ingress": [{"from": [own]}], "policyTypes": ["Ingress"]}

    def _lists(self) -> dict[str, str]:
        data = {}
        for task in self.job.spec.tasks:
            names = full_names(self.job, task)
            for spelling in _spellings(task.name):
                listed, counted = _names_of_variables(spelling)
                data[f"{spelling}.host"] = "\n".join(names)
                data[listed] = ",".join(names)
                data[counted] = str(len(names))
        return data

    def _variables(self) -> Iterator[str]:
        for task in self.job.spec.tasks:
            for spelling in _spellings(task.name):
                yield from _names_of_variables(spelling)


def _spellings(task: str) -> list[str]:
    return list(dict.fromkeys((task.replace("-", "_"), task)))


def _names_of_variables(spelling: str) -> tuple[str, str]:
    return f"VC_{spelling.upper()}_HOSTS", f"VC_{spelling.upper()}_NUM"


def _object(resource: Resource, name: str, **content: Document | dict[str, str]) -> Document:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, **content}
