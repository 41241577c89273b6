"""CustomResourceDefinitions."""

TABLES = (
    (
        "apiextensions",
        """
CustomResourceDefinition root
  spec!   CustomResourceDefinitionSpec    = {}
  status  CustomResourceDefinitionStatus  = {}

CustomResourceDefinitionSpec
  conversion             CustomResourceConversion  = {"strategy": "None"}
  group!                 string
  names!                 CustomResourceDefinitionNames
  preserveUnknownFields  bool
  scope!                 string
  versions!              [CustomResourceDefinitionVersion]

CustomResourceConversion
  strategy!  string
  webhook    WebhookConversion

WebhookConversion
  clientConfig               WebhookClientConfig
  conversionReviewVersions!  [string]

WebhookClientConfig
  caBundle  bytes
  service   ServiceReference
  url       string

ServiceReference
  name!       string
  namespace!  string
  path        string
  port        int32  = 443

CustomResourceDefinitionNames
  categories  [string]
  kind!       string
  listKind    string
  plural!     string
  shortNames  [string]
  singular    string

CustomResourceDefinitionVersion
  additionalPrinterColumns  [CustomResourceColumnDefinition]
  deprecated                bool
  deprecationWarning        string
  name!                     string
  schema                    CustomResourceValidation
  selectableFields          [SelectableField]
  served!                   bool
  storage!                  bool
  subresources              CustomResourceSubresources

CustomResourceColumnDefinition
  description  string
  format       string
  jsonPath!    string
  name!        string
  priority     int32
  type!        string

CustomResourceValidation
  openAPIV3Schema  JSONSchemaProps

JSONSchemaProps
  $ref                                  string
  $schema                               string
  additionalItems                       JSONSchemaProps|bool
  additionalProperties                  JSONSchemaProps|bool
  allOf                                 [JSONSchemaProps]
  anyOf                                 [JSONSchemaProps]
  default                               any
  definitions                           {JSONSchemaProps}
  dependencies                          {JSONSchemaProps|[string]}
  description                           string
  enum                                  [any]
  example                               any
  exclusiveMaximum                      bool
  exclusiveMinimum                      bool
  externalDocs                          ExternalDocumentation
  format                                string
  id                                    string
  items                                 JSONSchemaProps|[JSONSchemaProps]
  maxItems                              int64
  maxLength                             int64
  maxProperties                         int64
  maximum                               number
  minItems                              int64
  minLength                             int64
  minProperties                         int64
  minimum                               number
  multipleOf                            number
  not                                   JSONSchemaProps
  nullable                              bool
  oneOf                                 [JSONSchemaProps]
  pattern                               string
  patternProperties                     {JSONSchemaProps}
  properties                            {JSONSchemaProps}
  required                              [string]
  title                                 string
  type                                  string
  uniqueItems                           bool
  x-kubernetes-embedded-resource        bool
  x-kubernetes-int-or-string            bool
  x-kubernetes-list-map-keys            [string]
  x-kubernetes-list-type                string
  x-kubernetes-map-type                 string
  x-kubernetes-preserve-unknown-fields  bool
  x-kubernetes-validations              [ValidationRule]  by=rule

ExternalDocumentation
  description  string
  url          string

ValidationRule
  fieldPath          string
  message            string
  messageExpression  string
  optionalOldSelf    bool
  reason             string  enum=FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired
  rule!              string

SelectableField
  jsonPath!  string

CustomResourceSubresources
  scale   CustomResourceSubresourceScale
  status  CustomResourceSubresourceStatus

CustomResourceSubresourceStatus

CustomResourceSubresourceScale
  labelSelectorPath    string
  specReplicasPath!    string
  statusReplicasPath!  string

CustomResourceDefinitionStatus
  acceptedNames       CustomResourceDefinitionNames
  conditions          [CustomResourceDefinitionCondition]  keys=type
  observedGeneration  int64
  storedVersions      [string]

CustomResourceDefinitionCondition
  lastTransitionTime  Time
  message             string
  observedGeneration  int64
  reason              string
  status!             string
  type!               string
""",
    ),
)
