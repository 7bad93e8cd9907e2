import BlockExchange
import ControlAPI

/// What a folder refuses, with what the words for people are made of (`ControlError+Folders`). Paths are relative to the
/// folder's root.
package enum FolderError: Error, Equatable, Sendable {
    /// What only a device that sends its changes can do.
    package enum Sending: Sendable { case delete, note, revert, restore }

    // MARK: paths

    case notOnDisk(String)
    case noDeviceHas(String)
    case selected(String)
    case notSelected(String)
    case isDirectory(String)
    case tooManyFiles(String, limit: Int)
    /// Other devices have the name with other content.
    case differsElsewhere(String)
    /// An absolute directory is needed to move to.
    case noTargetDirectory
    case targetInsideFolder(String)
    /// Something has the name, here or on other devices.
    case nameTaken(String)
    /// The name is synctrain's own, or that of a temporary file.
    case reservedName(String)
    /// The name is not in Unicode's normal form C.
    case notComposed(String)

    // MARK: the folder

    case notSendOnly
    case notReceiveOnly
    case receivesOnly(Sending)
    case notHalted
    case notHaltedOverDeletions

    /// Another client waits for a check of the folder.
    case scrubbing

    // MARK: conflicts and versions

    case noConflict(String)
    case ambiguousConflict(String, copies: Int)
    case copyGone(String)
    /// Neither this disk nor any other device has the version that was to be kept.
    case keptVersionGone(String, other: ConflictResolution.Keep, copy: String)
    case notInStep(String)
    case nothingMerged
    case noVersion(String, isAtTime: Bool)
    /// The file has no versions, because the folder's settings keep none.
    case keepsNoVersions(String)
    /// Something is in the place: how large it is, when the version that replaces it was archived (local time), and whether
    /// what is there goes to the archive.
    case wouldReplace(String, size: Int64, archived: String, isArchiving: Bool)
    case noSpace(String)

    // MARK: the selection

    /// Somebody wrote `.stignore` while it was edited here.
    case selectionChanged

    // MARK: notes

    case badNoteKey(String)
    case badNoteValue
    case notesIncomplete(String)
    case tooManyNotes(String)
    case tooManyNoteLines
    case notesTooLarge

    // MARK: refused changes

    case nothingRefused(String)
}
