"""Where a pod may run: affinity, tolerations, spreading, gates."""

TABLES = (
    (
        "core",
        """
Affinity
  nodeAffinity     NodeAffinity
  podAffinity      PodAffinity
  podAntiAffinity  PodAntiAffinity

NodeAffinity
  preferredDuringSchedulingIgnoredDuringExecution  [PreferredSchedulingTerm]
  requiredDuringSchedulingIgnoredDuringExecution   NodeSelector

PreferredSchedulingTerm
  preference!  NodeSelectorTerm
  weight!      int32

NodeSelectorTerm atomic
  matchExpressions  [NodeSelectorRequirement]
  matchFields       [NodeSelectorRequirement]

NodeSelectorRequirement
  key!       string
  operator!  string  enum=DoesNotExist|Exists|Gt|In|Lt|NotIn
  values     [string]

NodeSelector atomic
  nodeSelectorTerms!  [NodeSelectorTerm]

PodAffinity
  preferredDuringSchedulingIgnoredDuringExecution  [WeightedPodAffinityTerm]
  requiredDuringSchedulingIgnoredDuringExecution   [PodAffinityTerm]

WeightedPodAffinityTerm
  podAffinityTerm!  PodAffinityTerm
  weight!           int32

PodAffinityTerm
  labelSelector      LabelSelector
  matchLabelKeys     [string]
  mismatchLabelKeys  [string]
  namespaceSelector  LabelSelector
  namespaces         [string]
  topologyKey!       string

PodAntiAffinity
  preferredDuringSchedulingIgnoredDuringExecution  [WeightedPodAffinityTerm]
  requiredDuringSchedulingIgnoredDuringExecution   [PodAffinityTerm]

PodSchedulingGate
  name!  string

PodSchedulingGroup
  podGroupName  string

Toleration
  effect             string  enum=NoExecute|NoSchedule|PreferNoSchedule
  key                string
  operator           string  enum=Equal|Exists|Gt|Lt
  tolerationSeconds  int64
  value              string

TopologySpreadConstraint
  labelSelector       LabelSelector
  matchLabelKeys      [string]
  maxSkew!            int32
  minDomains          int32
  nodeAffinityPolicy  string  enum=Honor|Ignore
  nodeTaintsPolicy    string  enum=Honor|Ignore
  topologyKey!        string
  whenUnsatisfiable!  string  enum=DoNotSchedule|ScheduleAnyway
""",
    ),
)
