"""What kubelets and schedulers say of a pod."""

TABLES = (
    (
        "core",
        """
PodStatus
  allocatedResources                    {Quantity}
  conditions                            [PodCondition]            by=type
  containerStatuses                     [ContainerStatus]
  ephemeralContainerStatuses            [ContainerStatus]
  extendedResourceClaimStatus           PodExtendedResourceClaimStatus
  hostIP                                string
  hostIPs                               [HostIP]                  merge=ip
  initContainerStatuses                 [ContainerStatus]
  message                               string
  nodeAllocatableResourceClaimStatuses  [NodeAllocatableResourceClaimStatus]
  nominatedNodeName                     string
  observedGeneration                    int64
  phase                                 string                    enum=Failed|Pending|Running|Succeeded|Unknown
  podIP                                 string
  podIPs                                [PodIP]                   by=ip
  qosClass                              string                    enum=BestEffort|Burstable|Guaranteed
  reason                                string
  resize                                string
  resourceClaimStatuses                 [PodResourceClaimStatus]  by=name retainKeys
  resources                             ResourceRequirements
  startTime                             Time

PodCondition
  lastProbeTime       Time
  lastTransitionTime  Time
  message             string
  observedGeneration  int64
  reason              string
  status!             string
  type!               string

ContainerStatus
  allocatedResources        {Quantity}
  allocatedResourcesStatus  [ResourceStatus]     by=name
  containerID               string
  image!                    string
  imageID!                  string
  lastState                 ContainerState       = {}
  name!                     string
  ready!                    bool
  resources                 ResourceRequirements
  restartCount!             int32
  started                   bool
  state                     ContainerState       = {}
  stopSignal                string
  user                      ContainerUser
  volumeMounts              [VolumeMountStatus]  by=mountPath

ResourceStatus
  name!      string
  resources  [ResourceHealth]  keys=resourceID

ResourceHealth
  health       string
  message      string
  resourceID!  string

ContainerState
  running     ContainerStateRunning
  terminated  ContainerStateTerminated
  waiting     ContainerStateWaiting

ContainerStateRunning
  startedAt  Time

ContainerStateTerminated
  containerID  string
  exitCode!    int32
  finishedAt   Time
  message      string
  reason       string
  signal       int32
  startedAt    Time

ContainerStateWaiting
  message  string
  reason   string

ContainerUser
  linux  LinuxContainerUser

LinuxContainerUser
  gid!                int64
  supplementalGroups  [int64]
  uid!                int64

VolumeMountStatus
  mountPath!         string
  name!              string
  readOnly           bool
  recursiveReadOnly  string
  volumeStatus       VolumeStatus

VolumeStatus
  image  ImageVolumeStatus

ImageVolumeStatus
  imageRef!  string

PodExtendedResourceClaimStatus
  requestMappings!    [ContainerExtendedResourceRequest]
  resourceClaimName!  string

ContainerExtendedResourceRequest
  containerName!  string
  requestName!    string
  resourceName!   string

HostIP
  ip!  string

NodeAllocatableResourceClaimStatus
  containers          [string]  set
  resourceClaimName!  string
  resources!          {Quantity}

PodIP
  ip!  string

PodResourceClaimStatus
  name!              string
  resourceClaimName  string
""",
    ),
)
