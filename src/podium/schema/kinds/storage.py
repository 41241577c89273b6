"""Persistent volumes, claims and the storage.k8s.io kinds."""

TABLES = (
    (
        "core",
        """
PersistentVolumeClaimSpec
  accessModes                [string]
  dataSource                 TypedLocalObjectReference
  dataSourceRef              TypedObjectReference
  resources                  VolumeResourceRequirements  = {}
  selector                   LabelSelector
  storageClassName           string
  volumeAttributesClassName  string
  volumeMode                 string                      enum=Block|Filesystem  = Filesystem
  volumeName                 string

TypedLocalObjectReference atomic
  apiGroup  string
  kind!     string
  name!     string

TypedObjectReference
  apiGroup   string
  kind!      string
  name!      string
  namespace  string

VolumeResourceRequirements
  limits    {Quantity}
  requests  {Quantity}

PersistentVolume root
  spec    PersistentVolumeSpec    = {}
  status  PersistentVolumeStatus  = {}

PersistentVolumeSpec
  accessModes                    [string]
  awsElasticBlockStore           AWSElasticBlockStoreVolumeSource
  azureDisk                      AzureDiskVolumeSource
  azureFile                      AzureFilePersistentVolumeSource
  capacity                       {Quantity}
  cephfs                         CephFSPersistentVolumeSource
  cinder                         CinderPersistentVolumeSource
  claimRef                       ObjectReference  granular
  csi                            CSIPersistentVolumeSource
  fc                             FCVolumeSource
  flexVolume                     FlexPersistentVolumeSource
  flocker                        FlockerVolumeSource
  gcePersistentDisk              GCEPersistentDiskVolumeSource
  glusterfs                      GlusterfsPersistentVolumeSource
  hostPath                       HostPathVolumeSource
  iscsi                          ISCSIPersistentVolumeSource
  local                          LocalVolumeSource
  mountOptions                   [string]
  nfs                            NFSVolumeSource
  nodeAffinity                   VolumeNodeAffinity
  persistentVolumeReclaimPolicy  string           enum=Delete|Recycle|Retain  = Retain
  photonPersistentDisk           PhotonPersistentDiskVolumeSource
  portworxVolume                 PortworxVolumeSource
  quobyte                        QuobyteVolumeSource
  rbd                            RBDPersistentVolumeSource
  scaleIO                        ScaleIOPersistentVolumeSource
  storageClassName               string
  storageos                      StorageOSPersistentVolumeSource
  volumeAttributesClassName      string
  volumeMode                     string           enum=Block|Filesystem  = Filesystem
  vsphereVolume                  VsphereVirtualDiskVolumeSource

AzureFilePersistentVolumeSource
  readOnly         bool
  secretName!      string
  secretNamespace  string
  shareName!       string

CephFSPersistentVolumeSource
  monitors!   [string]
  path        string
  readOnly    bool
  secretFile  string
  secretRef   SecretReference
  user        string

SecretReference atomic
  name       string
  namespace  string

CinderPersistentVolumeSource
  fsType     string
  readOnly   bool
  secretRef  SecretReference
  volumeID!  string

CSIPersistentVolumeSource
  controllerExpandSecretRef   SecretReference
  controllerPublishSecretRef  SecretReference
  driver!                     string
  fsType                      string
  nodeExpandSecretRef         SecretReference
  nodePublishSecretRef        SecretReference
  nodeStageSecretRef          SecretReference
  readOnly                    bool
  volumeAttributes            {string}
  volumeHandle!               string

FlexPersistentVolumeSource
  driver!    string
  fsType     string
  options    {string}
  readOnly   bool
  secretRef  SecretReference

GlusterfsPersistentVolumeSource
  endpoints!          string
  endpointsNamespace  string
  path!               string
  readOnly            bool

ISCSIPersistentVolumeSource
  chapAuthDiscovery  bool
  chapAuthSession    bool
  fsType             string
  initiatorName      string
  iqn!               string
  iscsiInterface     string  = default
  lun!               int32
  portals            [string]
  readOnly           bool
  secretRef          SecretReference
  targetPortal!      string

LocalVolumeSource
  fsType  string
  path!   string

VolumeNodeAffinity
  required  NodeSelector

RBDPersistentVolumeSource
  fsType     string
  image!     string
  keyring    string  = /etc/ceph/keyring
  monitors!  [string]
  pool       string  = rbd
  readOnly   bool
  secretRef  SecretReference
  user       string  = admin

ScaleIOPersistentVolumeSource
  fsType            string  = xfs
  gateway!          string
  protectionDomain  string
  readOnly          bool
  secretRef!        SecretReference
  sslEnabled        bool
  storageMode       string  = ThinProvisioned
  storagePool       string
  system!           string
  volumeName        string

StorageOSPersistentVolumeSource
  fsType           string
  readOnly         bool
  secretRef        ObjectReference
  volumeName       string
  volumeNamespace  string

PersistentVolumeStatus
  lastPhaseTransitionTime  Time
  message                  string
  phase                    string  enum=Available|Bound|Failed|Pending|Released  = Pending
  reason                   string

PersistentVolumeClaim root
  spec    PersistentVolumeClaimSpec    = {}
  status  PersistentVolumeClaimStatus  = {}

PersistentVolumeClaimStatus
  accessModes                       [string]
  allocatedResourceStatuses         {string}  granular
  allocatedResources                {Quantity}
  capacity                          {Quantity}
  conditions                        [PersistentVolumeClaimCondition]  by=type
  currentVolumeAttributesClassName  string
  modifyVolumeStatus                ModifyVolumeStatus
  phase                             string  enum=Bound|Lost|Pending  = Pending

PersistentVolumeClaimCondition
  lastProbeTime       Time
  lastTransitionTime  Time
  message             string
  reason              string
  status!             string
  type!               string

ModifyVolumeStatus
  status!                          string  enum=InProgress|Infeasible|Pending
  targetVolumeAttributesClassName  string

TopologySelectorTerm atomic
  matchLabelExpressions  [TopologySelectorLabelRequirement]

TopologySelectorLabelRequirement
  key!     string
  values!  [string]
""",
    ),
    (
        "storage",
        """
StorageClass root
  allowVolumeExpansion  bool
  allowedTopologies     [TopologySelectorTerm]
  mountOptions          [string]
  parameters            {string}
  provisioner!          string
  reclaimPolicy         string  enum=Delete|Recycle|Retain  = Delete
  volumeBindingMode     string  enum=Immediate|WaitForFirstConsumer  = Immediate

CSINode root
  spec!  CSINodeSpec  = {}

CSINodeSpec
  drivers!  [CSINodeDriver]  by=name

CSINodeDriver
  allocatable   VolumeNodeResources
  name!         string
  nodeID!       string
  topologyKeys  [string]

VolumeNodeResources
  count  int32

CSIDriver root
  spec!  CSIDriverSpec  = {}

CSIDriverSpec
  attachRequired                      bool      = true
  fsGroupPolicy                       string    = ReadWriteOnceWithFSType
  nodeAllocatableUpdatePeriodSeconds  int64
  podInfoOnMount                      bool      = false
  preventPodSchedulingIfMissing       bool
  requiresRepublish                   bool      = false
  seLinuxMount                        bool      = false
  serviceAccountTokenInSecrets        bool
  storageCapacity                     bool      = false
  tokenRequests                       [TokenRequest]
  volumeLifecycleModes                [string]  set

TokenRequest
  audience!          string
  expirationSeconds  int64
""",
    ),
)
