import AgentConfiguration
import FileAccess
import Logging

/// The boards of a folder: each is written by a few and read by many, and knows nobody.
package struct FolderBoards: Sendable {
    package let places: FolderPlaces
    package let inbox: FolderInbox
    package let status: FolderStatusBoard
    package let announcements: AnnouncementFeed
    package let peers: PeerBoard
    package let scrub: ScrubBoard
    package let changes: FolderChangeFeed
    package let writing: WritingBoard
    let renames: RenameBoard

    /// Opens the folder's root. Blocks its thread.
    init(_ configuration: FolderConfiguration, isExclusive: Bool, interposer: (any DiskInterposer)?, logger: Logger) {
        places = FolderPlaces(configuration, isExclusive: isExclusive, interposer: interposer, logger: logger)
        inbox = FolderInbox()
        status = FolderStatusBoard()
        announcements = AnnouncementFeed()
        peers = PeerBoard()
        scrub = ScrubBoard()
        changes = FolderChangeFeed()
        writing = WritingBoard()
        renames = RenameBoard()
    }
}
