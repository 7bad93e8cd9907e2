import MountProtocol

/// Has reads fail at once where another has just waited in vain, until somebody who has the file connects. Pure.
package struct CircuitBreaker: Sendable {
    /// How long a file fails at once when no device that has it could be reached.
    package static let filePause = Duration.seconds(30)
    /// The same for any other file of the folder.
    package static let folderPause = Duration.seconds(5)
    /// How long a file whose holder sent nothing fails at once, although the holder is connected.
    package static let silencePause = Duration.seconds(10)
    private static let limit = 1000

    private struct Failed {
        var failure: MountFailure
        var until: Duration
    }

    private var files: [UInt64: Failed] = [:]
    private var folderUntil = Duration.zero

    package init() {}

    /// A read of a version failed.
    package mutating func failed(_ version: UInt64, _ failure: MountFailure, at now: Duration) {
        let pause: Duration
        switch failure {
        case .noHolder:
            pause = Self.filePause
            folderUntil = now + Self.folderPause
        case .silence: pause = Self.silencePause
        default: return
        }
        if files.count >= Self.limit { files = files.filter { $0.value.until > now } }
        if files.count >= Self.limit { files = [:] }
        files[version] = Failed(failure: failure, until: now + pause)
    }

    package mutating func succeeded(_ version: UInt64) {
        files[version] = nil
        folderUntil = .zero
    }

    /// Why a read of the version is not to be tried now; nil if it is.
    package func objection(to version: UInt64, hasHolder: Bool, at now: Duration) -> MountFailure? {
        if let failed = files[version], failed.until > now, failed.failure != .noHolder || !hasHolder {
            return failed.failure
        }
        return folderUntil > now && !hasHolder ? .noHolder : nil
    }
}
