import AsyncTools
import BlockExchange
import ControlAPI
import Cryptography
import Fetching
import Foundation
import NIOCore
import Synchronization
import Thumbnails

// bounded-names: size end: of a live file, which BEP's blocks bound to 16 TiB

/// Makes a thumbnail of a file of the global index, here or not, from the fewest blocks that will do.
package struct ThumbnailMaker: Sendable {
    /// Bytes of a picture that a program is given whole, however cheap they are.
    private static let pictureLimit: Int64 = 64 << 20
    /// How much of a film's beginning is tried, one after the other, where nothing says where its first picture is.
    private static let filmBeginnings: [Int64] = [256 << 10, 1 << 20, 4 << 20, 16 << 20]

    /// Bytes of a film's first piece that are tried at least.
    private static let firstPiece: Int64 = 64 << 10

    /// Bytes that may come from other devices for one thumbnail.
    package struct Limits: Sendable {
        package var usual: Int64
        /// Where each of them is felt.
        package var slow: Int64

        package init(usual: Int64, slow: Int64) {
            self.usual = usual
            self.slow = slow
        }
    }

    package let fetching: FetchEnvironment
    /// Keeps a verified block of the folder.
    package let keep: @Sendable ([UInt8], SHA256Digest, FolderID) -> Void
    package let sandbox: ThumbnailSandbox
    /// A directory for files that are being looked at.
    let workDirectory: String
    package let limits: Limits
    /// Whether what goes to and from the Internet is counted.
    package let isMetered: @Sendable () -> Bool

    private var threads: any DiskThreads { fetching.threads }

    /// A JPEG whose sides have at most 255 pixels; nil if none can be made of this content. Throws `ControlError` for
    /// what may be otherwise another time: nobody who has the blocks, too many of them for this link, no sandbox.
    package func make(_ subject: ThumbnailSubject) async throws -> [UInt8]? {
        let file = subject.file
        guard file.size > 0, !file.blocks.isEmpty else { return nil }
        let input = try await threads.runIfActive {
            try ThumbnailInput(in: workDirectory, size: file.size, blockSize: file.effectiveBlockSize)
        }
        defer { input.remove() }
        let source = ThumbnailSource(subject: subject, input: input, maker: self)
        try await source.get(0..<1)
        let head = try await source.bytes(0, Int(min(file.size, Int64(file.effectiveBlockSize), 1 << 20))) ?? []
        let made: [UInt8]?
        switch MediaKind(head: Array(head.prefix(MediaKind.headByteCount))) {
        case .picture(let format): made = try await picture(format, head, source)
        case .film(.mov): made = try await film(source)
        case .film(let container): made = try await beginnings(container, from: 0, source)
        case nil: return nil
        }
        return made.flatMap { ThumbnailCheck.isThumbnail($0) ? $0 : nil }
    }

    /// A PNG of a thumbnail; nil if none can be made of it.
    ///
    /// - Throws: `ControlError` of the code `thumbnails-off`; `CancellationError`; what the disk says.
    package func png(of thumbnail: [UInt8]) async throws -> [UInt8]? {
        try await sandbox.check(.picture)
        let input = try await threads.runIfActive {
            try ThumbnailInput(in: workDirectory, size: Int64(thumbnail.count), blockSize: thumbnail.count)
        }
        defer { input.remove() }
        try await threads.runIfActive { try input.replace(with: thumbnail) }
        return try await sandbox.run(.png(input.path))
    }

    // MARK: pictures

    private func picture(
        _ format: MediaKind.PictureFormat, _ head: [UInt8], _ source: ThumbnailSource
    ) async throws -> [UInt8]? {
        let size = source.subject.file.size
        // What is here whole already is better than its preview.
        // bounded: sizes of blocks
        if format == .jpeg, !source.input.missing(0..<size).isEmpty, try await !source.isHere(0..<size),
            let preview = Preview(head: head)
        {
            try await sandbox.check(.picture)
            try await threads.runIfActive { try source.input.replace(with: preview.bytes) }
            return try await sandbox.run(.picture(source.input.path, into: preview.frame))
        }
        if let pixels = PixelSize(of: format, head: head), !pixels.isReasonable { return nil }
        guard size <= Self.pictureLimit else { return nil }
        try await sandbox.check(.picture)
        // bounded: sizes of blocks
        try await source.get(0..<size)
        return try await sandbox.run(.picture(source.input.path, into: .whole))
    }

    // MARK: films

    private func film(_ source: ThumbnailSource) async throws -> [UInt8]? {
        let size = source.subject.file.size
        let layout = FilmLayout(size: size) { source.input.read($0, $1) }
        // Each step needs more than is known, so it ends; a box can only be asked for once it is known where it is.
        for _ in 0..<64 {
            switch try await threads.runIfActive({ layout.next() }) {
            case .need(let range): try await source.get(range)
            case .ready:
                try await sandbox.check(.film)
                try await threads.runIfActive { try source.input.extend(to: size) }
                return try await sandbox.run(.film(source.input.path, in: .mov))
            case .inPieces(let start): return try await beginnings(.mov, from: start, source)
            case .none: return nil
            }
        }
        return nil
    }

    /// Tries with more and more of what follows `start`.
    private func beginnings(
        _ container: MediaKind.FilmContainer, from start: Int64, _ source: ThumbnailSource
    ) async throws -> [UInt8]? {
        let size = source.subject.file.size
        try await sandbox.check(.film)
        for byteCount in Self.filmBeginnings {
            let end = min(size, max(byteCount, start + Self.firstPiece))
            try await source.get(0..<end)
            // Whole blocks came: all of them are of use.
            let block = Int64(source.input.blockSize)
            // bounded: sizes of blocks
            let known = min(size, (end + block - 1) / block * block)
            try await threads.runIfActive { try source.input.extend(to: known) }
            if let made = try await sandbox.run(.film(source.input.path, in: container)), !made.isEmpty { return made }
            if end == size { return nil }
        }
        return nil
    }
}

