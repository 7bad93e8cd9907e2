/// Why something that a program wants to do with a file through a mount is not done. Paths are the caller's to add.
package enum ProgramRefusal: Error, Equatable, Sendable {
    case notFound
    case exists
    case isADirectory
    case notADirectory
    case notEmpty
    /// Something of it is not on this disk, and only what is there can get another name.
    case absent
    /// What is on this disk is not what others have, and nobody said what is to become of it.
    case changedHere
    /// So many of so many names would be gone.
    case massDeletion(lost: Int, of: Int)
}
