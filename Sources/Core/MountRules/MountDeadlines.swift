/// How long programs wait for the mount. No request waits without an end: a look-up that is never answered leaves its caller
/// unkillable.
package enum MountDeadlines {
    /// Names, attributes and opening: then EIO.
    package static let metadata = Duration.seconds(2)
    /// A read whose block does not come: counted from the last block that came.
    package static let patience = Duration.seconds(20)
    /// The agent ends reads itself by the patience; if it does not, the mount does.
    package static let read = readLimit(patience: patience)

    /// The same where another patience is configured.
    package static func readLimit(patience: Duration) -> Duration { patience + .milliseconds(4500) }

    /// What changes names or what is selected: waits for a scan or a pull of the folder that is under way.
    package static let change = Duration.seconds(60)
    /// Opening what is not here for writing, which has all of it downloaded first; the agent ends it when nothing comes. Who waits
    /// for it can be ended.
    package static let download = Duration.seconds(3600)
    /// How long who waits at most `limit` waits for an agent that says nothing at all: it hangs, or was stopped.
    package static func ofSilence(_ limit: Duration) -> Duration { limit == change ? metadata : min(limit, read) }
    /// When an agent is asked whether it runs that has said nothing since a change was asked for; and how long for the answer.
    package static let pingPause = Duration.milliseconds(500)
    package static let ping = metadata - pingPause
    /// What is asked of an agent that is known to be silent.
    package static let silent = Duration.milliseconds(100)
    /// How long the kernel may use what it was told of a name: absent ones change by the index alone, of which the mount hears.
    package static let absentValidity = Duration.seconds(3600)
    /// What is on this disk changes without the mount hearing of it at once.
    package static let presentValidity = Duration.seconds(1)

    /// The pause before the next try to reach the agent.
    package static func reconnectPause(after failures: Int) -> Duration {
        min(.milliseconds(50) * (1 << max(0, min(failures, 6))), .seconds(2))
    }
}
