import ArgumentParser
import ControlAPI
import Phrases
import Synchronization

/// Tells the user what a fetch does, and what became of it in the end.
final class FetchReport: Sendable {
    private struct Outcome {
        var fetched: Int64 = 0
        var failures: [ControlError] = []
        var summary: FetchEvent?
    }

    /// Failures beyond so many are counted but not kept: the exit code needs no more.
    private static let keptFailures = 1000

    private let context: CommandContext
    private let line: ProgressLine
    private let outcome = Mutex(Outcome())

    init(context: CommandContext, line: ProgressLine) {
        self.context = context
        self.line = line
    }

    func take(_ event: FetchEvent) throws {
        if context.options.json {
            try context.output.print(bytes: try ControlJSON.encode(event))
            // Somebody may act on each line as it comes.
            try context.output.flush()
        }
        switch event {
        case .plan: break
        case .progress(let path, let done, let total, let rate, let holders):
            try line.show(path: path, done: done, total: total, bytesPerSecond: rate, holders: holders)
        case .file:
            outcome.withLock { $0.fetched += 1 }
        case .failed(let path, let error):
            outcome.withLock { outcome in
                if outcome.failures.count < Self.keptFailures { outcome.failures.append(error) }
            }
            if !context.options.json {
                try line.clear()
                try context.process.errors.print("synctrain: \(Self.line(path, error.shown))")
            }
        case .done:
            outcome.withLock { $0.summary = event }
        }
    }

    /// What failed and why. Many reasons name it themselves.
    static func line(_ path: String, _ reason: String) -> String {
        let (name, reason) = (EscapedName.escape(path), EscapedName.sentence(reason))
        return reason.hasPrefix(EscapedName.sentence(path) + ": ") ? reason : "\(name): \(reason)"
    }

    func clear() throws { try line.clear() }

    /// Says what was done. Throws the exit code if some files failed, and `interrupted` if the agent never said `done`.
    func finish() throws {
        try line.clear()
        let outcome = outcome.withLock { $0 }
        guard case .done(let files, let bytes, let failed, let seconds) = outcome.summary else {
            throw ControlError(
                .interrupted, "The agent interrupted the fetch. Run it again to resume.",
                isRetryable: true)
        }
        if !context.options.json {
            try context.remark(
                translated("\(Quantity.files(files)), \(Quantity.size(bytes)) in \(Quantity.time(seconds))"))
        }
        if failed > 0 || !outcome.failures.isEmpty {
            throw ExitCode(Self.exitCode(fetched: outcome.fetched, failures: outcome.failures))
        }
    }

    /// 2 when some files came and some did not; when none came, the code that all failures share, else 1.
    static func exitCode(fetched: Int64, failures: [ControlError]) -> Int32 {
        guard fetched == 0 else { return 2 }
        let codes = Set(failures.map(\.exitCode))
        return codes.count == 1 ? codes.first ?? 1 : 1
    }
}
