import BlockExchange
import GRDB

/// What is known of one name, for deciding about it.
package struct NameFacts: Equatable, Sendable {
    package var name: String
    /// The winning announcement, without blocks but with the hash over theirs; nil if nobody announces the name.
    package var global: FileInfo?
    /// What this device has, without blocks but with the hash over theirs.
    package var local: LocalEntry?
    /// The other devices whose valid announcement has the winner's version, in the order of their ids.
    package var holders: [DeviceID]
    /// The versions of files that other devices announce as theirs and that are not the winner's, in the order of their ids.
    package var rivals: [VersionVector]

    package init(
        name: String, global: FileInfo? = nil, local: LocalEntry? = nil, holders: [DeviceID] = [],
        rivals: [VersionVector] = []
    ) {
        self.name = name
        self.global = global
        self.local = local
        self.holders = holders
        self.rivals = rivals
    }

    package init(_ needed: NeededEntry) {
        self.init(
            name: needed.path, global: needed.file, local: needed.local, holders: needed.holders, rivals: needed.rivals)
    }
}

extension IndexStore {
    /// What is known of each of `names`, in their order, needed or not; all in one read.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder); `CancellationError`.
    package func facts(in folder: FolderID, names: [String]) async throws -> [NameFacts] {
        try await read { try Self.facts($0, in: folder, names: names) }
    }

    /// The same, also in a task that was cancelled.
    ///
    /// - Throws: `IndexStoreError` (`noSuchFolder` for an unknown folder).
    package func factsRegardless(in folder: FolderID, names: [String]) async throws -> [NameFacts] {
        try await readRegardless { try Self.facts($0, in: folder, names: names) }
    }

    private static func facts(_ database: Database, in folder: FolderID, names: [String]) throws -> [NameFacts] {
        let reader = try IndexReader(database, folder: try Folder.find(folder, in: database))
        let need = try NeedReader(database, reader)
        return try names.map { name in
            guard let found = try reader.find(name) else { return NameFacts(name: name) }
            return try need.facts(of: found.id, path: name)
        }
    }
}
