import BlockExchange
import Thumbnails

/// What a thumbnail is wanted of: the same as another if it has the same content.
struct ThumbnailSubject: Hashable, Sendable {
    var folder: FolderID
    /// The global version, with its blocks.
    var file: FileInfo
    var holders: [DeviceID]
    /// Of its content.
    var name: ThumbnailName

    static func == (left: Self, right: Self) -> Bool { left.name == right.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
