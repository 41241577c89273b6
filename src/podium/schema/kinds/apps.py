"""ReplicaSets, Deployments, StatefulSets, DaemonSets, and the ReplicationController before them."""

TABLES = (
    (
        "apps",
        """
Deployment root
  spec    DeploymentSpec    = {}
  status  DeploymentStatus  = {}

DeploymentSpec
  minReadySeconds          int32
  paused                   bool
  progressDeadlineSeconds  int32               = 600
  replicas                 int32               = 1
  revisionHistoryLimit     int32               = 10
  selector!                LabelSelector
  strategy                 DeploymentStrategy  retainKeys  = {}
  template!                PodTemplateSpec     = {}

DeploymentStrategy
  rollingUpdate  RollingUpdateDeployment
  type           string  enum=Recreate|RollingUpdate  = RollingUpdate

RollingUpdateDeployment
  maxSurge        IntOrString
  maxUnavailable  IntOrString

DeploymentStatus
  availableReplicas    int32
  collisionCount       int32
  conditions           [DeploymentCondition]  by=type
  observedGeneration   int64
  readyReplicas        int32
  replicas             int32
  terminatingReplicas  int32
  unavailableReplicas  int32
  updatedReplicas      int32

DeploymentCondition
  lastTransitionTime  Time
  lastUpdateTime      Time
  message             string
  reason              string
  status!             string
  type!               string

ReplicaSet root
  spec    ReplicaSetSpec    = {}
  status  ReplicaSetStatus  = {}

ReplicaSetSpec
  minReadySeconds  int32
  replicas         int32            = 1
  selector!        LabelSelector
  template         PodTemplateSpec  = {}

ReplicaSetStatus
  availableReplicas     int32
  conditions            [ReplicaSetCondition]  by=type
  fullyLabeledReplicas  int32
  observedGeneration    int64
  readyReplicas         int32
  replicas!             int32                  = 0
  terminatingReplicas   int32

ReplicaSetCondition
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string

StatefulSet root
  spec    StatefulSetSpec    = {}
  status  StatefulSetStatus  = {}

StatefulSetSpec
  minReadySeconds                       int32
  ordinals                              StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy  StatefulSetPersistentVolumeClaimRetentionPolicy  = {}
  podManagementPolicy                   string  enum=OrderedReady|Parallel  = OrderedReady
  replicas                              int32  = 1
  revisionHistoryLimit                  int32  = 10
  selector!                             LabelSelector
  serviceName                           string  = ""
  template!                             PodTemplateSpec  = {}
  updateStrategy                        StatefulSetUpdateStrategy  = {}
  volumeClaimTemplates                  [PersistentVolumeClaim]

StatefulSetOrdinals
  start  int32

StatefulSetPersistentVolumeClaimRetentionPolicy
  whenDeleted  string  = Retain
  whenScaled   string  = Retain

StatefulSetUpdateStrategy
  rollingUpdate  RollingUpdateStatefulSetStrategy
  type           string  enum=OnDelete|RollingUpdate

RollingUpdateStatefulSetStrategy
  maxUnavailable  IntOrString
  partition       int32

StatefulSetStatus
  availableReplicas   int32                   = 0
  collisionCount      int32
  conditions          [StatefulSetCondition]  by=type
  currentReplicas     int32
  currentRevision     string
  observedGeneration  int64
  readyReplicas       int32
  replicas!           int32                   = 0
  updateRevision      string
  updatedReplicas     int32

StatefulSetCondition
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string

DaemonSet root
  spec    DaemonSetSpec    = {}
  status  DaemonSetStatus  = {}

DaemonSetSpec
  minReadySeconds       int32
  revisionHistoryLimit  int32                    = 10
  selector!             LabelSelector
  template!             PodTemplateSpec          = {}
  updateStrategy        DaemonSetUpdateStrategy  = {}

DaemonSetUpdateStrategy
  rollingUpdate  RollingUpdateDaemonSet
  type           string  enum=OnDelete|RollingUpdate  = RollingUpdate

RollingUpdateDaemonSet
  maxSurge        IntOrString
  maxUnavailable  IntOrString

DaemonSetStatus
  collisionCount           int32
  conditions               [DaemonSetCondition]  by=type
  currentNumberScheduled!  int32                 = 0
  desiredNumberScheduled!  int32                 = 0
  numberAvailable          int32
  numberMisscheduled!      int32                 = 0
  numberReady!             int32                 = 0
  numberUnavailable        int32
  observedGeneration       int64
  updatedNumberScheduled   int32

DaemonSetCondition
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string

ControllerRevision root
  data       object
  revision!  int64
""",
    ),
    (
        "core",
        """
ReplicationController root
  spec    ReplicationControllerSpec    = {}
  status  ReplicationControllerStatus  = {}

ReplicationControllerSpec
  minReadySeconds  int32
  replicas         int32     = 1
  selector         {string}  atomic
  template         PodTemplateSpec

ReplicationControllerStatus
  availableReplicas     int32
  conditions            [ReplicationControllerCondition]  by=type
  fullyLabeledReplicas  int32
  observedGeneration    int64
  readyReplicas         int32
  replicas!             int32  = 0

ReplicationControllerCondition
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string
""",
    ),
)
