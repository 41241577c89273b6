"""ssh: the pods of a Job can log into each other.

A Secret holds a key pair, the public key as the only one that may log in, and a configuration with an entry for
each pod.  It is made once: a running container would not see a change of it, since it is mounted by a sub-path.
"""

from __future__ import annotations

from base64 import b64encode

from podium.dialects.volcano.job.plugin import Document, Flag, JobPlugin, Wanted, WithKeys
from podium.dialects.volcano.job.plugins.common import LARGEST, hosts, mount, names_size
from podium.dialects.volcano.job.types import TaskSpec
from podium.kube.resources import SECRETS

_ROOTS_PATH = "/root/.ssh"
_DIRECTORY = ".ssh"
_PRIVATE, _PUBLIC, _AUTHORIZED, _CONFIG = "id_rsa", "id_rsa.pub", "authorized_keys", "config"
_PORT = 22
_HIGHEST_PORT = 65535

# ssh refuses keys that others can read; who runs as somebody else than root could not read them otherwise.
_FOR_ROOT, _FOR_OTHERS = 0o600, 0o644


class SshPlugin(JobPlugin):
    name = "ssh"
    FLAGS = (
        Flag("ssh-key-file-path", _ROOTS_PATH, "where containers find the keys"),
        Flag("ssh-private-key", "", "a private key to use instead of a new one"),
        Flag("ssh-public-key", "", "the public key that belongs to it"),
        Flag("ssh-port", _PORT, "the port of the pods' ssh servers"),
    )

    def problems(self) -> list[str]:
        # Each name stands there twice, with its port.
        if sum(2 * names_size(self.job, task) for task in self.job.spec.tasks) > LARGEST:
            return [f"the names of {self.job.total} pods do not fit into a Secret"]
        return []

    def objects(self) -> list[Wanted]:
        content = {_CONFIG: self._config()}
        given = self.flags.text("ssh-private-key")
        if given:
            public = self.flags.text("ssh-public-key")
            content |= {_PRIVATE: given, _PUBLIC: public, _AUTHORIZED: public}
        document = {
            "apiVersion": SECRETS.api_version,
            "kind": SECRETS.kind,
            "metadata": {"name": self._secret},
            "type": "Opaque",
            "data": {key: b64encode(text.encode()).decode() for key, text in content.items()},
        }
        return [document if given else WithKeys(document, _PRIVATE, (_PUBLIC, _AUTHORIZED))]

    def on_pod(self, pod: Document, task: TaskSpec, index: int) -> None:
        path = self.flags.text("ssh-key-file-path")
        keys = (_PRIVATE, _PUBLIC, _AUTHORIZED, _CONFIG)
        secret = {
            "secretName": self._secret,
            "defaultMode": _FOR_ROOT if path == _ROOTS_PATH else _FOR_OTHERS,
            "items": [{"key": key, "path": f"{_DIRECTORY}/{key}"} for key in keys],
        }
        mount(pod, {"name": self._secret, "secret": secret}, path, _DIRECTORY)

    @property
    def _secret(self) -> str:
        return f"{self.job.name}-{self.name}"

    def _config(self) -> str:
        port = self.flags.integer("ssh-port")
        port = port if 0 < port <= _HIGHEST_PORT else _PORT
        lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
        for task in self.job.spec.tasks:
            for name, full in hosts(self.job, task):
                lines += [f"Host {name}", f"  HostName {full}", f"  Port {port}"]
        return "\n".join(lines) + "\n"
