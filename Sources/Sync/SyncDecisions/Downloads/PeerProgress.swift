import BlockExchange

/// What one device says of the files that it is downloading (BEP v1, DownloadProgress): hints where a block can be asked for. Pure,
/// and bounded: what goes beyond the limits is not taken.
package struct PeerProgress: Sendable {
    package struct Limits: Sendable {
        package var files = 128
        /// Of the sets of blocks of all its files.
        package var byteCount = 1 << 20
        package var countersPerVersion = 64

        package init() {}
    }

    private struct Key: Hashable {
        var folder: FolderID
        var name: String
    }

    private let limits: Limits
    private var files: [Key: PartialFile] = [:]
    private var byteCount = 0

    package init(limits: Limits = Limits()) { self.limits = limits }

    package var isEmpty: Bool { files.isEmpty }
    package var fileCount: Int { files.count }

    /// Takes what the device says. False if that changed nothing.
    package mutating func take(_ progress: DownloadProgress) -> Bool {
        progress.updates.reduce(false) { take($1, in: progress.folder) || $0 }
    }

    private mutating func take(_ update: DownloadProgress.Update, in folder: FolderID) -> Bool {
        let key = Key(folder: folder, name: update.name)
        let known = files[key]
        guard update.kind == .append else { return known?.version == update.version && remove(key) }
        guard !update.version.isEmpty, update.version.counters.count <= limits.countersPerVersion,
            known != nil || files.count < limits.files
        else { return false }
        var file = PartialFile(name: update.name, version: update.version, blockSize: update.blockSize)
        // Another version than before: what it said of that does not hold.
        if let known, known.version == update.version, known.blockSize == update.blockSize {
            file.blocks = known.blocks
        }
        for index in update.blockIndexes { file.blocks.insert(Int(index)) }
        guard file != known, !file.blocks.isEmpty else { return false }
        let total = byteCount - (known?.blocks.byteCount ?? 0) + file.blocks.byteCount
        guard total <= limits.byteCount else { return false }
        byteCount = total
        files[key] = file
        return true
    }

    /// The device has announced these names: it has them whole, or something else. False if it had said nothing of them.
    package mutating func announced(_ names: some Sequence<String>, in folder: FolderID) -> Bool {
        guard !files.isEmpty else { return false }
        return names.reduce(false) { remove(Key(folder: folder, name: $1)) || $0 }
    }

    package mutating func forget(_ folder: FolderID) {
        for key in files.keys where key.folder == folder { _ = remove(key) }
    }

    /// The blocks of this version of the file that the device has in its temporary file.
    package func blocks(of file: FileInfo, in folder: FolderID) -> BlockSet? {
        guard let partial = files[Key(folder: folder, name: file.name)], partial.version == file.version,
            partial.blockSize == 0 || Int(partial.blockSize) == file.effectiveBlockSize
        else { return nil }
        return partial.blocks
    }

    private mutating func remove(_ key: Key) -> Bool {
        guard let file = files.removeValue(forKey: key) else { return false }
        byteCount -= file.blocks.byteCount
        return true
    }
}
