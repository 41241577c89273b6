"""Services, their endpoints, and network policies."""

TABLES = (
    (
        "core",
        """
Service root
  spec    ServiceSpec    = {}
  status  ServiceStatus  = {}

ServiceSpec
  allocateLoadBalancerNodePorts  bool
  clusterIP                      string
  clusterIPs                     [string]
  externalIPs                    [string]
  externalName                   string
  externalTrafficPolicy          string         enum=Cluster|Local
  healthCheckNodePort            int32
  internalTrafficPolicy          string         enum=Cluster|Local
  ipFamilies                     [string]
  ipFamilyPolicy                 string         enum=PreferDualStack|RequireDualStack|SingleStack
  loadBalancerClass              string
  loadBalancerIP                 string
  loadBalancerSourceRanges       [string]
  ports                          [ServicePort]  by=port,protocol
  publishNotReadyAddresses       bool
  selector                       {string}       atomic
  sessionAffinity                string         enum=ClientIP|None  = None
  sessionAffinityConfig          SessionAffinityConfig
  trafficDistribution            string
  type                           string         enum=ClusterIP|ExternalName|LoadBalancer|NodePort  = ClusterIP

ServicePort
  appProtocol  string
  name         string
  nodePort     int32
  port!        int32
  protocol     string  enum=SCTP|TCP|UDP  = TCP
  targetPort   IntOrString

SessionAffinityConfig
  clientIP  ClientIPConfig

ClientIPConfig
  timeoutSeconds  int32

ServiceStatus
  conditions    [Condition]         by=type
  loadBalancer  LoadBalancerStatus  = {}

LoadBalancerStatus
  ingress  [LoadBalancerIngress]

LoadBalancerIngress
  hostname  string
  ip        string
  ipMode    string
  ports     [PortStatus]

PortStatus
  error      string
  port!      int32
  protocol!  string  enum=SCTP|TCP|UDP

Endpoints root
  subsets  [EndpointSubset]

EndpointSubset
  addresses          [EndpointAddress]
  notReadyAddresses  [EndpointAddress]
  ports              [EndpointPort]

EndpointAddress atomic
  hostname   string
  ip!        string
  nodeName   string
  targetRef  ObjectReference

EndpointPort atomic
  appProtocol  string
  name         string
  port!        int32
  protocol     string  enum=SCTP|TCP|UDP  = TCP
""",
    ),
    (
        "discovery",
        """
EndpointSlice root
  addressType!  string  enum=FQDN|IPv4|IPv6
  endpoints     [Endpoint]
  ports         [EndpointPort]

Endpoint
  addresses!          [string]            set
  conditions          EndpointConditions  = {}
  deprecatedTopology  {string}
  hints               EndpointHints
  hostname            string
  nodeName            string
  targetRef           ObjectReference
  zone                string

EndpointConditions
  ready        bool
  serving      bool
  terminating  bool

EndpointHints
  forNodes  [ForNode]
  forZones  [ForZone]

ForNode
  name!  string

ForZone
  name!  string

EndpointPort atomic
  appProtocol  string
  name         string  = ""
  port         int32
  protocol     string  enum=SCTP|TCP|UDP  = TCP
""",
    ),
    (
        "networking",
        """
NetworkPolicy root
  spec  NetworkPolicySpec  = {}

NetworkPolicySpec
  egress       [NetworkPolicyEgressRule]
  ingress      [NetworkPolicyIngressRule]
  podSelector  LabelSelector  = {}
  policyTypes  [string]

NetworkPolicyEgressRule
  ports  [NetworkPolicyPort]
  to     [NetworkPolicyPeer]

NetworkPolicyPort
  endPort   int32
  port      IntOrString
  protocol  string  enum=SCTP|TCP|UDP  = TCP

NetworkPolicyPeer
  ipBlock            IPBlock
  namespaceSelector  LabelSelector
  podSelector        LabelSelector

IPBlock
  cidr!   string
  except  [string]

NetworkPolicyIngressRule
  from   [NetworkPolicyPeer]
  ports  [NetworkPolicyPort]
""",
    ),
)
