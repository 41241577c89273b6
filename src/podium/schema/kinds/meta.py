"""What all kinds share: metadata, selectors, conditions, and the small objects that are sent to subresources."""

TABLES = (
    (
        "meta",
        """
ObjectMeta
  annotations                 {string}
  creationTimestamp           Time
  deletionGracePeriodSeconds  int64
  deletionTimestamp           Time
  finalizers                  [string]          set merge
  generateName                string
  generation                  int64
  labels                      {string}
  managedFields               [ManagedFieldsEntry]
  name                        string
  namespace                   string
  ownerReferences             [OwnerReference]  by=uid
  resourceVersion             string
  selfLink                    string
  uid                         string

ManagedFieldsEntry
  apiVersion   string
  fieldsType   string
  fieldsV1     object
  manager      string
  operation    string
  subresource  string
  time         Time

OwnerReference atomic
  apiVersion!         string
  blockOwnerDeletion  bool
  controller          bool
  kind!               string
  name!               string
  uid!                string

LabelSelector atomic
  matchExpressions  [LabelSelectorRequirement]
  matchLabels       {string}

LabelSelectorRequirement
  key!       string
  operator!  string
  values     [string]

Condition
  lastTransitionTime!  Time
  message!             string
  observedGeneration   int64
  reason!              string
  status!              string
  type!                string

DeleteOptions
  apiVersion                                        string
  dryRun                                            [string]
  gracePeriodSeconds                                int64
  ignoreStoreReadErrorWithClusterBreakingPotential  bool
  kind                                              string
  orphanDependents                                  bool
  preconditions                                     Preconditions
  propagationPolicy                                 string

Preconditions
  resourceVersion  string
  uid              string
""",
    ),
    (
        "autoscaling",
        """
Scale root
  spec    ScaleSpec    = {}
  status  ScaleStatus  = {}

ScaleSpec
  replicas  int32

ScaleStatus
  replicas!  int32  = 0
  selector   string
""",
    ),
)
