import AsyncTools
import BlockExchange
import ControlAPI
import Glibc
import NIOPosix
import Synchronization
import Thumbnails

/// Runs the programs that make thumbnails, two at a time, and never but in the sandbox: where it cannot be made, there are
/// no thumbnails.
package final class ThumbnailSandbox: Sendable {
    private enum Standing {
        case ready
        /// Why not, and when that was found out.
        case off(ControlError, at: MonotonicTime)
    }

    private static let childLimit = 2
    private static let childTime: Duration = .seconds(20)
    /// How long it is believed that a tool cannot be run.
    private static let trialPause: Duration = .seconds(60)

    /// They wait for children, which the agent's own threads must not.
    private static let threads: NIOThreadPool = {
        let threads = NIOThreadPool(numberOfThreads: childLimit)
        threads.start()
        return threads
    }()

    private let children = Budget(limit: childLimit)
    private let standings = Mutex<[ThumbnailCommand.Tool: Standing]>([:])
    private let now: @Sendable () -> MonotonicTime
    private let isProgram: @Sendable (String) -> Bool

    /// - Parameter isProgram: whether a path is that of a program.
    init(
        now: @escaping @Sendable () -> MonotonicTime,
        isProgram: @escaping @Sendable (String) -> Bool = { access($0, X_OK) == 0 }
    ) {
        self.now = now
        self.isProgram = isProgram
    }

    /// Why there are no thumbnails of pictures or of films, as far as it has been tried.
    package var problems: [String] {
        standings.withLock { standings in
            Set(
                standings.values.compactMap { if case .off(let error, _) = $0 { error.message } else { nil } }
            ).sorted()
        }
    }

    /// Throws `thumbnailsOff` if the tool cannot be run in a sandbox on this machine.
    package func check(_ tool: ThumbnailCommand.Tool) async throws {
        switch standings.withLock({ $0[tool] }) {
        case .ready: return
        case .off(let error, let then) where now() - then < Self.trialPause: throw error
        case .off, nil: break
        }
        let objection = try await objection(to: tool)
        standings.withLock { $0[tool] = objection.map { .off($0, at: now()) } ?? .ready }
        if let objection { throw objection }
    }

    /// What a command wrote to its output; nil if it failed, took too long or wrote too much.
    ///
    /// - Throws: `CancellationError`.
    package func run(_ command: ThumbnailCommand) async throws -> [UInt8]? {
        let program = BoundedProgram(
            path: command.path, arguments: command.arguments, environment: [], timeLimit: Self.childTime,
            outputLimit: ThumbnailCheck.byteLimit)
        return try await children.withUnits(1) {
            let outcome = await program.run(on: Self.threads)
            if outcome.end == .cancelled { throw CancellationError() }
            return outcome.end == .exited(0) ? outcome.output : nil
        }
    }

    private func objection(to tool: ThumbnailCommand.Tool) async throws -> ControlError? {
        let missing = (ThumbnailCommand.foundations + [tool.program]).filter { !isProgram($0.path) }
        guard missing.isEmpty else {
            let packages = missing.map(\.package).joined(separator: " ")
            let what = tool == .film ? "films" : "pictures"
            return ControlError(
                .thumbnailsOff,
                "no thumbnails of \(what): \(missing.map(\.path).joined(separator: ", ")) is missing; "
                    + "`apt install \(packages)`, or `enabled = false` in [thumbnails]")
        }
        let trial = ThumbnailCommand.trial(of: tool)
        // What bubblewrap says of its failure goes to where it can be read.
        let program = BoundedProgram(
            path: "/bin/sh", arguments: ["-c", "exec \"$@\" 2>&1", "sh", trial.path] + trial.arguments,
            environment: [], timeLimit: Self.childTime, outputLimit: 16 << 10)
        let outcome = try await children.withUnits(1) { await program.run(on: Self.threads) }
        switch outcome.end {
        case .exited(0): return nil
        case .cancelled: throw CancellationError()
        default:
            let words = String(decoding: outcome.output.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline)
            return ControlError(
                .thumbnailsOff,
                "no thumbnails: \(tool.program.path) cannot run in a sandbox on this machine "
                    + "(\(words.first ?? "it says nothing")); bubblewrap needs unprivileged user namespaces "
                    + "(sysctl kernel.unprivileged_userns_clone, or AppArmor's restriction of them)")
        }
    }
}
