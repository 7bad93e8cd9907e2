import AsyncTools
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import FolderSync
import IndexStore
import Names
import PeerLinks

/// Fetches files and directories once, selected or not.
struct FetchRequests: RequestGroup {
    let finder: FolderFinder
    let outlook: FolderOutlookReading
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
                let found = try await index.global(folder.id, path)
                if found?.isPresent != true, found?.below ?? .zero == .zero, let reason = await indexWait(folder) {
                    throw ControlError(
                        .noHolder, "\(folder.id):\(path): \(reason); see `synctrain ready`", isRetryable: true,
                        path: path)
                }
                guard let entry = found,
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
        if let output = request.output {
            try await place(&roots, at: output, isOne: request.paths.count == 1)
        } else {
            roots = FetchOutput.outermost(roots.map { FetchOutput(folder: $0.folder.id, path: $0.entry.path) })
                .map { roots[$0] }
        }
        return (roots, failures)
    }

    private func indexWait(_ folder: Folder) async -> Phrase? {
        var status = await FolderStatusReading(folder: folder, index: index).status()
        await outlook.add(to: &status, of: folder)
        return status.indexWait
    }

    /// Says where each root goes below `output`: one file becomes `output` itself unless that is a directory, one
    /// directory's contents go right into it, of several each goes in under its own name.
    private func place(_ roots: inout [FetchJob.Root], at output: String, isOne: Bool) async throws {
        guard output.utf8.first == UInt8(ascii: "/") else {
            throw ControlError(.invalidRequest, "the output \(output) is not an absolute path", path: output)
        }
        let clean = PathResolver.absolute(output, in: "/")
        let isDirectory = try await fetching.threads.runIfActive { (try? RootDirectory(path: clean)) != nil }
        if isOne, let root = roots.first, !root.entry.isDirectory, !isDirectory {
            guard output.utf8.last != UInt8(ascii: "/") else {
                throw ControlError(.noSuchPath, "\(clean): no such directory; create it first", path: output)
            }
            let (directory, name) = try AtomicFile.split(clean)
            roots[0].output = FetchTarget(root: try await openRoot(directory, creating: false), path: name)
            return
        }
        if isOne, let root = roots.first, root.entry.isDirectory {
            roots[0].outputRoot = try await openRoot(clean, creating: true)
            return
        }
        let outputs = try FetchOutput.distinct(
            roots.map { FetchOutput(folder: $0.folder.id, path: $0.entry.path) }, below: clean)
        // Of what was given twice, the first one is left.
        roots = outputs.map { roots[$0.index] }
        let root = try await openRoot(clean, creating: true)
        for (index, output) in outputs.enumerated() {
            roots[index].output = FetchTarget(root: root, path: output.name)
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

/// One of several things that are fetched, into a directory each under its own name. Pure.
struct FetchOutput {
    private struct Key: Hashable {
        var folder: FolderID
        var path: NameKey
    }

    var folder: FolderID
    /// Relative to the folder's root; empty for the root itself.
    var path: String

    /// Those that are not in another one; what is given twice is there once. Two fetches of one file into one place would be in
    /// each other's way.
    ///
    /// - Returns: where each is in `outputs`.
    static func outermost(_ outputs: [FetchOutput]) -> [Int] {
        let all = Set(outputs.map { Key(folder: $0.folder, path: NameKey($0.path)) })
        var seen: Set<Key> = []
        return outputs.indices.filter { index in
            let folder = outputs[index].folder
            var path = outputs[index].path[...]
            guard seen.insert(Key(folder: folder, path: NameKey(String(path)))).inserted else { return false }
            while !path.isEmpty {
                path = path.parentPath
                if all.contains(Key(folder: folder, path: NameKey(String(path)))) { return false }
            }
            return true
        }
    }

    /// Under which name each goes into `directory`. What is given twice is there once.
    ///
    /// - Returns: the name of each, and where it is in `outputs`.
    /// - Throws: `ControlError` (`invalidRequest`) where two have one name, as one would overwrite the other, and for a folder
    ///   whose id cannot be a file's name.
    static func distinct(
        _ outputs: [FetchOutput], below directory: String
    ) throws(ControlError) -> [(index: Int, name: RelativePath)] {
        // By bytes: for Swift, texts that only look alike are equal.
        var first: [[UInt8]: FetchOutput] = [:]
        var names: [(index: Int, name: RelativePath)] = []
        for (index, output) in outputs.enumerated() {
            let own = RelativePath(output.path).flatMap { RelativePath($0.name) }
            guard let name = own ?? RelativePath(output.folder.rawValue) else {
                throw ControlError(
                    .invalidRequest,
                    "the folder \(output.folder) has an id that cannot be a directory name; fetch it alone")
            }
            guard let other = first[Array(name.text.utf8)] else {
                first[Array(name.text.utf8)] = output
                names.append((index, name))
                continue
            }
            guard other.folder == output.folder, other.path.utf8.elementsEqual(output.path.utf8) else {
                throw ControlError(
                    .invalidRequest,
                    "\(other.folder):\(other.path) and \(output.folder):\(output.path) would both become \(directory)/\(name); "
                        + "fetch them one by one, each with an output of its own", path: output.path)
            }
        }
        return names
    }
}
