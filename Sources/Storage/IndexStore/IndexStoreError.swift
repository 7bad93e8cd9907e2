import BlockExchange
import GRDB
import Glibc
import Phrases

/// Why the index could not be used; `text` ends with what to do.
package struct IndexStoreError: PhrasedError, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The file was written by a later version of this program.
        case newerSchema
        /// The file is no index or is damaged.
        case corrupt
        case diskFull
        /// What is free is kept for this device's own changes.
        case diskAlmostFull
        case readOnly
        case permission
        /// Another process holds the file. The only one that may go away by itself.
        case busy
        /// There is no such place, or it is no regular file.
        case cannotOpen
        /// The disk failed to read or write.
        case inputOutput
        /// The folder was never added, or was removed.
        case noSuchFolder
        case failed
        /// A device has announced more of a folder than it may.
        case tooManyEntries
        /// A device has announced more bytes of names, versions and carried fields of a folder than it may.
        case tooManyEntryBytes
    }

    package let code: Code
    /// A sentence that names the file and ends with the remedy.
    package let text: Phrase
    /// The database file.
    package let path: String
    /// What the system or SQLite said; empty if there was no such cause.
    package let cause: String

    package init(_ code: Code, path: String, cause: String = "", folder: FolderID? = nil) {
        self.code = code
        self.path = path
        self.cause = cause
        self.text = Self.text(code, path: path, cause: cause, folder: folder)
    }

    /// Whether the same call may succeed later without anything being changed.
    package var isTransient: Bool { code == .busy }

    package var description: String { message }

    private static func text(_ code: Code, path: String, cause: String, folder: FolderID?) -> Phrase {
        let named = folder?.rawValue ?? ""
        let reason: Phrase = cause.isEmpty ? "" : " (\(cause))"
        return switch code {
        case .newerSchema:
            Phrase(
                "the index \(path) was written by a newer synctrain; install that version again, or run "
                    + "`synctrain reset index` to rebuild the index (your files are not touched)")
        case .corrupt:
            Phrase(
                "the index \(path) is damaged\(reason); run `synctrain reset index` to rebuild it (your files are not "
                    + "touched)")
        case .diskFull:
            Phrase("no space left for the index \(path); free some space on that disk")
        case .diskAlmostFull:
            Phrase("no space left for the index \(path)\(reason); free some space on that disk")
        case .tooManyEntries, .tooManyEntryBytes:
            Phrase("\(cause) of a folder, more than the index takes of one device; delete some of them there")
        case .readOnly:
            Phrase(
                "the index \(path) is read-only or on a read-only disk\(reason); make it writable, or choose "
                    + "another directory with `--home`")
        case .permission:
            Phrase(
                "the index \(path) cannot be opened: permission denied\(reason); give your user access to it and its directory, or choose "
                    + "another directory with `--home`")
        case .busy:
            Phrase("the index \(path) is locked by another process; stop it (`synctrain agent stop`) and try again")
        case .cannotOpen:
            Phrase(
                "the index \(path) cannot be opened\(reason); create its directory, or choose another directory with `--home`"
            )
        case .inputOutput:
            Phrase(
                "the disk failed while the index \(path) was used\(reason); check the disk (`dmesg`), then try again")
        case .noSuchFolder:
            Phrase("the index has no folder `\(named)`; see `synctrain folder list`")
        case .failed:
            Phrase("the index \(path) failed\(reason); try again; if this persists, run `synctrain reset index`")
        }
    }

    /// What a failed system call on the database file means.
    static func system(_ number: Int32, path: String) -> IndexStoreError {
        let code: Code =
            switch number {
            case EACCES, EPERM: .permission
            case EROFS: .readOnly
            case ENOSPC, EDQUOT: .diskFull
            case EIO: .inputOutput
            default: .cannotOpen
            }
        return IndexStoreError(code, path: path, cause: String(cString: strerror(number)))
    }

    /// What an error of SQLite means.
    static func database(_ error: DatabaseError, path: String) -> IndexStoreError {
        let code: Code =
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT: .corrupt
            case .SQLITE_FULL: .diskFull
            case .SQLITE_READONLY: .readOnly
            case .SQLITE_PERM, .SQLITE_AUTH: .permission
            case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
            case .SQLITE_CANTOPEN: .cannotOpen
            // The memory that the processes share could not be made larger: that is a file on the same disk.
            case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE: .diskFull
            // A page that the file is too short for is damage, not a failing disk.
            case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_SHORT_READ: .corrupt
            case .SQLITE_IOERR: .inputOutput
            default: .failed
            }
        return IndexStoreError(code, path: path, cause: error.message ?? "SQLite code \(error.resultCode.rawValue)")
    }

    /// `error` in this target's terms; cancellation stays what it is.
    static func translate(_ error: any Error, path: String) -> any Error {
        switch error {
        case let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT: CancellationError()
        case let error as DatabaseError: database(error, path: path)
        case let error as OverQuota:
            IndexStoreError(
                error.limit.code, path: path, cause: "\(error.device.shortID) announced more than \(error.limit)")
        case let error as MalformedRow: IndexStoreError(.corrupt, path: path, cause: error.reason)
        case let error as UnknownFolder: IndexStoreError(.noSuchFolder, path: path, folder: error.folder)
        default: error
        }
    }
}

/// A row holds what no version of this program writes.
struct MalformedRow: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// A device announces more than it may.
struct OverQuota: Error {
    enum Limit: CustomStringConvertible {
        case names(Int64)
        case bytes(Int64)

        var code: IndexStoreError.Code {
            switch self {
            case .names: .tooManyEntries
            case .bytes: .tooManyEntryBytes
            }
        }

        var description: String {
            switch self {
            case .names(let count): "\(count) names"
            case .bytes(let count): "\(count >> 20) MiB of names and attributes"
            }
        }
    }

    let device: DeviceID
    let limit: Limit
}

/// A call named a folder that is not in the database.
struct UnknownFolder: Error {
    let folder: FolderID
}
