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

/// When a mount that the configuration wants and that failed is tried again. Pure.
package enum MountRetry {
    private static let longest = Duration.seconds(60)

    /// The pause after so many failures in a row.
    package static func pause(after failures: Int) -> Duration {
        min(.seconds(1) * (1 << max(0, min(failures, 6))), longest)
    }
}
