import Arithmetic
import ControlAPI

/// Whether folders are ready to go offline: put together of what index, disk, transfers and devices say. Pure.
package struct Readiness: Sendable {
    package struct Folder: Sendable {
        package var id: String
        package var label: String
        package var selected: FolderStatus.Totals
        /// Whole, in the newest version, verified.
        package var present: FolderStatus.Totals
        /// Bytes here of files that are being downloaded, verified.
        package var storedBytes: Int64 = 0
        /// The folder's disk and what may be written there; nil if it cannot be asked.
        package var space: (disk: UInt64, free: UInt64)?
        /// Over the last seconds; nil if nothing came.
        package var bytesPerSecond: Int64?
        package var isPaused = false
        /// Whether it has halted, or has not been told what there is: what it counts may not be all.
        package var isUncertain = false
        package var waits: [FolderWait] = []
        /// When something came to be missing, as RFC 3339; nil if nothing is, or if that is not known.
        package var completeUntil: String?
        /// The first of what is missing.
        package var missingNames: [String] = []

        package init(
            id: String, label: String, selected: FolderStatus.Totals, present: FolderStatus.Totals
        ) {
            (self.id, self.label, self.selected, self.present) = (id, label, selected, present)
        }

        fileprivate var hasAll: Bool {
            present.files == selected.files && present.directories == selected.directories
                && present.bytes == selected.bytes
        }

        fileprivate var presentBytes: Int64 {
            hasAll ? selected.bytes : min(selected.bytes, present.bytes.addingClamped(storedBytes))
        }

        fileprivate var missingBytes: Int64 { max(0, selected.bytes.subtractingClamped(presentBytes)) }
    }

    /// The answer of `ready`, folders in their order.
    package static func answer(_ folders: [Folder]) -> ReadyAnswer {
        let shorts = SpaceRule.shorts(
            folders.map { folder in
                folder.space.map { (disk: $0.disk, missing: folder.missingBytes, free: $0.free) }
            })
        return ReadyAnswer(folders: zip(folders, shorts).map { answer($0, short: $1) })
    }

    private static func answer(_ folder: Folder, short: Int64) -> ReadyAnswer.Folder {
        let missing = ReadyAnswer.Missing(
            files: max(0, folder.selected.files.subtractingClamped(folder.present.files)), bytes: folder.missingBytes)
        let isReady = folder.hasAll && !folder.isUncertain
        // What waits for somebody or something does not come at the rate of what came before.
        let waits = folder.waits.contains { [.holder, .unavailable, .policy, .halted].contains($0.reason) }
        let canEnd = short == 0 && !folder.isPaused && !waits
        var answer = ReadyAnswer.Folder(
            id: folder.id, label: folder.label, isReady: isReady, selectedFiles: folder.selected.files,
            selectedBytes: folder.selected.bytes, presentFiles: folder.present.files,
            presentBytes: folder.presentBytes, missing: missing, short: short,
            bytesPerSecond: folder.hasAll || waits || folder.isPaused ? nil : folder.bytesPerSecond,
            isPaused: folder.isPaused)
        // Nothing is in the way of what is here; a doubt about what there is remains one.
        answer.waits = isReady ? [] : folder.waits
        // What had nothing was not complete in anybody's eyes.
        if !folder.hasAll, folder.present.files > 0 { answer.completeUntil = folder.completeUntil }
        if !folder.hasAll { answer.missingNames = folder.missingNames }
        if isReady {
            answer.etaSeconds = 0
        } else if canEnd, !folder.isUncertain, let rate = folder.bytesPerSecond, rate > 0, missing.bytes > 0 {
            let (quotient, remainder) = missing.bytes.quotientAndRemainder(dividingBy: rate)
            answer.etaSeconds = quotient.addingClamped(remainder > 0 ? 1 : 0)
        }
        return answer
    }
}
