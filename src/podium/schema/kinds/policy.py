"""Disruption budgets and evictions, priority classes, leases."""

TABLES = (
    (
        "policy",
        """
PodDisruptionBudget root
  spec    PodDisruptionBudgetSpec    = {}
  status  PodDisruptionBudgetStatus  = {}

PodDisruptionBudgetSpec
  maxUnavailable              IntOrString
  minAvailable                IntOrString
  selector                    LabelSelector  replace
  unhealthyPodEvictionPolicy  string         enum=AlwaysAllow|IfHealthyBudget

PodDisruptionBudgetStatus
  conditions          [Condition]  by=type
  currentHealthy      int32        = 0
  desiredHealthy      int32        = 0
  disruptedPods       {Time}
  disruptionsAllowed  int32        = 0
  expectedPods        int32        = 0
  observedGeneration  int64

Eviction root
  deleteOptions  DeleteOptions
""",
    ),
    (
        "scheduling",
        """
PriorityClass root
  description       string
  globalDefault     bool
  preemptionPolicy  string  enum=Never|PreemptLowerPriority  = PreemptLowerPriority
  value             int32
""",
    ),
    (
        "coordination",
        """
Lease root
  spec  LeaseSpec  = {}

LeaseSpec
  acquireTime           MicroTime
  holderIdentity        string
  leaseDurationSeconds  int32
  leaseTransitions      int32
  preferredHolder       string
  renewTime             MicroTime
  strategy              string
""",
    ),
)
