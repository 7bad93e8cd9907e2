import AgentConfiguration
import ControlAPI
import FileAccess

/// What `status` says of a name that something is wrong with.
enum ProblemText {
    static func of(_ error: any Error, in folder: FolderConfiguration) -> String {
        if let error = error as? FolderError { return ControlError(error, folder: folder).message }
        return ControlError(describing: error).message
    }

    static func isDiskFull(_ error: any Error) -> Bool {
        switch error {
        case let error as FileAccessError: error.code == .noSpace || error.code == .quota
        case FetchError.noSpace: true
        default: false
        }
    }
}
