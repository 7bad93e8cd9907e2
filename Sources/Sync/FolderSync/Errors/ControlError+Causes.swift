import AgentConfiguration
import ControlAPI
import Cryptography
import Fetching
import FileAccess
import FolderScanner
import IndexStore
import LinkSecurity
import Transport

extension ControlError {
    /// Any error as the control API says it.
    package init(describing error: any Error, path: String? = nil) {
        switch error {
        case let error as ControlError: self = error
        case let error as FileAccessError: self.init(error, path: path ?? error.path)
        case let error as RelativePathError: self.init(.invalidRequest, error.text, path: path)
        case let error as IndexStoreError where error.code == .noSuchFolder:
            self.init(.noSuchFolder, error.text, path: path)
        case let error as IndexStoreError:
            self.init(.indexUnusable, error.text, isRetryable: error.isTransient, path: path)
        case let error as ConfigurationError: self.init(error)
        case let error as FolderHalt: self.init(error, path: path)
        case let error as ScanError: self.init(error, path: path)
        case let error as FetchError: self.init(error, path: path)
        default: self.init(.failed, Phrase(of: error), path: path)
        }
    }
}

extension ControlError {
    /// Why a folder is at a standstill, to somebody who asked for something in it.
    package init(_ halt: FolderHalt, path: String?) {
        let code: Code =
            switch halt.reason {
            case .selection: .selectionUnusable
            case .error: .failed
            case .rootMissing, .markerMissing, .rootEmptied, .massDeletion: .folderHalted
            }
        self.init(code, halt.text, path: path)
    }

    /// Why a folder's disk could not be listed. A root that has gone halts the folder; it may not have noticed yet.
    package init(_ error: ScanError, path: String?) {
        switch error.code {
        case .rootUnreadable where error.cause?.code == .permission:
            self.init(.noPermission, error.text, path: path)
        case .rootNotInPlace, .rootUnreadable: self.init(.folderHalted, error.text, path: path)
        case .noThread: self.init(.failed, error.text, isRetryable: true, path: path)
        }
    }

    package init(_ error: ConfigurationError) {
        let code: Code =
            switch error.code {
            case .noSuchDevice: .noSuchDevice
            case .noSuchFolder: .noSuchFolder
            case .duplicate, .alreadyExists: .alreadyExists
            case .busy: .busy
            case .failed: .failed
            case .noPermission: .noPermission
            case .noSpace: .noSpace
            default: .invalidConfiguration
            }
        self.init(code, error.located)
    }
}

extension ControlError {
    /// What the disk said, in the words of the control API.
    ///
    /// - Parameter place: what the error's own path is told from, such as `library:`.
    package init(_ error: FileAccessError, path: String, from place: String = "") {
        let code: Code =
            switch error.code {
            case .noSpace, .quota: .noSpace
            case .permission, .readOnly: .noPermission
            case .exists, .changedOnDisk: .alreadyExists
            case .busy: .busy
            case .notFound: .noSuchPath
            default: .failed
            }
        self.init(code, message: error.message(from: place), isRetryable: error.isTransient, path: path)
    }
}
