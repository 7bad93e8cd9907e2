import ArgumentParser
import Arithmetic
import ControlAPI
import Phrases
import Synchronization

/// Tells the user what a scrub does, and what became of it in the end.
final class ScrubReport: Sendable {
    private struct Sum {
        var plans = 0
        var ends = 0
        var files: Int64 = 0
        var bytes: Int64 = 0
        var damaged: Int64 = 0
        var repaired: Int64 = 0
        var changed: Int64 = 0
    }

    private let context: CommandContext
    private let line: ProgressLine
    private let isRepairing: Bool
    private let sum = Mutex(Sum())

    init(context: CommandContext, line: ProgressLine, isRepairing: Bool) {
        self.context = context
        self.line = line
        self.isRepairing = isRepairing
    }

    func take(_ event: ScrubEvent) throws {
        if context.options.json {
            try context.output.print(bytes: try ControlJSON.encode(event))
            // Somebody may act on each line as it comes.
            try context.output.flush()
        }
        switch event.type {
        case "plan": try takePlan(event)
        case "progress":
            try line.show(
                path: "\(event.folder):\(event.path ?? "")", done: event.bytes ?? 0, total: event.bytesTotal ?? 0,
                bytesPerSecond: event.bytesPerSecond ?? 0, peer: nil)
        case "damaged", "repaired", "failed": if !context.options.json { try tell(event) }
        case "done":
            sum.withLock { sum in
                sum.ends += 1
                sum.files.addClamped(event.files ?? 0)
                sum.bytes.addClamped(event.bytes ?? 0)
                sum.damaged.addClamped(event.damaged ?? 0)
                sum.repaired.addClamped(event.repaired ?? 0)
                sum.changed.addClamped(event.changed ?? 0)
            }
        default: break
        }
    }

    private func takePlan(_ event: ScrubEvent) throws {
        sum.withLock { $0.plans += 1 }
        guard let done = event.filesDone, !context.options.json else { return }
        try line.clear()
        try context.remark(
            translated("\(EscapedName.escape(event.folder)): continuing after \(Quantity.files(done))."))
    }

    /// A line on standard output for each file.
    private func tell(_ event: ScrubEvent) throws {
        try line.clear()
        let name = context.style.name("\(event.folder):\(event.path ?? "")")
        switch event.type {
        case "repaired":
            try context.output.print(translated("\(name): repaired; \(Quantity.size(event.bytes ?? 0)) fetched"))
        case "failed":
            try context.output.flush()
            let name = EscapedName.escape("\(event.folder):\(event.path ?? "")")
            let reason = EscapedName.escape(event.error?.shown ?? "")
            try context.process.errors.print("synctrain: " + translated("\(name): not repaired: \(reason)"))
        default:
            let holders = (event.holders ?? []).map {
                "\(context.style.name($0.name))\($0.isConnected ? "" : translated(" (not connected)"))"
            }
            let source =
                holders.isEmpty
                ? translated("on no other device") : translated("available from \(holders.joined(separator: ", "))")
            try context.output.print(
                translated(
                    "\(name): damaged, \(event.wrongBlocks ?? 0) of \(Quantity.blocks(event.blocks ?? 0)); \(source)"
                )
            )
        }
    }

    func clear() throws { try line.clear() }

    /// Says what was found. Throws the exit code if damaged files are left, and `interrupted` if the agent never said `done`.
    func finish() throws {
        try line.clear()
        let sum = sum.withLock { $0 }
        guard sum.ends == sum.plans else {
            throw ControlError(
                .interrupted, "The agent interrupted the scrub. Run it again to continue.", isRetryable: true)
        }
        if !context.options.json {
            try context.output.print(Self.summary(sum.files, sum.bytes, damaged: sum.damaged, repaired: sum.repaired))
            try context.output.flush()
            if sum.changed > 0 {
                try context.remark(
                    translated("\(Quantity.files(sum.changed)) changed since the last scan: scanned instead."))
            }
            if sum.damaged > 0, !isRepairing {
                try context.remark(translated("`synctrain scrub --repair` restores damaged files from other devices."))
            }
        }
        if sum.damaged > 0 { throw ExitCode(2) }
    }

    static func summary(_ files: Int64, _ bytes: Int64, damaged: Int64, repaired: Int64) -> String {
        let checked = translated("Checked \(Quantity.files(files)), \(Quantity.size(bytes)): ")
        var parts: [String] = []
        if damaged > 0 { parts.append(translated("\(damaged) damaged")) }
        if repaired > 0 { parts.append(translated("\(repaired) repaired")) }
        return checked + (parts.isEmpty ? translated("all as they were written") : parts.joined(separator: ", ")) + "."
    }
}
