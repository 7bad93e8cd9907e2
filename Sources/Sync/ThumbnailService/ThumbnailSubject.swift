import BlockExchange
import Thumbnails

/// What a thumbnail is wanted of: the same as another if it has the same content.
package struct ThumbnailSubject: Hashable, Sendable {
    package var folder: FolderID
    /// The global version, with its blocks.
    package var file: FileInfo
    package var holders: [DeviceID]
    /// Of its content.
    package var name: ThumbnailName

    package init(folder: FolderID, file: FileInfo, holders: [DeviceID], name: ThumbnailName) {
        self.folder = folder
        self.file = file
        self.holders = holders
        self.name = name
    }

    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
