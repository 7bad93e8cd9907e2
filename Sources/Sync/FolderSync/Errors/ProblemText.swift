import AgentConfiguration
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import IndexStore

/// What `status` says of a name that something is wrong with.
package enum ProblemText {
    static func of(_ error: any Error, in folder: FolderConfiguration) -> Phrase {
        if let error = error as? FolderError { return ControlError(error, folder: folder).text }
        if let error = error as? FileAccessError { return error.text(from: "\(folder.id):") }
        return ControlError(describing: error).text
    }

    /// Something that is no directory is where one is needed.
    static func obstacle(_ obstacle: String, to name: String, in folder: FolderID) -> Phrase {
        Phrase(
            "“\(folder):\(obstacle)” is not a directory here, but “\(name)” needs one; rename, move or delete "
                + "“\(obstacle)”, then the file is downloaded")
    }

    /// A directory with something needed in it is where other devices have a file.
    static let directoryInTheWay =
        Phrase(
            "a file on another device has the path of this directory, which holds needed files; rename the directory here or the "
                + "file there")

    /// The disk takes two names for one.
    static func twin(_ twin: String, of name: String, in folder: FolderID) -> Phrase {
        Phrase(
            "“\(folder):\(twin)” has the same name in other letters (upper or lower case), and this disk cannot hold both; rename one of "
                + "them on a device that has both, or move the folder to a disk that can")
    }

    /// The disk gives other bytes than those that were written.
    package static func damaged(_ file: DamagedFile, in folder: FolderID) -> Phrase {
        Phrase(
            "damaged on this disk: \(file.wrongBlocks) of its \(file.blocks) blocks are not as they were written, and nobody "
                + "changed the file; `synctrain scrub \(ShellWord.quoted(folder.rawValue)) --repair` restores it from other devices"
        )
    }

    // Why a directory that another device deleted stays, by what it holds.

    static func holdsUnsyncable(_ names: [String]) -> Phrase {
        Phrase(
            "deleted by another device, but it contains names that cannot be synced (\(list(names))); move or delete them"
        )
    }

    static func holdsDeleted(_ names: [String]) -> Phrase {
        Phrase("deleted by another device, but its contents could not be deleted yet (\(list(names))); see there")
    }

    static func holdsIgnored(_ names: [String]) -> Phrase {
        Phrase(
            "deleted by another device, but it contains files that are not selected here (\(list(names))); move them "
                + "elsewhere, or allow deletion with a (?d) line in .stignore")
    }

    static func holdsKept(_ names: [String]) -> Phrase { Phrase("still contains \(list(names))") }

    static func list(_ names: [String]) -> Phrase {
        let shown = names.prefix(3).joined(separator: ", ")
        return names.count > 3 ? Phrase("\(shown) and \(names.count - 3) more") : "\(shown)"
    }

    static func isDiskFull(_ error: any Error) -> Bool {
        switch error {
        case let error as FileAccessError: error.code == .noSpace || error.code == .quota
        case FetchError.noSpace: true
        default: false
        }
    }
}
