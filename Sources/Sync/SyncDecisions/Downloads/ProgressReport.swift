import BlockExchange

/// A file that this device is downloading, and which of its blocks are in its temporary file.
package struct PartialFile: Equatable, Sendable {
    /// A file with no more blocks is not worth a message (Syncthing's `tempIndexMinBlocks`).
    package static let unreportedBlockCount = 10

    package var name: String
    package var version: VersionVector
    package var blockSize: Int32
    package var blocks: BlockSet

    package init(name: String, version: VersionVector, blockSize: Int32, blocks: BlockSet = BlockSet()) {
        self.name = name
        self.version = version
        self.blockSize = blockSize
        self.blocks = blocks
    }
}

/// What this device has reported to one device about its downloads, and what it reports next (BEP v1, DownloadProgress).
/// Pure; each link starts with an empty one.
package struct ProgressReport: Sendable {
    /// The interval between reports to a device, as Syncthing does by default (`progressUpdateIntervalS`).
    package static let interval: Duration = .seconds(5)
    /// Blocks that one message names; the others are for the next.
    package static let indexLimit = 100_000

    private let indexLimit: Int
    private var reported: [FolderID: [String: PartialFile]] = [:]

    package init(indexLimit: Int = Self.indexLimit) { self.indexLimit = indexLimit }

    /// Whether the device knows of no download: nothing has to be taken back.
    package var isEmpty: Bool { reported.isEmpty }

    /// What brings the device up to date: at most one message for each folder.
    ///
    /// - Parameter current: what is being downloaded in each folder that the device may know of. Of a folder that is not in it nothing
    ///   is said any more.
    package mutating func messages(for current: [FolderID: [PartialFile]]) -> [DownloadProgress] {
        reported = reported.filter { current[$0.key] != nil }
        return current.sorted { $0.key < $1.key }.compactMap { folder, files in
            let updates = updates(folder, files)
            return updates.isEmpty ? nil : DownloadProgress(folder: folder, updates: updates)
        }
    }

    private mutating func updates(_ folder: FolderID, _ files: [PartialFile]) -> [DownloadProgress.Update] {
        var old = reported[folder] ?? [:]
        var new: [String: PartialFile] = [:]
        var updates: [DownloadProgress.Update] = []
        var room = indexLimit
        for file in files.sorted(by: { $0.name < $1.name }) where new[file.name] == nil {
            var known = old.removeValue(forKey: file.name)
            if let before = known, before.version != file.version || !file.blocks.isSuperset(of: before.blocks) {
                updates.append(.forget(before))
                known = nil
            }
            var reported = known ?? file
            if known == nil { reported.blocks = BlockSet() }
            let indexes = file.blocks.subtracting(reported.blocks).indexes.prefix(room)
            room -= indexes.count
            for index in indexes { reported.blocks.insert(index) }
            if !indexes.isEmpty { updates.append(.append(file, indexes)) }
            if !reported.blocks.isEmpty { new[file.name] = reported }
        }
        for (_, file) in old.sorted(by: { $0.key < $1.key }) { updates.append(.forget(file)) }
        reported[folder] = new.isEmpty ? nil : new
        return updates
    }
}

extension DownloadProgress.Update {
    fileprivate static func forget(_ file: PartialFile) -> Self {
        Self(kind: .forget, name: file.name, version: file.version)
    }

    fileprivate static func append(_ file: PartialFile, _ indexes: some Sequence<Int>) -> Self {
        Self(
            kind: .append, name: file.name, version: file.version, blockIndexes: indexes.map { Int32(clamping: $0) },
            blockSize: file.blockSize)
    }
}
