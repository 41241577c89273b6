"""Jobs and CronJobs."""

TABLES = (
    (
        "batch",
        """
Job root
  spec    JobSpec    = {}
  status  JobStatus  = {}

JobSpec
  activeDeadlineSeconds    int64
  backoffLimit             int32
  backoffLimitPerIndex     int32
  completionMode           string           enum=Indexed|NonIndexed
  completions              int32
  managedBy                string
  manualSelector           bool
  maxFailedIndexes         int32
  parallelism              int32
  podFailurePolicy         PodFailurePolicy
  podReplacementPolicy     string           enum=Failed|TerminatingOrFailed
  selector                 LabelSelector
  successPolicy            SuccessPolicy
  suspend                  bool
  template!                PodTemplateSpec  = {}
  ttlSecondsAfterFinished  int32

PodFailurePolicy
  rules!  [PodFailurePolicyRule]

PodFailurePolicyRule
  action!          string  enum=Count|FailIndex|FailJob|Ignore
  onExitCodes      PodFailurePolicyOnExitCodesRequirement
  onPodConditions  [PodFailurePolicyOnPodConditionsPattern]

PodFailurePolicyOnExitCodesRequirement
  containerName  string
  operator!      string   enum=In|NotIn
  values!        [int32]  set

PodFailurePolicyOnPodConditionsPattern
  status  string  = "True"
  type!   string

SuccessPolicy
  rules!  [SuccessPolicyRule]

SuccessPolicyRule
  succeededCount    int32
  succeededIndexes  string

JobStatus
  active                   int32
  completedIndexes         string
  completionTime           Time
  conditions               [JobCondition]  merge=type
  failed                   int32
  failedIndexes            string
  ready                    int32
  startTime                Time
  succeeded                int32
  terminating              int32
  uncountedTerminatedPods  UncountedTerminatedPods

JobCondition
  lastProbeTime       Time
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string

UncountedTerminatedPods
  failed     [string]  set
  succeeded  [string]  set

CronJob root
  spec!   CronJobSpec    = {}
  status  CronJobStatus  = {}

CronJobSpec
  concurrencyPolicy           string           enum=Allow|Forbid|Replace  = Allow
  failedJobsHistoryLimit      int32            = 1
  jobTemplate!                JobTemplateSpec  = {}
  schedule!                   string
  startingDeadlineSeconds     int64
  successfulJobsHistoryLimit  int32            = 3
  suspend                     bool             = false
  timeZone                    string

JobTemplateSpec
  metadata  ObjectMeta  = {}
  spec      JobSpec     = {}

CronJobStatus
  active              [ObjectReference]
  lastScheduleTime    Time
  lastSuccessfulTime  Time
""",
    ),
)
