"""Events, of the core group and of events.k8s.io."""

TABLES = (
    (
        "core",
        """
Event root
  action              string
  count               int32
  eventTime           MicroTime
  firstTimestamp      Time
  involvedObject!     ObjectReference  = {}
  lastTimestamp       Time
  message             string
  reason              string
  related             ObjectReference
  reportingComponent  string           = ""
  reportingInstance   string           = ""
  series              EventSeries
  source              EventSource      = {}
  type                string

EventSeries
  count             int32
  lastObservedTime  MicroTime

EventSource
  component  string
  host       string
""",
    ),
    (
        "events",
        """
Event root
  action                    string
  deprecatedCount           int32
  deprecatedFirstTimestamp  Time
  deprecatedLastTimestamp   Time
  deprecatedSource          EventSource      = {}
  eventTime!                MicroTime
  note                      string
  reason                    string
  regarding                 ObjectReference  = {}
  related                   ObjectReference
  reportingController       string
  reportingInstance         string
  series                    EventSeries
  type                      string

EventSeries
  count!             int32
  lastObservedTime!  MicroTime
""",
    ),
)
