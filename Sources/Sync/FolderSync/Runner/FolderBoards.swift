import AgentConfiguration
import FileAccess

/// The boards of a folder: each is written by a few and read by many, and knows nobody.
package struct FolderBoards: Sendable {
    package let places: FolderPlaces
    package let inbox: FolderInbox
    package let status: FolderStatusBoard
    package let announcements: AnnouncementFeed
    package let peers: PeerBoard

    /// Opens the folder's root. Blocks its thread.
    init(_ configuration: FolderConfiguration, interposer: (any DiskInterposer)? = nil) {
        places = FolderPlaces(configuration, interposer: interposer)
        inbox = FolderInbox()
        status = FolderStatusBoard()
        announcements = AnnouncementFeed()
        peers = PeerBoard()
    }
}
