"""Nodes and namespaces."""

TABLES = (
    (
        "core",
        """
Namespace root
  spec    NamespaceSpec    = {}
  status  NamespaceStatus  = {}

NamespaceSpec
  finalizers  [string]

NamespaceStatus
  conditions  [NamespaceCondition]  by=type
  phase       string                enum=Active|Terminating  = Active

NamespaceCondition
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string

Node root
  spec    NodeSpec    = {}
  status  NodeStatus  = {}

NodeSpec
  configSource   NodeConfigSource
  externalID     string
  podCIDR        string
  podCIDRs       [string]  set merge
  providerID     string
  taints         [Taint]
  unschedulable  bool

NodeConfigSource
  configMap  ConfigMapNodeConfigSource

ConfigMapNodeConfigSource
  kubeletConfigKey!  string
  name!              string
  namespace!         string
  resourceVersion    string
  uid                string

Taint
  effect!    string  enum=NoExecute|NoSchedule|PreferNoSchedule
  key!       string
  timeAdded  Time
  value      string

NodeStatus
  addresses         [NodeAddress]        by=type
  allocatable       {Quantity}
  capacity          {Quantity}
  conditions        [NodeCondition]      by=type
  config            NodeConfigStatus
  daemonEndpoints   NodeDaemonEndpoints  = {}
  declaredFeatures  [string]
  features          NodeFeatures
  images            [ContainerImage]
  nodeInfo          NodeSystemInfo       = {}
  phase             string               enum=Pending|Running|Terminated
  runtimeHandlers   [NodeRuntimeHandler]
  volumesAttached   [AttachedVolume]
  volumesInUse      [string]

NodeAddress
  address!  string
  type!     string

NodeCondition
  lastHeartbeatTime   Time
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string

NodeConfigStatus
  active         NodeConfigSource
  assigned       NodeConfigSource
  error          string
  lastKnownGood  NodeConfigSource

NodeDaemonEndpoints
  kubeletEndpoint  DaemonEndpoint  = {}

DaemonEndpoint
  Port!  int32  = 0

NodeFeatures
  supplementalGroupsPolicy  bool

ContainerImage
  names      [string]
  sizeBytes  int64

NodeSystemInfo
  architecture!             string  = ""
  bootID!                   string  = ""
  containerRuntimeVersion!  string  = ""
  kernelVersion!            string  = ""
  kubeProxyVersion!         string  = ""
  kubeletVersion!           string  = ""
  machineID!                string  = ""
  operatingSystem!          string  = ""
  osImage!                  string  = ""
  swap                      NodeSwapStatus
  systemUUID!               string  = ""

NodeSwapStatus
  capacity  int64

NodeRuntimeHandler
  features  NodeRuntimeHandlerFeatures
  name      string

NodeRuntimeHandlerFeatures
  recursiveReadOnlyMounts  bool
  userNamespaces           bool

AttachedVolume
  devicePath!  string
  name!        string
""",
    ),
)
