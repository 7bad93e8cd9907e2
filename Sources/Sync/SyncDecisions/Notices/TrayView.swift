import Arithmetic
import ControlAPI
import Phrases

/// What the tray icon shows, by the agent's status: the same counts as `status` and the page have. Pure.
package struct TrayView: Equatable, Sendable {
    /// Which picture is shown.
    package enum Mark: String, CaseIterable, Sendable {
        /// Nothing is under way and nothing waits for a person.
        case plain
        /// Files are fetched or scanned.
        case working
        case paused
        /// Something waits for a person.
        case attention
    }

    /// A line of the menu, in its order.
    package enum Entry: String, CaseIterable, Sendable {
        case state, attention, ready, open, pause, resume, quit
    }

    /// Whether everything selected is on this device.
    package enum Readiness: Equatable, Sendable {
        case ready
        /// What is selected and not here; 0 bytes where only something else is in the way.
        case missing(bytes: Int64)
        /// Nobody has looked, or been told, yet.
        case unknown
    }

    package var mark: Mark
    /// How things are, the most important first. Never empty.
    package var lines: [Line]
    /// How many things wait for a person, as the page counts them.
    package var attention: Int64
    /// Nil where nothing is synced.
    package var readiness: Readiness?
    /// Whether something is not paused.
    package var canPause: Bool
    /// Whether something is paused.
    package var canResume: Bool
    package var connected: Int
    package var devices: Int

    /// One thing that is so.
    package enum Line: Equatable, Sendable {
        case paused
        case stopped(folders: Int)
        case downloading(files: Int64, bytes: Int64)
        case deleting(names: Int64)
        case syncing
        case fetching
        case receivingIndex
        case scanning
        case starting
        /// Something is needed and does not come now.
        case missing(files: Int64, bytes: Int64)
        case undeleted(names: Int64)
        case incomplete
        case unknown
        case problems(names: Int64)
        case somePaused(folders: Int, of: Int)
        case upToDate
        case empty
    }

    package init(_ status: AgentStatus) {
        let folders = status.folders
        let active = folders.filter { $0.condition != .paused }
        let pausedDevices = status.devices.count { $0.isPaused }
        let isPaused =
            !folders.isEmpty && active.isEmpty || !status.devices.isEmpty && pausedDevices == status.devices.count
        canPause = !active.isEmpty || pausedDevices < status.devices.count
        canResume = active.count < folders.count || pausedDevices > 0
        connected = status.devices.count { $0.isConnected }
        devices = status.devices.count
        attention = Self.attention(status)
        readiness = Self.readiness(folders)

        let failed = active.filter { $0.condition.isFailure }
        let working = active.filter { !$0.condition.isAtRest && !$0.condition.isFailure || $0.condition == .fetching }
        lines = isPaused ? [.paused] : []
        if !failed.isEmpty { lines.append(.stopped(folders: failed.count)) }
        lines += Self.work(working)
        lines += Self.gaps(active.filter { $0.condition.isAtRest || $0.condition.isFailure })
        let problems = active.reduce(Int64(0)) { $0.addingClamped(max(0, $1.errors)) }
        if problems > 0 { lines.append(.problems(names: problems)) }
        if !isPaused {
            if folders.isEmpty { lines.append(.empty) }
            if lines.isEmpty { lines.append(.upToDate) }
            if active.count < folders.count {
                lines.append(.somePaused(folders: folders.count - active.count, of: folders.count))
            }
        }
        mark =
            attention > 0 || !failed.isEmpty
            ? .attention : isPaused ? .paused : working.isEmpty ? .plain : .working
    }

    /// As the page's badge of Attention counts.
    private static func attention(_ status: AgentStatus) -> Int64 {
        status.folders.reduce(Int64(max(0, status.pending ?? 0))) { sum, folder in
            sum.addingClamped(folder.condition.isFailure || folder.heldDeletions != nil ? 1 : 0)
                .addingClamped(max(0, folder.conflicts ?? 0)).addingClamped(max(0, folder.refused))
                .addingClamped((folder.extraneous ?? 0) > 0 ? 1 : 0)
        }
    }

    private static func readiness(_ folders: [FolderStatus]) -> Readiness? {
        let facts = NoticeFacts(folders, []).folders
        guard !facts.isEmpty else { return nil }
        if facts.allSatisfy(\.isReady) { return .ready }
        guard !facts.contains(where: { $0.missingBytes == nil }) else { return .unknown }
        return .missing(bytes: facts.reduce(0) { $0.addingClamped(max(0, $1.missingBytes ?? 0)) })
    }

    /// What is under way.
    private static func work(_ folders: [FolderStatus]) -> [Line] {
        var lines: [Line] = []
        // A word that is not known is one of work.
        let syncing = folders.filter {
            ![.receivingIndex, .scanning, .starting, .fetching].contains($0.condition)
        }
        let need = sum(syncing)
        if need.files > 0 || need.bytes > 0 { lines.append(.downloading(files: need.files, bytes: need.bytes)) }
        if need.deletions > 0 { lines.append(.deleting(names: need.deletions)) }
        if lines.isEmpty, !syncing.isEmpty { lines.append(.syncing) }
        let others: [(FolderState, Line)] = [
            (.fetching, .fetching), (.receivingIndex, .receivingIndex), (.scanning, .scanning), (.starting, .starting),
        ]
        for (state, line) in others where folders.contains(where: { $0.condition == state }) { lines.append(line) }
        return lines
    }

    /// What is needed by folders that do nothing now.
    private static func gaps(_ folders: [FolderStatus]) -> [Line] {
        var lines: [Line] = []
        let need = sum(folders)
        if need.files > 0 || need.bytes > 0 { lines.append(.missing(files: need.files, bytes: need.bytes)) }
        if need.deletions > 0 { lines.append(.undeleted(names: need.deletions)) }
        // Directories that are missing, or what the last pull could not tell.
        if lines.isEmpty, folders.contains(where: { !$0.need.isZero || $0.copy == .partial }) { lines = [.incomplete] }
        let isUnknown = folders.contains {
            !$0.condition.isFailure && ($0.isIncomplete || $0.copy == .unknown || $0.copy == nil)
        }
        if isUnknown { lines.append(.unknown) }
        return lines
    }

    private static func sum(_ folders: [FolderStatus]) -> (files: Int64, bytes: Int64, deletions: Int64) {
        folders.reduce((0, 0, 0)) { sum, folder in
            (
                sum.0.addingClamped(max(0, folder.need.files)), sum.1.addingClamped(max(0, folder.need.bytes)),
                sum.2.addingClamped(max(0, folder.need.deletions ?? 0))
            )
        }
    }
}

