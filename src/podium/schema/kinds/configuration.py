"""ConfigMaps, Secrets, ServiceAccounts, quotas and limit ranges."""

TABLES = (
    (
        "core",
        """
ConfigMap root
  binaryData  {bytes}
  data        {string}
  immutable   bool

Secret root
  data        {bytes}
  immutable   bool
  stringData  {string}
  type        string  = Opaque

ServiceAccount root
  automountServiceAccountToken  bool
  imagePullSecrets              [LocalObjectReference]
  secrets                       [ObjectReference]  by=name

ResourceQuota root
  spec    ResourceQuotaSpec    = {}
  status  ResourceQuotaStatus  = {}

ResourceQuotaSpec
  hard           {Quantity}
  scopeSelector  ScopeSelector
  scopes         [string]

ScopeSelector atomic
  matchExpressions  [ScopedResourceSelectorRequirement]

ScopedResourceSelectorRequirement
  operator!   string  enum=DoesNotExist|Exists|In|NotIn
  scopeName!  string
  values      [string]

ResourceQuotaStatus
  hard  {Quantity}
  used  {Quantity}

LimitRange root
  spec  LimitRangeSpec  = {}

LimitRangeSpec
  limits!  [LimitRangeItem]

LimitRangeItem
  default               {Quantity}
  defaultRequest        {Quantity}
  max                   {Quantity}
  maxLimitRequestRatio  {Quantity}
  min                   {Quantity}
  type!                 string
""",
    ),
)
