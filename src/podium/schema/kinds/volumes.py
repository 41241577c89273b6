"""Volumes of pods and where their contents come from."""

TABLES = (
    (
        "core",
        """
Volume
  awsElasticBlockStore   AWSElasticBlockStoreVolumeSource
  azureDisk              AzureDiskVolumeSource
  azureFile              AzureFileVolumeSource
  cephfs                 CephFSVolumeSource
  cinder                 CinderVolumeSource
  configMap              ConfigMapVolumeSource
  csi                    CSIVolumeSource
  downwardAPI            DownwardAPIVolumeSource
  emptyDir               EmptyDirVolumeSource
  ephemeral              EphemeralVolumeSource
  fc                     FCVolumeSource
  flexVolume             FlexVolumeSource
  flocker                FlockerVolumeSource
  gcePersistentDisk      GCEPersistentDiskVolumeSource
  gitRepo                GitRepoVolumeSource
  glusterfs              GlusterfsVolumeSource
  hostPath               HostPathVolumeSource
  image                  ImageVolumeSource
  iscsi                  ISCSIVolumeSource
  name!                  string
  nfs                    NFSVolumeSource
  persistentVolumeClaim  PersistentVolumeClaimVolumeSource
  photonPersistentDisk   PhotonPersistentDiskVolumeSource
  portworxVolume         PortworxVolumeSource
  projected              ProjectedVolumeSource
  quobyte                QuobyteVolumeSource
  rbd                    RBDVolumeSource
  scaleIO                ScaleIOVolumeSource
  secret                 SecretVolumeSource
  storageos              StorageOSVolumeSource
  vsphereVolume          VsphereVirtualDiskVolumeSource

AWSElasticBlockStoreVolumeSource
  fsType     string
  partition  int32
  readOnly   bool
  volumeID!  string

AzureDiskVolumeSource
  cachingMode  string  enum=None|ReadOnly|ReadWrite  = ReadWrite
  diskName!    string
  diskURI!     string
  fsType       string  = ext4
  kind         string  enum=Dedicated|Managed|Shared  = Shared
  readOnly     bool

AzureFileVolumeSource
  readOnly     bool
  secretName!  string
  shareName!   string

CephFSVolumeSource
  monitors!   [string]
  path        string
  readOnly    bool
  secretFile  string
  secretRef   LocalObjectReference
  user        string

CinderVolumeSource
  fsType     string
  readOnly   bool
  secretRef  LocalObjectReference
  volumeID!  string

ConfigMapVolumeSource
  defaultMode  int32  = 420
  items        [KeyToPath]
  name         string
  optional     bool

KeyToPath
  key!   string
  mode   int32
  path!  string

CSIVolumeSource
  driver!               string
  fsType                string
  nodePublishSecretRef  LocalObjectReference
  readOnly              bool
  volumeAttributes      {string}

DownwardAPIVolumeSource
  defaultMode  int32  = 420
  items        [DownwardAPIVolumeFile]

DownwardAPIVolumeFile
  fieldRef          ObjectFieldSelector
  mode              int32
  path!             string
  resourceFieldRef  ResourceFieldSelector

EmptyDirVolumeSource
  medium     string
  sizeLimit  Quantity

EphemeralVolumeSource
  volumeClaimTemplate  PersistentVolumeClaimTemplate

PersistentVolumeClaimTemplate
  metadata  ObjectMeta                 = {}
  spec!     PersistentVolumeClaimSpec  = {}

FCVolumeSource
  fsType      string
  lun         int32
  readOnly    bool
  targetWWNs  [string]
  wwids       [string]

FlexVolumeSource
  driver!    string
  fsType     string
  options    {string}
  readOnly   bool
  secretRef  LocalObjectReference

FlockerVolumeSource
  datasetName  string
  datasetUUID  string

GCEPersistentDiskVolumeSource
  fsType     string
  partition  int32
  pdName!    string
  readOnly   bool

GitRepoVolumeSource
  directory    string
  repository!  string
  revision     string

GlusterfsVolumeSource
  endpoints!  string
  path!       string
  readOnly    bool

HostPathVolumeSource
  path!  string
  type   string  enum=|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket  = ""

ImageVolumeSource
  pullPolicy  string  enum=Always|IfNotPresent|Never
  reference   string

ISCSIVolumeSource
  chapAuthDiscovery  bool
  chapAuthSession    bool
  fsType             string
  initiatorName      string
  iqn!               string
  iscsiInterface     string  = default
  lun!               int32
  portals            [string]
  readOnly           bool
  secretRef          LocalObjectReference
  targetPortal!      string

NFSVolumeSource
  path!     string
  readOnly  bool
  server!   string

PersistentVolumeClaimVolumeSource
  claimName!  string
  readOnly    bool

PhotonPersistentDiskVolumeSource
  fsType  string
  pdID!   string

PortworxVolumeSource
  fsType     string
  readOnly   bool
  volumeID!  string

ProjectedVolumeSource
  defaultMode  int32  = 420
  sources      [VolumeProjection]

VolumeProjection
  clusterTrustBundle   ClusterTrustBundleProjection
  configMap            ConfigMapProjection
  downwardAPI          DownwardAPIProjection
  podCertificate       PodCertificateProjection
  secret               SecretProjection
  serviceAccountToken  ServiceAccountTokenProjection

ClusterTrustBundleProjection
  labelSelector  LabelSelector
  name           string
  optional       bool
  path!          string
  signerName     string

ConfigMapProjection
  items     [KeyToPath]
  name      string
  optional  bool

DownwardAPIProjection
  items  [DownwardAPIVolumeFile]

PodCertificateProjection
  certificateChainPath  string
  credentialBundlePath  string
  keyPath               string
  keyType!              string
  maxExpirationSeconds  int32
  signerName!           string
  userAnnotations       {string}

SecretProjection
  items     [KeyToPath]
  name      string
  optional  bool

ServiceAccountTokenProjection
  audience           string
  expirationSeconds  int64  = 3600
  path!              string

QuobyteVolumeSource
  group      string
  readOnly   bool
  registry!  string
  tenant     string
  user       string
  volume!    string

RBDVolumeSource
  fsType     string
  image!     string
  keyring    string  = /etc/ceph/keyring
  monitors!  [string]
  pool       string  = rbd
  readOnly   bool
  secretRef  LocalObjectReference
  user       string  = admin

ScaleIOVolumeSource
  fsType            string  = xfs
  gateway!          string
  protectionDomain  string
  readOnly          bool
  secretRef!        LocalObjectReference
  sslEnabled        bool
  storageMode       string  = ThinProvisioned
  storagePool       string
  system!           string
  volumeName        string

SecretVolumeSource
  defaultMode  int32  = 420
  items        [KeyToPath]
  optional     bool
  secretName   string

StorageOSVolumeSource
  fsType           string
  readOnly         bool
  secretRef        LocalObjectReference
  volumeName       string
  volumeNamespace  string

VsphereVirtualDiskVolumeSource
  fsType             string
  storagePolicyID    string
  storagePolicyName  string
  volumePath!        string
""",
    ),
)