// MARK: words

extension TrayView {
    /// One line: the first of `lines`.
    package var summary: Phrase { lines.first?.words ?? "" }

    /// All lines, and how many devices are connected.
    package var details: [Phrase] {
        var details = lines.map(\.words)
        if attention > 0 { details.append(attentionWords) }
        if devices > 0 { details.append(Phrase("\(connected) of \(devices) devices connected")) }
        return details
    }

    /// The text of a line of the menu; nil where there is none.
    package func words(of entry: Entry) -> Phrase? {
        switch entry {
        case .state: summary
        case .attention: attention > 0 ? attentionWords : nil
        case .ready:
            switch readiness {
            case .ready: Phrase("Ready for the train: yes")
            case .missing(0): Phrase("Ready for the train: no")
            case .missing(let bytes): Phrase("Ready for the train: \(ByteText.size(bytes)) missing")
            case .unknown: Phrase("Ready for the train: not known yet")
            case nil: nil
            }
        case .open: Phrase("Open synctrain")
        case .pause: canPause ? Phrase("Pause") : nil
        case .resume: canResume ? Phrase("Resume") : nil
        case .quit: Phrase("Quit")
        }
    }

    private var attentionWords: Phrase {
        Phrase(attention, one: "\(attention) thing needs attention", many: "\(attention) things need attention")
    }
}

extension TrayView.Line {
    /// Sizes are in the language of the task.
    package var words: Phrase {
        switch self {
        case .paused: Phrase("Paused")
        case .stopped(let count):
            Phrase(count, one: "\(count) folder has stopped", many: "\(count) folders have stopped")
        case .downloading(let count, let bytes):
            Phrase(
                count, one: "\(count) file (\(ByteText.size(bytes))) to download",
                many: "\(count) files (\(ByteText.size(bytes))) to download")
        case .deleting(let count), .undeleted(let count):
            Phrase(count, one: "\(count) name to delete", many: "\(count) names to delete")
        case .syncing: Phrase("Syncing")
        case .fetching: Phrase("Fetching files")
        case .receivingIndex: Phrase("Receiving the index")
        case .scanning: Phrase("Scanning")
        case .starting: Phrase("Starting")
        case .missing(let count, let bytes):
            Phrase(
                count, one: "Incomplete: \(count) file (\(ByteText.size(bytes))) missing",
                many: "Incomplete: \(count) files (\(ByteText.size(bytes))) missing")
        case .incomplete: Phrase("Incomplete")
        case .unknown: Phrase("Waiting for the index of other devices")
        case .problems(let count):
            Phrase(count, one: "\(count) name with problems", many: "\(count) names with problems")
        case .somePaused(let count, let all): Phrase("\(count) of \(all) folders paused")
        case .upToDate: Phrase("Up to date")
        case .empty: Phrase("No folders")
        }
    }
}
