import Arithmetic
import ControlAPI
import Phrases

/// Decides what a person is notified of on the desktop, and when: many of a kind at once are one notice, and of each kind there is
/// at most one in a while. Pure: who calls has the clock.
///
/// - What was so when the agent started was told before, except that a folder has stopped.
/// - A folder that has stopped and goes on again before its notice gets none.
/// - "Ready" is told when everything selected is here after a large or a long download, not after each small one.
package struct NoticeRule: Sendable {
    package struct Limits: Sendable {
        /// Seconds from one notice of a kind to the next; what happens meanwhile is told then, in one.
        package var pause: Int64 = 60
        /// The same for `ready`.
        package var readyPause: Int64 = 600
        /// Bytes that were missing at a time, from which on being ready gets a notice.
        package var largeBytes: Int64 = 64 << 20
        /// Seconds that something was missing, from which on it gets a notice, too.
        package var longTime: Int64 = 120
        /// Names in one notice; more are counted.
        package var names = 3

        package init() {}
    }

    private let limits: Limits
    private var hasFacts = false
    private var conflicts: [String: Int64] = [:]
    private var newConflicts: [String: Int64] = [:]
    private var halts: [String: Phrase] = [:]
    private var newHalts: Set<String> = []
    private var strangers: Set<String> = []
    private var newStrangers: Set<String> = []
    /// When something began to be missing, and the most that was at a time.
    private var missing: (since: Int64, bytes: Int64)?
    private var isNewlyReady = false
    private var told: [Notice.Kind: Int64] = [:]

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// Takes in how things are and gives what is to be shown now.
    ///
    /// - Parameter now: seconds; only differences count.
    /// - Returns: the notices, and in how many seconds to ask again because something waits to be told; nil if nothing does.
    package mutating func notices(for facts: NoticeFacts, at now: Int64) -> (notices: [Notice], after: Int64?) {
        takeConflicts(facts)
        takeHalts(facts)
        takeStrangers(facts)
        takeMissing(facts, now)
        hasFacts = true
        var notices: [Notice] = []
        var next: Int64?
        for kind in Notice.Kind.allCases {
            guard let notice = notice(kind, facts) else { continue }
            let pause = kind == .ready ? limits.readyPause : limits.pause
            if let last = told[kind], (0..<pause).contains(now.subtractingClamped(last)) {
                let rest = pause - now.subtractingClamped(last)
                next = min(next ?? rest, rest)
                continue
            }
            told[kind] = now
            forget(kind)
            notices.append(notice)
        }
        return (notices, next)
    }

    // MARK: what is new

    private mutating func takeConflicts(_ facts: NoticeFacts) {
        for folder in facts.folders {
            guard let count = folder.conflicts else { continue }
            let before = conflicts.updateValue(count, forKey: folder.id)
            // Of a folder that nobody had counted until now nobody knows what is new.
            guard let before, count != before else { continue }
            let new = (newConflicts[folder.id] ?? 0).addingClamped(count.subtractingClamped(before))
            newConflicts[folder.id] = new > 0 ? min(new, count) : nil
        }
        let known = Set(facts.folders.map(\.id))
        conflicts = conflicts.filter { known.contains($0.key) }
        newConflicts = newConflicts.filter { known.contains($0.key) }
    }

    private mutating func takeHalts(_ facts: NoticeFacts) {
        var now: [String: Phrase] = [:]
        for folder in facts.folders { now[folder.id] = folder.halt }
        for id in now.keys where halts[id] == nil { newHalts.insert(id) }
        newHalts = newHalts.filter { now[$0] != nil }
        halts = now
    }

    private mutating func takeStrangers(_ facts: NoticeFacts) {
        let now = Set(facts.strangers.map(\.id))
        if hasFacts { newStrangers.formUnion(now.subtracting(strangers)) }
        newStrangers.formIntersection(now)
        strangers = now
    }

    private mutating func takeMissing(_ facts: NoticeFacts, _ now: Int64) {
        let bytes = facts.folders.reduce(Int64(0)) { $0.addingClamped($1.missingBytes ?? 0) }
        guard !facts.folders.isEmpty, facts.folders.allSatisfy(\.isReady) else {
            isNewlyReady = false
            // What is not known is no reason to begin: an agent that starts has not looked yet.
            if missing != nil || facts.folders.contains(where: { !$0.isReady && $0.missingBytes != nil }) {
                missing = (missing?.since ?? now, max(missing?.bytes ?? 0, bytes))
            }
            return
        }
        guard let missing else { return }
        self.missing = nil
        isNewlyReady = missing.bytes >= limits.largeBytes || now.subtractingClamped(missing.since) >= limits.longTime
    }

    // MARK: what is told

    private mutating func forget(_ kind: Notice.Kind) {
        switch kind {
        case .conflicts: newConflicts = [:]
        case .halted: newHalts = []
        case .strangers: newStrangers = []
        case .ready: isNewlyReady = false
        }
    }

    private func notice(_ kind: Notice.Kind, _ facts: NoticeFacts) -> Notice? {
        switch kind {
        case .conflicts: aboutConflicts(facts)
        case .halted: aboutHalts(facts)
        case .strangers: aboutStrangers(facts)
        case .ready:
            isNewlyReady
                ? Notice(.ready, Phrase("Ready for the train"), Phrase("Everything selected is on this device."))
                : nil
        }
    }

    private func aboutConflicts(_ facts: NoticeFacts) -> Notice? {
        let folders = facts.folders.filter { newConflicts[$0.id] != nil }
        guard !folders.isEmpty else { return nil }
        let count = folders.reduce(Int64(0)) { $0.addingClamped(newConflicts[$1.id] ?? 0) }
        let names = list(folders.map(\.name))
        return Notice(
            .conflicts,
            Phrase(count, one: "\(count) new conflict in \(names)", many: "\(count) new conflicts in \(names)"),
            Phrase("Both versions are kept. Choose one under Attention on the page, or with `synctrain conflicts`."))
    }

    private func aboutHalts(_ facts: NoticeFacts) -> Notice? {
        let folders = facts.folders.filter { newHalts.contains($0.id) }
        guard let first = folders.first else { return nil }
        let names = list(folders.map(\.name))
        guard folders.count > 1 else {
            return Notice(.halted, Phrase("\(names) has stopped syncing"), first.halt ?? "")
        }
        return Notice(
            .halted, Phrase("\(names) have stopped syncing"),
            Phrase("See why under Attention on the page, or with `synctrain status`."))
    }

    private func aboutStrangers(_ facts: NoticeFacts) -> Notice? {
        let devices = facts.strangers.filter { newStrangers.contains($0.id) }
        guard let first = devices.first else { return nil }
        let names = list(devices.map { $0.name.isEmpty ? String($0.id.prefix(7)) : $0.name })
        guard devices.count > 1 else {
            return Notice(
                .strangers, Phrase("\(names) wants to connect"),
                Phrase("Device \(first.id.prefix(7)). Accept or ignore it under Devices on the page."))
        }
        return Notice(
            .strangers, Phrase("\(names) want to connect"),
            Phrase("Accept or ignore them under Devices on the page."))
    }

    /// `a`, `a and b`, `a, b, c and 2 others`.
    private func list(_ names: [String]) -> Phrase {
        let shown = names.prefix(max(1, limits.names)).map { NoticeText.clean($0, limit: 60) }
        let rest = names.count - shown.count
        if rest > 0 {
            let others = Phrase(rest, one: "\(rest) other", many: "\(rest) others")
            return Phrase("\(shown.joined(separator: ", ")) and \(others)")
        }
        guard shown.count > 1, let last = shown.last else { return "\(shown.first ?? "")" }
        return Phrase("\(shown.dropLast().joined(separator: ", ")) and \(last)")
    }
}

/// Texts of others as a desktop may show them. Pure.
package enum NoticeText {
    /// One line of at most `limit` characters, without control characters and without those that turn the direction of writing.
    package static func clean(_ text: String, limit: Int) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: line.unicodeScalars.append(" ")
            case .format, .surrogate, .privateUse, .unassigned: continue
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line.count <= limit ? line : line.prefix(limit - 1) + "…"
    }

    /// For a body in which a server reads markup.
    package static func escaped(_ text: String) -> String {
        text.replacingScalars(["&": "&amp;", "<": "&lt;", ">": "&gt;"])
    }
}
