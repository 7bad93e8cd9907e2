import AsyncTools
import BlockExchange
import Cryptography
import Fetching
import FileAccess
import IndexStore
import Logging
import NIOCore

/// Answers requests of other devices from this disk.
package struct BlockServer: Sendable {
    package let places: FolderPlaces
    package let index: IndexStore
    package let threads: any DiskThreads
    package let logger: Logger
    private let downloads: DownloadBoard?
    private let served = ServedBlocks()
    private let scrub: ScrubBoard

    /// - Parameters:
    ///   - downloads: where this device downloads files to.
    ///   - scrub: knows the damaged files.
    init(
        places: FolderPlaces, index: IndexStore, threads: any DiskThreads, downloads: DownloadBoard? = nil,
        scrub: ScrubBoard = ScrubBoard(), logger: Logger
    ) {
        self.downloads = downloads
        self.scrub = scrub
        self.places = places
        self.index = index
        self.threads = threads
        self.logger = logger
    }

    /// What is to be read for a request that may be answered.
    private struct Reading {
        let request: BlockRequest
        let path: RelativePath
        /// The file as it was when the index saw it.
        let status: IndexedStatus
        let fileSize: Int64
        /// What the index announces for the block, if that is known.
        let announced: SHA256Digest?

        func answer(beneath root: RootDirectory) throws -> BlockAnswer {
            let file = try root.open(reading: path)
            let count = Int(request.size)
            var data = ByteBufferAllocator().buffer(capacity: count)
            try data.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
                // bounded: 0 to 32 MiB, as the decoder has it, and so much was reserved
                try file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]), at: request.offset)
            }
            guard data.readableBytes == count else { return BlockAnswer(.noSuchFile) }
            // Looked at after reading: what was written before would show.
            guard let hash = request.hash, try announced != hash || IndexedStatus(file.status()) != status else {
                return BlockAnswer(data, fileSize: fileSize)
            }
            let isWhatWasAskedFor = data.withUnsafeReadableBytes { SHA256.digest($0) } == hash
            return isWhatWasAskedFor ? BlockAnswer(data, fileSize: fileSize) : BlockAnswer(.noSuchFile)
        }
    }

    /// Answers a peer's requests from this disk, in their order. Only what is announced as valid is served, and only bytes
    /// that have the hash that was asked for: because they are hashed, or because the index has that hash for the block
    /// and the file is as it was when the index saw it.
    ///
    /// Requests for small files come by the thousand: those that wait together cost one look at the index and the disk.
    package func serve(_ requests: [BlockRequest]) async -> [BlockAnswer] {
        guard case .success(let place) = places.current else { return requests.map { _ in BlockAnswer(.generic) } }
        let id = places.configuration.id
        do {
            let known = try await index.localEntries(of: id, at: requests.map(\.name))
            var readings: [Result<Reading, Refusal>] = []
            for (request, local) in zip(requests, known) {
                readings.append(try await reading(for: request, local, place, id))
            }
            let prepared = readings
            return try await threads.runIfActive {
                zip(requests, prepared).map { request, reading in
                    // As Syncthing: what is not in the temporary file may be in the file itself, once that is complete.
                    if let answer = self.temporary(request, place.root, id) { return answer }
                    return switch reading {
                    case .success(let reading): self.answer(reading, place.root)
                    case .failure(let refusal): BlockAnswer(refusal.code)
                    }
                }
            }
        } catch {
            logger.debug("cannot serve \(requests.count) blocks: \(error)")
            return requests.map { _ in BlockAnswer(.noSuchFile) }
        }
    }

    private struct Refusal: Error {
        let code: ResponseCode
    }

    private func reading(
        for request: BlockRequest, _ local: LocalEntry?, _ place: FolderPlace, _ id: FolderID
    ) async throws -> Result<Reading, Refusal> {
        guard let path = RelativePath(request.name) else { return .failure(Refusal(code: .noSuchFile)) }
        guard !path.isInternal, !path.isTemporary else { return .failure(Refusal(code: .invalidFile)) }
        guard request.size >= 0 else { return .failure(Refusal(code: .generic)) }
        guard let local else {
            return .failure(Refusal(code: place.selection.isIgnored(request.name) ? .invalidFile : .noSuchFile))
        }
        guard local.flags.isEmpty else { return .failure(Refusal(code: .invalidFile)) }
        guard local.file.kind == .file, let status = local.status else { return .failure(Refusal(code: .noSuchFile)) }
        // What the disk has lost does not show in the file's status: only its hash says whether a block is good.
        let isDamaged = scrub.damaged(request.name) != nil
        if isDamaged, request.hash == nil { return .failure(Refusal(code: .noSuchFile)) }
        let announced =
            isDamaged
            ? nil
            : try await served.hash(of: request, sequence: local.file.sequence) {
                try await index.local(id, request.name)
            }
        return .success(
            Reading(
                request: request, path: path, status: status, fileSize: local.file.size, announced: announced))
    }

    /// A block of a file that is being downloaded; nil if it is not in the temporary file, or none of that was asked for.
    private func temporary(_ request: BlockRequest, _ root: RootDirectory, _ id: FolderID) -> BlockAnswer? {
        guard request.isFromTemporary, let hash = request.hash, request.size > 0,
            let path = RelativePath(request.name), !path.isInternal, !path.isTemporary
        else { return nil }
        let target = downloads?.target(of: request.name, in: id) ?? FetchTarget(root: root, path: path)
        // What cannot be read is not there yet.
        guard let temporary = target.path.temporaryPath,
            let bytes = try? target.root.open(reading: temporary).read(count: Int(request.size), at: request.offset),
            bytes.count == Int(request.size), SHA256.digest(bytes) == hash
        else { return nil }
        return BlockAnswer(ByteBuffer(bytes: bytes))
    }

    private func answer(_ reading: Reading, _ root: RootDirectory) -> BlockAnswer {
        do {
            return try reading.answer(beneath: root)
        } catch {
            logger.debug("cannot serve \(reading.request.name): \(error)")
            return BlockAnswer(.noSuchFile)
        }
    }
}
