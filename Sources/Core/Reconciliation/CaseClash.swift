import BlockExchange
import Cryptography

/// Two selected files whose names are one to a disk: the one whose name sorts later gets another name, on all devices. Decided by
/// names and contents alone, so that devices which decide at once decide alike. docs/decisions/disks.md gives the reasons.
package enum CaseClash {
    /// Seconds for which a clash has to last before it is settled: it may be half of a rename, of which the other half has not
    /// arrived. Two names with the same content most likely are.
    private static let shortPatience: Int64 = 2
    private static let longPatience: Int64 = 600
    /// Bytes of the hash in the new name, as base32; the next length where a name is taken.
    private static let tagLengths = [7, 14, 28, 52]
    private static let mark = ".case-clash-"

    /// One of the two files, as this device knows it.
    package struct Side: Equatable, Sendable {
        package var local: LocalVersion?
        package var global: FileInfo?
        /// Whether the name may change: it is selected, in no group, and not one of the agent's own.
        package var isRenamable: Bool

        package init(local: LocalVersion?, global: FileInfo?, isRenamable: Bool) {
            self.local = local
            self.global = global
            self.isRenamable = isRenamable
        }
    }

    /// A name that the file may get, as this device knows it.
    package struct Place: Equatable, Sendable {
        package var name: String
        package var local: LocalVersion?
        package var global: FileInfo?
        package var isSelected: Bool
        /// Whether the disk has something there, or another spelling of it.
        package var isTaken: Bool

        package init(name: String, local: LocalVersion?, global: FileInfo?, isSelected: Bool, isTaken: Bool) {
            self.name = name
            self.local = local
            self.global = global
            self.isSelected = isSelected
            self.isTaken = isTaken
        }
    }

    /// Which of the two gives way.
    package enum Loser: Equatable, Sendable {
        /// The one that is to come.
        case newcomer
        /// The one that is on this disk.
        case occupant
    }

    /// What becomes of the one that gives way.
    package enum Outcome: Equatable, Sendable {
        /// Nothing now.
        case stays
        case renamed(Renaming)
        /// The file is at this name already, and here: only the old name is still to go.
        case isThere(String, tombstone: FileInfo)
    }

    /// A file gets another name.
    package struct Renaming: Equatable, Sendable {
        package let name: String
        /// The version of the old name whose content gets the new name.
        package let source: VersionVector
        /// What is announced of the old name, once the content is durable under the new one.
        package let tombstone: FileInfo
        private let version: VersionVector

        fileprivate init(_ name: String, _ version: VersionVector, of file: FileInfo, tombstone: FileInfo) {
            self.name = name
            self.version = version
            self.tombstone = tombstone
            source = file.version
        }

        /// What is announced of the new name.
        ///
        /// - Parameter old: the file under its old name, with its blocks.
        package func file(from old: FileInfo) -> FileInfo {
            var file = old
            (file.name, file.version, file.modifiedBy) = (name, version, tombstone.modifiedBy)
            file.sequence = 0
            file.carriedFields = old.carriedFields(afterChangeOf: nil)
            return file
        }
    }

    /// Which of two files gives way; nil where neither may, or it is too early to tell.
    ///
    /// - Parameters:
    ///   - newcomer: what is to come and has no room.
    ///   - occupant: what has the place, in the same directory.
    package static func loser(newcomer: Side, occupant: Side, rules: FolderRules) -> Loser? {
        guard rules.renamesCaseClashes, rules.kind == .sendReceive, newcomer.isRenamable, occupant.isRenamable,
            let coming = newcomer.global, isFile(coming), newcomer.local?.isOnDisk != true,
            let local = occupant.local, local.isValid, local.isLive, isFile(local.file),
            occupant.global?.version == local.file.version, !coming.name.utf8.elementsEqual(local.file.name.utf8)
        else { return nil }
        if PathOrder.precedes(local.file.name, coming.name) { return .newcomer }
        // Killed after the rename on the disk, a scan announces the deletion as one that a person made.
        return rules.deletionPolicy == .mine || rules.deletionPolicy == .command ? nil : .occupant
    }

    /// For how many seconds the clash has to last before it is settled.
    package static func patience(newcomer: FileInfo, occupant: FileInfo) -> Int64 {
        newcomer.hasSameContent(as: occupant) ? longPatience : shortPatience
    }

    /// The names that the file may get, in the order in which they are tried. Each component has at most 255 bytes.
    package static func names(for file: FileInfo) -> [String] {
        let content = file.blocksHash?.bytes ?? []
        let hash = DeviceID.base32(SHA256.digest(Array(file.name.utf8) + [0] + content).bytes)
        return tagLengths.map {
            ConflictName.tagged(file.name, mark + String(decoding: hash.prefix($0), as: UTF8.self))
        }
    }

    /// What becomes of the file that gives way.
    ///
    /// - Parameters:
    ///   - known: what this device has of the file's name; its version counts as seen.
    ///   - places: of all `names(for:)`.
    package static func outcome(
        for file: FileInfo, known: LocalVersion?, places: [Place], rules: FolderRules, unixSeconds: Int64
    ) -> Outcome {
        let tombstone = tombstone(of: file, known: known, rules: rules, unixSeconds: unixSeconds)
        for place in places {
            guard place.isSelected else { return .stays }
            if let global = place.global, !global.isDeleted, !global.isInvalid {
                guard global.hasSameContent(as: file) else { continue }
                // Another device has renamed it: its announcement of the old name may be on its way.
                guard let local = place.local, local.isValid, local.isLive, local.file.version == global.version
                else { return .stays }
                return .isThere(place.name, tombstone: tombstone)
            }
            if place.isTaken || place.local?.isLive == true { continue }
            let seen = [place.global?.version, place.local?.file.version].compactMap { $0 }
                .reduce(VersionVector()) { $0.merged(with: $1) }
            let version = seen.changed(by: rules.author, besides: [], unixSeconds: unixSeconds)
            return .renamed(Renaming(place.name, version, of: file, tombstone: tombstone))
        }
        return .stays
    }

    /// Nobody wanted the name deleted. So the deletion has the time of the file, which makes it lose to any edit that it has not
    /// seen, by either rule; and no policy of this device insists on it.
    private static func tombstone(
        of file: FileInfo, known: LocalVersion?, rules: FolderRules, unixSeconds: Int64
    ) -> FileInfo {
        let seen = known.map { file.version.merged(with: $0.file.version) } ?? file.version
        var tombstone = file.deleted(
            by: rules.device, unixSeconds: file.modifiedSeconds,
            version: seen.changed(by: rules.author, besides: [], unixSeconds: unixSeconds))
        tombstone.noteRenamedAway()
        return tombstone
    }

    private static func isFile(_ file: FileInfo) -> Bool {
        file.kind == .file && !file.isDeleted && !file.isInvalid && file.blocksHash != nil
    }
}
