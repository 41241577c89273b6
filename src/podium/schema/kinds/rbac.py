"""Roles and their bindings."""

TABLES = (
    (
        "rbac",
        """
Role root
  rules  [PolicyRule]

PolicyRule
  apiGroups        [string]
  nonResourceURLs  [string]
  resourceNames    [string]
  resources        [string]
  verbs!           [string]

ClusterRole root
  aggregationRule  AggregationRule
  rules            [PolicyRule]

AggregationRule
  clusterRoleSelectors  [LabelSelector]

RoleBinding root
  roleRef!  RoleRef
  subjects  [Subject]

RoleRef atomic
  apiGroup  string  = rbac.authorization.k8s.io
  kind!     string
  name!     string

Subject atomic
  apiGroup   string
  kind!      string
  name!      string
  namespace  string

ClusterRoleBinding root
  roleRef!  RoleRef
  subjects  [Subject]
""",
    ),
)