/// One file's blocks, got as they are wanted.
private final class ThumbnailSource: Sendable {
    let subject: ThumbnailSubject
    let input: ThumbnailInput
    private let maker: ThumbnailMaker
    private let spent = ByteTally()

    init(subject: ThumbnailSubject, input: ThumbnailInput, maker: ThumbnailMaker) {
        self.subject = subject
        self.input = input
        self.maker = maker
    }

    func bytes(_ offset: Int64, _ count: Int) async throws -> [UInt8]? {
        try await maker.fetching.threads.runIfActive { [input] in input.read(offset, count) }
    }

    /// Whether a range needs nobody else.
    func isHere(_ range: Range<Int64>) async throws -> Bool { try await cost(of: input.missing(range)) == 0 }

    /// Has the input hold the blocks of a range. Throws `noThumbnail` if they are more than may be fetched.
    func get(_ range: Range<Int64>) async throws {
        let file = subject.file
        let blocks = input.missing(range).filter { file.blocks.indices.contains($0) }
        guard !blocks.isEmpty else { return }
        let cost = try await cost(of: blocks)
        try allow(cost)
        let fetch = BlockFetch(
            folder: subject.folder, file: file, holders: subject.holders, environment: maker.fetching,
            store: { [input, maker, folder = subject.folder] block, buffer in
                let bytes = Array(buffer.readableBytesView)
                try input.add(block, bytes, at: file.blocks[block].offset)
                maker.keep(bytes, file.blocks[block].hash, folder)
            })
        try await fetch.run(blocks) { _, _, _ in }
    }

    /// Bytes of blocks that have to come from other devices.
    private func cost(of blocks: [Int]) async throws -> Int64 {
        let wanted = blocks.compactMap { subject.file.blocks.indices.contains($0) ? subject.file.blocks[$0] : nil }
        let here = await maker.fetching.blocksHere(wanted.map(\.hash), subject.folder)
        // bounded: sizes of blocks
        return wanted.reduce(0) { here.contains($1.hash) ? $0 : $0 + Int64($1.size) }
    }

    private func allow(_ cost: Int64) throws(ControlError) {
        guard cost > 0 else { return }
        let limit = isEachByteFelt ? maker.limits.slow : maker.limits.usual
        let own = subject.fetchLimit ?? .max
        guard spent.add(cost, upTo: min(limit, own)) else {
            let (key, section) =
                own < limit
                ? ("thumbnail-limit", "[mount]")
                : (isEachByteFelt ? "fetch-limit-slow" : "fetch-limit", "[thumbnails]")
            throw ControlError(
                .noThumbnail,
                "a thumbnail of \(subject.file.name) needs more than \(ByteText.size(min(limit, own))) from other devices; raise "
                    + "\(key) in \(section), or fetch the file", path: subject.file.name)
        }
    }

    /// Whether all who can be asked are reached by Bluetooth or a metered connection, or nobody is reached yet.
    private var isEachByteFelt: Bool {
        let sources = maker.fetching.sources(of: subject.folder, subject.holders, for: .onDemand).permitted
        let isMetered = maker.isMetered()
        let includesLocal = maker.fetching.held().includesLocalNetwork
        return !sources.values.contains { source in
            guard !source.kind.isSlow else { return false }
            return !isMetered || source.route == .localNetwork && !includesLocal
        }
    }
}

private final class ByteTally: Sendable {
    private let count = Mutex<Int64>(0)

    /// False, and nothing is added, if that would be more than `limit`.
    func add(_ more: Int64, upTo limit: Int64) -> Bool {
        count.withLock { count in
            guard more <= limit - count else { return false }
            count += more
            return true
        }
    }
}
