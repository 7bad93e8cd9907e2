import BlockExchange
import Thumbnails

/// What a thumbnail is wanted of: the same as another if it has the same content, and as much may come from other devices for it. One
/// that may have less would fail for all who wait for it.
package struct ThumbnailSubject: Hashable, Sendable {
    package var folder: FolderID
    /// The global version, with its blocks.
    package var file: FileInfo
    package var holders: [DeviceID]
    /// Of its content.
    package var name: ThumbnailName
    /// Bytes that may come from other devices for it, where that is less than the configuration allows.
    package var fetchLimit: Int64?

    /// Nil for what gets no thumbnail, by its name or kind.
    package init?(folder: FolderID, file: FileInfo, holders: [DeviceID], fetchLimit: Int64? = nil) {
        guard file.kind == .file, MediaKind.isLikely(path: file.name), let hash = file.blocksHash,
            let name = ThumbnailName(blocksHash: hash)
        else { return nil }
        self.folder = folder
        self.file = file
        self.holders = holders
        self.name = name
        self.fetchLimit = fetchLimit
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.name == right.name && left.fetchLimit == right.fetchLimit
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(fetchLimit)
    }
}
