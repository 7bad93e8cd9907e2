import ArgumentParser
import Arithmetic
import ControlAPI
import Glibc
import Phrases

struct ReadyCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ready",
            abstract: translated("Show whether everything selected is here, before you go offline."),
            discussion: translated(
                """
                For each folder: all of the selection is here; or how much of it is, what is missing and since when, how long \
                the rest takes at the rate of the last seconds, whether it fits on the disk and which device it waits for. \
                Exits with 0 if every folder is ready (with --by: is or will be ready by then), else with 1. \
                `synctrain wait` blocks until it is.

                  synctrain ready --by 08:00
                  synctrain ready photos --json
                """))
    }

    @Argument(help: ArgumentHelp(translated("Folder id; all folders if omitted.")))
    var folder: String?

    @Option(
        help: ArgumentHelp(
            translated("Also show whether it will be ready by this time: 08:00 or \"2026-11-26 08:00\"."),
            valueName: "time"))
    var by: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let by, Self.deadline(by, now: 0) == nil {
            throw ValidationError(translated("\"\(by)\" is not a time. Use 08:00 or \"2026-11-26 08:00\"."))
        }
    }

    func execute(in context: CommandContext) async throws {
        var answer = try await context.agent().call(Endpoints.ready, ReadyQuery(folder: folder))
        let now = Int64(time(nil))
        if let deadline = by.flatMap({ Self.deadline($0, now: now) }) {
            for index in answer.folders.indices {
                answer.folders[index].isInTime = answer.folders[index].isReady(
                    inSeconds: max(0, deadline.subtractingClamped(now)))
            }
        }
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else if answer.folders.isEmpty {
            try context.remark(translated("No folders yet. Add one with `synctrain folder add`."))
        } else {
            let rendering = ReadyRendering(style: context.style, by: by)
            for folder in answer.folders {
                for line in rendering.lines(folder) { try context.output.print(line) }
            }
        }
        let isReady = answer.folders.allSatisfy { by == nil ? $0.isReady : $0.isInTime == true }
        if !isReady { throw ExitCode(1) }
    }

    /// Seconds since 1970 of a time as people type it: the next `08:00` after `now` in local time, or a whole date and time.
    static func deadline(_ text: String, now: Int64) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) }), let hour = Int32(parts[0]),
            let minute = Int32(parts[1]), (0..<24).contains(hour), (0..<60).contains(minute), parts[1].utf8.count == 2
        else { return Timestamp.seconds(typed: text) }
        var clock = time_t(now)
        var day = tm()
        guard localtime_r(&clock, &day) != nil else { return nil }
        (day.tm_hour, day.tm_min, day.tm_sec, day.tm_isdst) = (hour, minute, 0, -1)
        var tomorrow = day
        let today = Int64(mktime(&day))
        if today > now { return today }
        // By the calendar, not by 24 hours: clocks change.
        tomorrow.tm_mday += 1
        tomorrow.tm_isdst = -1
        return Int64(mktime(&tomorrow))
    }
}

/// What `ready` says, for people.
struct ReadyRendering: Sendable {
    var style: Style
    /// As it was typed.
    var by: String?

    func lines(_ folder: ReadyAnswer.Folder) -> [String] {
        var lines = ["\(style.name(folder.id)): \(sentence(folder))"]
        guard !folder.isReady else { return lines }
        if let text = missing(folder) { lines.append("  \(text)") }
        for wait in folder.waits where folder.short == 0 || wait.reason != .space {
            lines.append("  \(style.name(wait.shown)); \(style.name(wait.shownRemedy))")
        }
        if let by {
            let verdict =
                switch folder.isInTime {
                case true?: translated("will be ready by \(by)")
                case false?: translated("will not be ready by \(by)")
                case nil: translated("unknown whether it will be ready by \(by)")
                }
            lines.append("  \(verdict)")
        }
        return lines
    }

    /// What came to be missing since nothing was; nil where that is not known.
    private func missing(_ folder: ReadyAnswer.Folder) -> String? {
        guard let end = folder.completeUntil, !folder.missingNames.isEmpty else { return nil }
        let (time, names) = (Timestamp.local(end), folder.missingNames.map { style.name($0) }.joined(separator: ", "))
        let rest = folder.missing.files.subtractingClamped(Int64(folder.missingNames.count))
        return rest > 0
            ? translated("complete until \(time); missing since then: \(names) and \(rest) more")
            : translated("complete until \(time); missing since then: \(names)")
    }

    private func sentence(_ folder: ReadyAnswer.Folder) -> String {
        if folder.isReady {
            let paused = folder.isPaused ? translated("; paused, so later changes are not known") : ""
            guard folder.selectedFiles > 0 else { return translated("ready; nothing is selected") + paused }
            return translated(
                "ready, \(Quantity.files(folder.selectedFiles)), \(Quantity.size(folder.selectedBytes))")
                + paused
        }
        var parts: [String] = []
        if folder.missing.bytes > 0 {
            let percent = Quantity.percent(folder.presentBytes, of: folder.selectedBytes)
            parts.append(
                translated(
                    "\(percent) % here (\(Quantity.size(folder.presentBytes)) of \(Quantity.size(folder.selectedBytes)))"
                ))
        } else if folder.missing.files > 0 {
            parts.append(translated("\(Quantity.files(folder.missing.files)) missing"))
        } else {
            parts.append(translated("not known to be ready"))
        }
        if folder.short > 0 {
            parts.append(translated("does not fit: \(Quantity.size(folder.short)) short"))
        } else if let seconds = folder.etaSeconds {
            parts.append(translated("about \(Self.about(seconds)) left"))
        } else if folder.missing.bytes > 0 || folder.missing.files > 0 {
            parts.append(translated("time left unknown"))
        }
        return parts.joined(separator: ", ")
    }

    /// `45 s`, `12 min`, `2 h 10 min`. A rate allows no more precision.
    private static func about(_ seconds: Int64) -> String {
        guard (60..<3600).contains(seconds) else { return Quantity.duration(seconds: seconds) }
        return "\(seconds / 60 + (seconds % 60 > 0 ? 1 : 0)) min"
    }
}
