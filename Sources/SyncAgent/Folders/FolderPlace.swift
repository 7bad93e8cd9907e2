import AgentConfiguration
import FileAccess
import Selection

/// Where a folder is on this disk: its root, held open, and its selection as its `.stignore` had it.
struct FolderPlace: Sendable {
    static let marker = ".stfolder"
    static let ignoreFile = ".stignore"
    /// A selection of a million paths has room; a runaway file does not.
    private static let ignoreByteLimit = 64 << 20

    let root: RootDirectory
    let selection: Selection
    private let ignoreStatus: FileAccess.FileStatus?

    /// Opens the folder's root, checks its marker, and reads its selection.
    static func open(_ configuration: FolderConfiguration) -> Result<FolderPlace, FolderSession.Problem> {
        do {
            let root = try RootDirectory(path: configuration.path)
            guard let marker = RelativePath(marker), try root.status(of: marker) != nil else {
                return .failure(
                    FolderSession.Problem(
                        message:
                            "\(configuration.path) has no \(Self.marker): is its disk mounted? If this is the right "
                            + "place, run: mkdir '\(configuration.path)/\(Self.marker)'"))
            }
            let (selection, status) = try readSelection(root)
            return .success(FolderPlace(root: root, selection: selection, ignoreStatus: status))
        } catch let error as FileAccessError {
            return .failure(FolderSession.Problem(message: error.message))
        } catch let error as IgnoreError {
            return .failure(FolderSession.Problem(message: "\(configuration.path)/\(error)"))
        } catch {
            return .failure(FolderSession.Problem(message: "\(error)"))
        }
    }

    /// Whether the selection's file is still the one that was read and the marker is still there.
    var isCurrent: Bool {
        guard let marker = RelativePath(Self.marker), let ignore = RelativePath(Self.ignoreFile),
            (try? root.status(of: marker)) ?? nil != nil
        else { return false }
        let status = (try? root.status(of: ignore)) ?? nil
        switch (status, ignoreStatus) {
        case (nil, nil): return true
        case (let now?, let then?): return now.isUnchanged(since: then)
        default: return false
        }
    }

    private static func readSelection(_ root: RootDirectory) throws -> (Selection, FileAccess.FileStatus?) {
        guard let path = RelativePath(ignoreFile), let status = try root.status(of: path) else {
            return (.everything, nil)
        }
        func read(_ name: String) throws -> String {
            guard let path = RelativePath(name), let status = try root.status(of: path) else {
                throw FolderSession.Problem(message: "there is no file \(name)")
            }
            guard status.size <= ignoreByteLimit else {
                throw FolderSession.Problem(
                    message: "\(name) has \(status.size) bytes; at most \(ignoreByteLimit) are read")
            }
            return String(
                decoding: try root.open(reading: path).read(count: Int(status.size), at: 0), as: UTF8.self)
        }
        return (try Selection(parsing: try read(ignoreFile), include: read), status)
    }
}
