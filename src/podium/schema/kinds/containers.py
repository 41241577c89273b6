"""Containers of pods: images, environment, probes, resources and security contexts."""

TABLES = (
    (
        "core",
        """
Container
  args                      [string]
  command                   [string]
  env                       [EnvVar]              by=name
  envFrom                   [EnvFromSource]
  image                     string
  imagePullPolicy           string                enum=Always|IfNotPresent|Never
  lifecycle                 Lifecycle
  livenessProbe             Probe
  name!                     string
  ports                     [ContainerPort]       by=containerPort,protocol
  readinessProbe            Probe
  resizePolicy              [ContainerResizePolicy]
  resources                 ResourceRequirements  = {}
  restartPolicy             string
  restartPolicyRules        [ContainerRestartRule]
  securityContext           SecurityContext
  startupProbe              Probe
  stdin                     bool
  stdinOnce                 bool
  terminationMessagePath    string                = /dev/termination-log
  terminationMessagePolicy  string                enum=FallbackToLogsOnError|File  = File
  tty                       bool
  volumeDevices             [VolumeDevice]        by=devicePath
  volumeMounts              [VolumeMount]         by=mountPath
  workingDir                string

EnvVar
  name!      string
  value      string
  valueFrom  EnvVarSource

EnvVarSource
  configMapKeyRef   ConfigMapKeySelector
  fieldRef          ObjectFieldSelector
  fileKeyRef        FileKeySelector
  resourceFieldRef  ResourceFieldSelector
  secretKeyRef      SecretKeySelector

ConfigMapKeySelector atomic
  key!      string
  name      string
  optional  bool

ObjectFieldSelector atomic
  apiVersion  string  = v1
  fieldPath!  string

FileKeySelector atomic
  key!         string
  optional     bool
  path!        string
  volumeName!  string

ResourceFieldSelector atomic
  containerName  string
  divisor        Quantity  = "0"
  resource!      string

SecretKeySelector atomic
  key!      string
  name      string
  optional  bool

EnvFromSource
  configMapRef  ConfigMapEnvSource
  prefix        string
  secretRef     SecretEnvSource

ConfigMapEnvSource
  name      string
  optional  bool

SecretEnvSource
  name      string
  optional  bool

Lifecycle
  postStart   LifecycleHandler
  preStop     LifecycleHandler
  stopSignal  string

LifecycleHandler
  exec       ExecAction
  httpGet    HTTPGetAction
  sleep      SleepAction
  tcpSocket  TCPSocketAction

ExecAction
  command  [string]

HTTPGetAction
  host         string
  httpHeaders  [HTTPHeader]
  path         string  = /
  port!        IntOrString
  scheme       string  enum=HTTP|HTTPS  = HTTP

HTTPHeader
  name!   string
  value!  string

SleepAction
  seconds!  int64

TCPSocketAction
  host   string
  port!  IntOrString

Probe
  exec                           ExecAction
  failureThreshold               int32  min=1  = 3
  grpc                           GRPCAction
  httpGet                        HTTPGetAction
  initialDelaySeconds            int32
  periodSeconds                  int32  min=1  = 10
  successThreshold               int32  min=1  = 1
  tcpSocket                      TCPSocketAction
  terminationGracePeriodSeconds  int64
  timeoutSeconds                 int32  min=1  = 1

GRPCAction
  port!    int32
  service  string  = ""

ContainerPort
  containerPort!  int32
  hostIP          string
  hostPort        int32
  name            string
  protocol        string  enum=SCTP|TCP|UDP  = TCP

ContainerResizePolicy
  resourceName!   string
  restartPolicy!  string

ResourceRequirements
  claims    [ResourceClaim]  keys=name
  limits    {Quantity}
  requests  {Quantity}

ResourceClaim
  name!    string
  request  string

ContainerRestartRule
  action!    string
  exitCodes  ContainerRestartRuleOnExitCodes

ContainerRestartRuleOnExitCodes
  operator!  string
  values     [int32]  set

VolumeDevice
  devicePath!  string
  name!        string

VolumeMount
  mountPath!         string
  mountPropagation   string  enum=Bidirectional|HostToContainer|None
  name!              string
  readOnly           bool
  recursiveReadOnly  string
  subPath            string
  subPathExpr        string

EphemeralContainer
  args                      [string]
  command                   [string]
  env                       [EnvVar]              by=name
  envFrom                   [EnvFromSource]
  image                     string
  imagePullPolicy           string                enum=Always|IfNotPresent|Never
  lifecycle                 Lifecycle
  livenessProbe             Probe
  name!                     string
  ports                     [ContainerPort]       by=containerPort,protocol
  readinessProbe            Probe
  resizePolicy              [ContainerResizePolicy]
  resources                 ResourceRequirements  = {}
  restartPolicy             string
  restartPolicyRules        [ContainerRestartRule]
  securityContext           SecurityContext
  startupProbe              Probe
  stdin                     bool
  stdinOnce                 bool
  targetContainerName       string
  terminationMessagePath    string                = /dev/termination-log
  terminationMessagePolicy  string                enum=FallbackToLogsOnError|File  = File
  tty                       bool
  volumeDevices             [VolumeDevice]        by=devicePath
  volumeMounts              [VolumeMount]         by=mountPath
  workingDir                string

SecurityContext
  allowPrivilegeEscalation  bool
  appArmorProfile           AppArmorProfile
  capabilities              Capabilities
  privileged                bool
  procMount                 string  enum=Default|Unmasked
  readOnlyRootFilesystem    bool
  runAsGroup                int64
  runAsNonRoot              bool
  runAsUser                 int64
  seLinuxOptions            SELinuxOptions
  seccompProfile            SeccompProfile
  windowsOptions            WindowsSecurityContextOptions

AppArmorProfile
  localhostProfile  string
  type!             string  enum=Localhost|RuntimeDefault|Unconfined

Capabilities
  add   [string]
  drop  [string]

SELinuxOptions
  level  string
  role   string
  type   string
  user   string

SeccompProfile
  localhostProfile  string
  type!             string  enum=Localhost|RuntimeDefault|Unconfined

WindowsSecurityContextOptions
  gmsaCredentialSpec      string
  gmsaCredentialSpecName  string
  hostProcess             bool
  runAsUserName           string

PodSecurityContext
  appArmorProfile           AppArmorProfile
  fsGroup                   int64
  fsGroupChangePolicy       string  enum=Always|OnRootMismatch
  runAsGroup                int64
  runAsNonRoot              bool
  runAsUser                 int64
  seLinuxChangePolicy       string
  seLinuxOptions            SELinuxOptions
  seccompProfile            SeccompProfile
  supplementalGroups        [int64]
  supplementalGroupsPolicy  string  enum=Merge|Strict
  sysctls                   [Sysctl]
  windowsOptions            WindowsSecurityContextOptions

Sysctl
  name!   string
  value!  string
""",
    ),
)
