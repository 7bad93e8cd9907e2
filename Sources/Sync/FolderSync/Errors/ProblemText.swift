import AgentConfiguration
import BlockExchange
import ControlAPI
import Fetching
import FileAccess

/// What `status` says of a name that something is wrong with.
enum ProblemText {
    static func of(_ error: any Error, in folder: FolderConfiguration) -> String {
        if let error = error as? FolderError { return ControlError(error, folder: folder).message }
        if let error = error as? FileAccessError { return error.message(from: "\(folder.id):") }
        return ControlError(describing: error).message
    }

    /// Something that is no directory is where one is needed.
    static func obstacle(_ obstacle: String, to name: String, in folder: FolderID) -> String {
        "“\(folder):\(obstacle)” is not a directory here, but “\(name)” needs one; rename, move or delete "
            + "“\(obstacle)”, then the file is downloaded"
    }

    static func isDiskFull(_ error: any Error) -> Bool {
        switch error {
        case let error as FileAccessError: error.code == .noSpace || error.code == .quota
        case FetchError.noSpace: true
        default: false
        }
    }
}
