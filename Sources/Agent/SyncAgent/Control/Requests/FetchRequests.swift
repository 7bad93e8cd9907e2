import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import FolderSync
import IndexStore
import PeerLinks

/// Fetches files and directories once, selected or not.
struct FetchRequests: RequestGroup {
    let finder: FolderFinder
    let index: IndexStore
    let devices: DeviceRegistry
    let fetching: FetchEnvironment
    let transfers: TransferRegistry

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.fetch) { try await fetch($0, emit: $1) }
    }

    private func fetch(_ request: FetchRequest, emit: @Sendable (FetchEvent) async throws -> Void) async throws {
        let (roots, failures) = try await fetchRoots(request)
        let names = { @Sendable [devices] (ids: Set<DeviceID>) -> [String] in
            ids.map { devices.device($0)?.state.name ?? $0.shortID.description }.sorted()
        }
        let job = FetchJob(
            roots: roots, isForced: request.isForced, index: index, environment: fetching, transfers: transfers,
            deviceNames: names)
        try await job.run(failures: failures, emit: emit)
    }

    /// Finds what a request asks for. What cannot be found is a failure of its own when there is more than one path.
    private func fetchRoots(_ request: FetchRequest) async throws -> (roots: [FetchJob.Root], failures: [FetchEvent]) {
        guard !request.paths.isEmpty else { throw ControlError(.invalidRequest, "give at least one path to fetch") }
        var roots: [FetchJob.Root] = []
        var failures: [FetchEvent] = []
        for reference in request.paths {
            do {
                let (folder, path) = try finder.resolve(reference)
                guard let entry = try await index.global(folder.id, path),
                    entry.isPresent || path.isEmpty || entry.below != .zero
                else {
                    throw ControlError(
                        .noSuchPath, "\(folder.id):\(path): not found; `synctrain search` finds names",
                        path: path)
                }
                roots.append(
                    FetchJob.Root(folder: folder, entry: entry, place: try? folder.boards.places.current.get()))
            } catch {
                guard request.paths.count > 1 else { throw error }
                failures.append(
                    .failed(path: reference.text, error: ControlError(describing: error, path: reference.text)))
            }
        }
        if let output = request.output { try await place(&roots, at: output, isOne: request.paths.count == 1) }
        return (roots, failures)
    }

    /// Says where each root goes below `output`: one file becomes `output` itself unless that is a directory, one
    /// directory's contents go right into it, of several each goes in under its own name.
    private func place(_ roots: inout [FetchJob.Root], at output: String, isOne: Bool) async throws {
        guard output.hasPrefix("/") else {
            throw ControlError(.invalidRequest, "the output \(output) is not an absolute path", path: output)
        }
        let clean = PathResolver.absolute(output, in: "/")
        let isDirectory = try await fetching.threads.runIfActive { (try? RootDirectory(path: clean)) != nil }
        if isOne, let root = roots.first, !root.entry.isDirectory, !isDirectory {
            guard !output.hasSuffix("/") else {
                throw ControlError(.noSuchPath, "\(clean): no such directory; create it first", path: output)
            }
            let (directory, name) = try AtomicFile.split(clean)
            roots[0].output = FetchTarget(root: try await openRoot(directory, creating: false), path: name)
            return
        }
        let root = try await openRoot(clean, creating: true)
        for index in roots.indices {
            let name = RelativePath(roots[index].entry.path)?.name
            guard isOne, roots[index].entry.isDirectory else {
                let fallback = RelativePath(roots[index].folder.id.rawValue)
                guard let path = name.flatMap({ RelativePath($0) }) ?? fallback else {
                    throw ControlError(
                        .invalidRequest,
                        "the folder \(roots[index].folder.id) has an id that cannot be a directory name; fetch it alone"
                    )
                }
                roots[index].output = FetchTarget(root: root, path: path)
                continue
            }
            roots[index].outputRoot = root
        }
    }

    private func openRoot(_ path: String, creating: Bool) async throws -> RootDirectory {
        do {
            return try await fetching.threads.runIfActive {
                creating ? try RootDirectory(creating: path) : try RootDirectory(path: path)
            }
        } catch let error as FileAccessError where error.code == .notFound && !creating {
            // No rescan finds a directory outside of the folders.
            throw ControlError(.noSuchPath, "\(path): no such directory; create it first", path: path)
        } catch let error as FileAccessError {
            throw ControlError(error, path: path)
        }
    }
}
