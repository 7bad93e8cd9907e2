import AgentConfiguration
import AgentContext
import AsyncTools
import ControlAPI
import FileAccess
import FolderSync

/// Lists directories of this machine, for a person who chooses one.
struct DirectoryRequests: RequestGroup {
    let configuration: RunningConfiguration
    let places: AgentPlaces
    let threads: any DiskThreads

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.directories) { try await list($0) }
    }

    private func list(_ query: DirectoryQuery) async throws -> DirectoryListing {
        let path = try absolute(try places.expanded(query.path ?? places.userHome ?? "/"))
        let found: Subdirectories
        do {
            found = try await threads.runIfActive {
                try Subdirectories(of: path, includesHidden: query.includesHidden)
            }
        } catch let error as FileAccessError {
            switch error.code {
            case .notFound:
                throw ControlError(.noSuchPath, "There is no directory \(path). Check the path.", path: path)
            case .notADirectory: throw ControlError(.invalidRequest, "\(path) is not a directory.", path: path)
            default: throw ControlError(error, path: path)
            }
        }
        let folders = Dictionary(
            configuration.current.folders.map { ($0.path, $0.id.description) }, uniquingKeysWith: { first, _ in first })
        return DirectoryListing(
            path: path, home: places.userHome,
            directories: found.directories.map { directory in
                DirectoryListing.Directory(
                    name: directory.name, isReadable: directory.isReadable, isLink: directory.isLink,
                    folder: folders[path == "/" ? "/\(directory.name)" : "\(path)/\(directory.name)"])
            }, isWhole: found.isWhole, unnameable: found.unnameable, isWritable: found.isWritable)
    }

    /// `path` without double and trailing slashes.
    private func absolute(_ path: String) throws(ControlError) -> String {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw ControlError(
                .invalidRequest, "\(path) is not absolute. Enter a full path, for example /home/me/Library.", path: path
            )
        }
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        guard !parts.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) || $0.contains(0) })
        else {
            throw ControlError(.invalidRequest, "The path \(path) contains `.` or `..`. Remove them.", path: path)
        }
        return "/" + parts.map { String(Substring($0)) }.joined(separator: "/")
    }
}
