/// Times and bounds of a `FolderWatcher`.
package struct WatchSettings: Hashable, Sendable {
    /// How long nothing must happen to a name before it is reported.
    package var settle: Duration = .milliseconds(100)
    /// A name that is changed and closed again and again is reported after this time at the latest.
    package var settleLimit: Duration = .milliseconds(500)
    /// A file that is written without an end is reported after this time, and again each time it has passed.
    package var writeLimit: Duration = .seconds(60)
    /// What would be due within this time of a report is reported along with it.
    package var slack: Duration = .milliseconds(30)
    /// How many names are remembered; beyond, the directories that hold them are reported.
    package var pendingLimit = 10_000
    /// The wait before the watch program is started again; doubles with each failure.
    package var restartDelay: Duration = .milliseconds(250)
    package var restartDelayLimit: Duration = .seconds(300)
    /// A program that has watched for this long is taken for sound: the next wait is short again.
    package var soundAfter: Duration = .seconds(60)
    /// How often directories that could not be watched are tried again.
    package var retryInterval: Duration = .seconds(300)

    package init() {}
}
