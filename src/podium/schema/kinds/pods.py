"""Pods: the spec and the template other kinds carry, and the references core kinds use."""

TABLES = (
    (
        "core",
        """
Pod root
  spec    PodSpec    = {}
  status  PodStatus  = {}

PodSpec
  activeDeadlineSeconds          int64
  affinity                       Affinity
  automountServiceAccountToken   bool
  containers!                    [Container]                 by=name
  dnsConfig                      PodDNSConfig
  dnsPolicy                      string  enum=ClusterFirst|ClusterFirstWithHostNet|Default|None  = ClusterFirst
  enableServiceLinks             bool
  ephemeralContainers            [EphemeralContainer]        by=name
  hostAliases                    [HostAlias]                 by=ip
  hostIPC                        bool
  hostNetwork                    bool
  hostPID                        bool
  hostUsers                      bool
  hostname                       string
  hostnameOverride               string
  imagePullSecrets               [LocalObjectReference]      by=name
  initContainers                 [Container]                 by=name
  nodeName                       string
  nodeSelector                   {string}                    atomic
  os                             PodOS
  overhead                       {Quantity}
  preemptionPolicy               string                      enum=Never|PreemptLowerPriority
  priority                       int32
  priorityClassName              string
  readinessGates                 [PodReadinessGate]
  resourceClaims                 [PodResourceClaim]          by=name retainKeys
  resources                      ResourceRequirements
  restartPolicy                  string                      enum=Always|Never|OnFailure  = Always
  runtimeClassName               string
  schedulerName                  string                      = default-scheduler
  schedulingGates                [PodSchedulingGate]         by=name
  schedulingGroup                PodSchedulingGroup
  securityContext                PodSecurityContext          = {}
  serviceAccount                 string
  serviceAccountName             string
  setHostnameAsFQDN              bool
  shareProcessNamespace          bool
  subdomain                      string
  terminationGracePeriodSeconds  int64                       = 30
  tolerations                    [Toleration]
  topologySpreadConstraints      [TopologySpreadConstraint]  by=topologyKey,whenUnsatisfiable
  volumes                        [Volume]                    by=name retainKeys

PodDNSConfig
  nameservers  [string]
  options      [PodDNSConfigOption]
  searches     [string]

PodDNSConfigOption
  name   string
  value  string

HostAlias
  hostnames  [string]
  ip!        string

PodOS
  name!  string

PodReadinessGate
  conditionType!  string

PodResourceClaim
  name!                      string
  resourceClaimName          string
  resourceClaimTemplateName  string

PodTemplateSpec
  metadata  ObjectMeta  = {}
  spec      PodSpec     = {}

Binding root
  target!  ObjectReference

LocalObjectReference atomic
  name  string

ObjectReference atomic
  apiVersion       string
  fieldPath        string
  kind             string
  name             string
  namespace        string
  resourceVersion  string
  uid              string
""",
    ),
)
