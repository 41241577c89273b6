"""What makes pods, and what limits their disruption."""

from __future__ import annotations

from typing import Any

from podium.embedded.kinds.base import ALL, SCALE, builtin
from podium.embedded.printers import workloads as printers
from podium.embedded.registry import Strategy
from podium.embedded.store import Store
from podium.kube import names
from podium.kube import resources as r
from podium.schema import defaults
from podium.schema.rules import Rules
from podium.schema.validation import cluster, jobs
from podium.schema.validation import workloads as checks

Document = dict[str, Any]


def _new_job(document: Document, _: Store) -> None:
    defaults.job_selector(document, document["metadata"]["uid"])


KINDS = (
    builtin(
        r.REPLICATIONCONTROLLERS,
        "rc",
        categories=ALL,
        status=True,
        scale=SCALE,
        selectable_fields=("status.replicas",),
        rules=Rules(default=defaults.default_replication_controller, check=checks.check_replication_controller),
        strategy=Strategy(
            counts_generation=True,
            without_effect="no controller of ReplicationControllers runs here: it will start no pods",
        ),
        printer=printers.REPLICATION_CONTROLLER,
    ),
    builtin(
        r.CONTROLLERREVISIONS,
        rules=Rules(check=checks.check_controller_revision, check_update=checks.check_controller_revision_update),
        printer=printers.CONTROLLER_REVISION,
    ),
    builtin(
        r.DAEMONSETS,
        "ds",
        categories=ALL,
        status=True,
        rules=Rules(
            default=defaults.default_daemon_set,
            check=checks.check_daemon_set,
            check_update=checks.check_daemon_set_update,
        ),
        strategy=Strategy(
            counts_generation=True,
            without_effect="no controller of DaemonSets runs here: it will start no pods",
        ),
        printer=printers.DAEMON_SET,
    ),
    builtin(
        r.DEPLOYMENTS,
        "deploy",
        categories=ALL,
        status=True,
        scale=SCALE,
        rules=Rules(
            default=defaults.default_deployment,
            check=checks.check_deployment,
            check_update=checks.check_deployment_update,
        ),
        strategy=Strategy(
            counts_generation=True,
            counts_annotations=True,
            with_status=("annotations", "finalizers", "ownerReferences"),
        ),
        printer=printers.DEPLOYMENT,
    ),
    builtin(
        r.REPLICASETS,
        "rs",
        categories=ALL,
        status=True,
        scale=SCALE,
        selectable_fields=("status.replicas",),
        rules=Rules(
            default=defaults.default_template,
            check=checks.check_replica_set,
            check_update=checks.check_replica_set_update,
        ),
        strategy=Strategy(counts_generation=True),
        printer=printers.REPLICA_SET,
    ),
    builtin(
        r.STATEFULSETS,
        "sts",
        categories=ALL,
        status=True,
        scale=SCALE,
        rules=Rules(
            default=defaults.default_stateful_set,
            check=checks.check_stateful_set,
            check_update=checks.check_stateful_set_update,
            check_name=names.check_dns_label,
        ),
        strategy=Strategy(counts_generation=True),
        printer=printers.STATEFUL_SET,
    ),
    builtin(
        r.JOBS,
        categories=ALL,
        status=True,
        selectable_fields=("status.successful",),
        rules=Rules(default=defaults.default_job, check=jobs.check_job, check_update=jobs.check_job_update),
        strategy=Strategy(counts_generation=True, at_create=_new_job),
        printer=printers.JOB,
    ),
    builtin(
        r.CRONJOBS,
        "cj",
        categories=ALL,
        status=True,
        rules=Rules(
            default=defaults.default_cron_job,
            check=jobs.check_cron_job,
            check_update=jobs.check_cron_job_update,
        ),
        strategy=Strategy(
            counts_generation=True,
            without_effect="no controller of CronJobs runs here: it will start no Jobs",
        ),
        printer=printers.CRON_JOB,
    ),
    builtin(
        r.PODDISRUPTIONBUDGETS,
        "pdb",
        status=True,
        rules=Rules(check=cluster.check_budget),
        strategy=Strategy(counts_generation=True, needs_version=True),
        printer=printers.DISRUPTION_BUDGET,
    ),
)
