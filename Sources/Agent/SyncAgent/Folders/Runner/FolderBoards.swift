import AgentConfiguration
import FileAccess

/// The boards of a folder: each is written by a few and read by many, and knows nobody.
struct FolderBoards: Sendable {
    let places: FolderPlaces
    let inbox: FolderInbox
    let status: FolderStatusBoard
    let announcements: AnnouncementFeed
    let peers: PeerBoard

    /// Opens the folder's root. Blocks its thread.
    init(_ configuration: FolderConfiguration, interposer: (any DiskInterposer)? = nil) {
        places = FolderPlaces(configuration, interposer: interposer)
        inbox = FolderInbox()
        status = FolderStatusBoard()
        announcements = AnnouncementFeed()
        peers = PeerBoard()
    }
}
