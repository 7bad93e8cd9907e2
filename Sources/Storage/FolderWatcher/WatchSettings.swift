/// Times and bounds of a `FolderWatcher`.
public struct WatchSettings: Hashable, Sendable {
    /// How long nothing must happen to a name before it is reported.
    public var settle: Duration = .milliseconds(100)
    /// A name that is changed and closed again and again is reported after this time at the latest.
    public var settleLimit: Duration = .milliseconds(500)
    /// A file that is written without an end is reported after this time, and again each time it has passed.
    public var writeLimit: Duration = .seconds(60)
    /// What would be due within this time of a report is reported along with it.
    public var slack: Duration = .milliseconds(30)
    /// How many names are remembered; beyond, the directories that hold them are reported.
    public var pendingLimit = 10_000
    /// The wait before the watch program is started again; doubles with each failure.
    public var restartDelay: Duration = .milliseconds(250)
    public var restartDelayLimit: Duration = .seconds(300)
    /// A program that has watched for this long is taken for sound: the next wait is short again.
    public var soundAfter: Duration = .seconds(60)
    /// How often directories that could not be watched are tried again.
    public var retryInterval: Duration = .seconds(300)

    public init() {}
}
