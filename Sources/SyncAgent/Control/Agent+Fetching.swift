import BlockExchange
import ControlAPI
import FileAccess
import IndexStore
import NIOCore

extension Agent {
    /// Bytes that an ordered read may have under way or in memory ahead of its reader.
    private static let readAheadBytes = 16 << 20

    public func fetch(_ request: FetchRequest, emit: @Sendable (FetchEvent) async throws -> Void) async throws {
        try await answering {
            let (roots, failures) = try await fetchRoots(request)
            let names = { @Sendable [devices] (ids: Set<DeviceID>) -> [String] in
                ids.map { devices.device($0)?.state.name ?? $0.shortID.description }.sorted()
            }
            let job = FetchJob(
                roots: roots, isForced: request.isForced, index: index, environment: fetching, transfers: transfers,
                deviceNames: names)
            try await job.run(failures: failures, emit: emit)
        }
    }

    public func read(
        _ reference: PathReference, range: ByteRange?,
        start: @Sendable (Entry, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await answering {
            let (folder, path) = try resolve(reference)
            let place = try? folder.boards.places.current.get()
            let entry = try await EntryReader(folder: folder, index: index, place: place, fetching: fetching).stat(path)
            guard let found = try await index.global(folder.id, path), found.isPresent,
                let file = try await index.file(folder.id, path)
            else {
                throw ControlError(
                    .noSuchPath, "\(path) exists only on this disk, not in the index of \(folder.id); read it directly",
                    path: path)
            }
            guard file.kind == .file else {
                throw ControlError(.invalidRequest, "\(path) is not a file; `cat` and `fetch` need a file", path: path)
            }
            let bytes: ClosedRange<Int64>?
            if let range {
                bytes = range.resolved(size: file.size)
                guard bytes != nil else {
                    throw ControlError(
                        .rangeNotSatisfiable, "\(path) has \(file.size) bytes; the range is outside the file",
                        path: path)
                }
            } else {
                bytes = file.size > 0 ? 0...file.size - 1 : nil
            }
            guard let bytes else { return try await start(entry, nil) }

            let readAhead = ReadAhead(limit: max(2, Self.readAheadBytes / max(1, file.effectiveBlockSize)))
            let transfer = transfers.begin(
                folder: folder.id, path: path, bytesTotal: bytes.upperBound - bytes.lowerBound + 1)
            defer { transfers.end(transfer) }
            let fetch = BlockFetch(
                folder: folder.id, file: file, holders: found.holders, environment: fetching,
                store: { [cache] block, bytes in
                    cache.keep(Array(bytes.readableBytesView), hash: file.blocks[block].hash)
                }, came: { [transfers] in transfers.came(transfer, $0, from: $1) })
            // What goes wrong before the first bytes are here is still an answer of its own.
            var hasStarted = false
            try await fetch.runInOrder(file.blocks(holding: bytes), readAhead: readAhead) { block, data in
                let offset = file.blocks[block].offset
                let from = Int(max(bytes.lowerBound - offset, 0))
                let through = Int(min(bytes.upperBound - offset, Int64(data.readableBytes) - 1))
                guard through >= from else { return }
                transfers.progressed(transfer, by: Int64(through - from + 1), from: nil)
                if !hasStarted { try await start(entry, bytes) }
                hasStarted = true
                try await emit(Array(data.readableBytesView.dropFirst(from).prefix(through - from + 1)))
            }
        }
    }

    /// Finds what a request asks for. What cannot be found is a failure of its own when there is more than one path.
    private func fetchRoots(_ request: FetchRequest) async throws -> (roots: [FetchJob.Root], failures: [FetchEvent]) {
        guard !request.paths.isEmpty else { throw ControlError(.invalidRequest, "give at least one path to fetch") }
        var roots: [FetchJob.Root] = []
        var failures: [FetchEvent] = []
        for reference in request.paths {
            do {
                let (folder, path) = try resolve(reference)
                guard let entry = try await index.global(folder.id, path),
                    entry.isPresent || path.isEmpty || entry.below != .zero
                else {
                    throw ControlError(
                        .noSuchPath, "\(folder.id):\(path): not found; `synctrain search` finds names",
                        path: path)
                }
                roots.append(FetchJob.Root(folder: folder, entry: entry, place: try? folder.boards.places.current.get()))
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
        let isDirectory = try await threads.runIfActive { (try? RootDirectory(path: clean)) != nil }
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
            return try await threads.runIfActive {
                creating ? try RootDirectory(creating: path) : try RootDirectory(path: path)
            }
        } catch let error as FileAccessError {
            throw ControlError(error, path: path)
        }
    }
}
