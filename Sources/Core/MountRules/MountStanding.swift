/// A mount that is wanted. Pure.
package struct WantedMount: Equatable, Sendable {
    /// The folder's id.
    package var folder: String
    /// Absolute.
    package var directory: String
    package var isReadOnly: Bool
    /// Bytes that a program may download within 10 minutes; nil for what the configuration says.
    package var readBudget: Int64?

    package init(folder: String, directory: String, isReadOnly: Bool = false, readBudget: Int64? = nil) {
        (self.folder, self.directory) = (folder, directory)
        (self.isReadOnly, self.readBudget) = (isReadOnly, readBudget)
    }
}

/// How a mount stands, of what the system and the agent know of it. Pure.
package enum MountStanding: String, Sendable, CaseIterable {
    case mounted
    /// It is in the list of file systems, but its process is gone, stopped, or not connected to the agent: programs wait or fail.
    case notAnswering = "not-answering"
    case unmounted

    /// - Parameters:
    ///   - isListed: whether the system has the file system at the directory.
    ///   - isConnected: whether its process is connected to the agent.
    ///   - isRunning: whether that process can run: it is there and not stopped; nil if nobody can tell.
    package init(isListed: Bool, isConnected: Bool, isRunning: Bool?) {
        if !isListed {
            self = .unmounted
        } else {
            self = isConnected && isRunning != false ? .mounted : .notAnswering
        }
    }
}

/// The process of a mount, as /proc has it.
package struct MountServerProcess: Equatable, Sendable {
    package var process: Int32
    /// By a signal or a debugger.
    package var isStopped: Bool
    /// The agent's socket that it connects to; nil if that is not known.
    package var socket: String?

    package init(process: Int32, isStopped: Bool, socket: String?) {
        (self.process, self.isStopped, self.socket) = (process, isStopped, socket)
    }
}

/// Whether the process of a file system in the list answers, of what can be known without asking it: who asks one that does not would
/// wait for it. Pure.
package enum MountServerState: Equatable, Sendable {
    case answers
    case isGone
    case isStopped(process: Int32)
    /// The agent that it connects to does not run: what is not on this disk cannot be read, nor anything be changed.
    case hasNoAgent
    /// The agent says that it is not connected.
    case isNotConnected

    /// - Parameters:
    ///   - server: nil if there is none, or if it is another user's that may not be seen.
    ///   - isAbandoned: without one, whether the kernel says that nobody answers.
    ///   - ownSocket: the socket for mounts of the agent that was asked.
    ///   - isAgentThere: whether that agent answered.
    ///   - said: what it said of the mount; nil for nothing.
    package init(
        _ server: MountServerProcess?, isAbandoned: Bool, ownSocket: String, isAgentThere: Bool, said: MountStanding?
    ) {
        guard let server else {
            self = isAbandoned ? .isGone : .answers
            return
        }
        if server.isStopped {
            self = .isStopped(process: server.process)
        } else if server.socket != ownSocket {
            // Nothing is known of other agents.
            self = .answers
        } else if !isAgentThere {
            self = .hasNoAgent
        } else {
            self = said == .notAnswering ? .isNotConnected : .answers
        }
    }
}

/// When a mount that the configuration wants and that failed is tried again. Pure.
package enum MountRetry {
    private static let longest = Duration.seconds(60)

    /// The pause after so many failures in a row.
    package static func pause(after failures: Int) -> Duration {
        min(.seconds(1) * (1 << max(0, min(failures, 6))), longest)
    }
}
