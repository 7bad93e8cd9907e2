import AgentContext
import BlockExchange

/// Why files or blocks are not available, with what the words for people are made of (`ControlError+Fetching`). All but
/// `targetExists`, `internalName` and `notAFile` may pass by themselves.
package enum FetchError: Error, Equatable, Sendable {
    /// Why nobody who holds a file can be asked for it.
    package enum Refusal: Sendable {
        /// The connected devices sent bytes that are not this version's.
        case wrongBytes
        /// The connected devices do not have this version any more.
        case notThere
        /// The connected devices cannot read it, or do not let it over this link.
        case unreadable
        /// No device has announced it.
        case noHolder
        /// None of so many holders is connected.
        case disconnected
    }

    /// What is in the place of a file that is to be fetched.
    package enum Occupant: Sendable { case file, directory, other }

    /// The links that there are may not carry it.
    case held(LinkObstacle, file: String, folder: FolderID)
    case unavailable(Refusal, file: String, holders: Int)
    /// `path` is absolute; `reserved` is what of the free space other files still need that are being put together.
    case noSpace(path: String, needed: Int64, free: UInt64, floor: UInt64, reserved: UInt64)
    case targetExists(path: String, file: String, Occupant)
    /// In its folder, something that is no directory is where one above it is needed.
    case blocked(by: String, file: String, folder: FolderID)
    /// On a disk that does not distinguish `A` and `a`, something that is called otherwise has the place of the file.
    case twin(String, file: String, folder: FolderID)
    case deletedMeanwhile(String)
    case outdated(String)
    /// A name that the protocol keeps for itself.
    case internalName(String)
    /// The folder's place on this disk cannot be opened.
    case noPlace(FolderID)
}
