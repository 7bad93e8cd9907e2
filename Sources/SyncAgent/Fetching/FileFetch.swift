import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import NIOCore
import NIOPosix

/// Where a fetched file is to be.
struct FetchTarget: Sendable {
    var root: RootDirectory
    var path: RelativePath

    var absolutePath: String { root.path == "/" ? "/" + path.text : root.path + "/" + path.text }
}

/// Gets one file whole, into a staged file beside its target.
struct FileFetch: Sendable {
    enum Outcome: Sendable {
        /// What is at the target already is this version.
        case present
        /// All bytes are staged and verified; committing them puts the file in its place.
        case staged(StagedCommit)
    }

    let folder: FolderID
    /// With its blocks.
    let file: FileInfo
    let holders: [DeviceID]
    let target: FetchTarget
    let isForced: Bool
    let environment: FetchEnvironment

    /// `progress` is told of every block, also of those that were here. Throws `ControlError`.
    func run(progress: @Sendable (_ bytes: Int64, _ from: DeviceID?) async -> Void) async throws -> Outcome {
        do {
            return try await stage(progress)
        } catch let error as FileAccessError {
            throw ControlError(error, path: target.absolutePath)
        }
    }

    private func stage(_ progress: @Sendable (Int64, DeviceID?) async -> Void) async throws -> Outcome {
        let existing = try await onDisk { try target.root.status(of: target.path) }
        var replacement = Replacement.nothing
        if let existing {
            if existing.type == .regular, existing.size == file.size, try await isThisVersion() {
                await progress(file.size, nil)
                return .present
            }
            guard isForced, existing.type != .directory else {
                let remedy =
                    existing.type == .directory
                    ? "it is a directory; choose another name with -o"
                    : "use --force to replace it, or -o for another name"
                throw ControlError(
                    .alreadyExists, "\(target.absolutePath) exists and is not this version; \(remedy)", path: file.name)
            }
            replacement = .exactly(existing)
        }
        if let parent = target.path.parent { try await onDisk { _ = try target.root.createDirectories(parent) } }
        let staged = try await onDisk { try target.root.stage(target.path, resuming: true) }
        let done = try await onDisk { try blocksStaged(in: staged) }
        let missing = file.blocks.indices.filter { !done.contains($0) && file.blocks[$0].size > 0 }
        try checkSpace(for: missing)
        try await onDisk { try staged.truncate(to: file.size) }
        let doneBytes = done.reduce(Int64(0)) { $0 + Int64(file.blocks[$1].size) }
        if doneBytes > 0 { await progress(doneBytes, nil) }

        let blocks = file.blocks
        let fetch = BlockFetch(
            folder: folder, file: file, holders: holders, environment: environment,
            store: { block, bytes in
                try bytes.withUnsafeReadableBytes { try staged.write($0, at: blocks[block].offset) }
            })
        try await fetch.run(missing) { block, _, holder in await progress(Int64(file.blocks[block].size), holder) }
        return .staged(
            StagedCommit(
                staged, replacing: replacement, permissions: file.hasNoPermissions ? nil : file.permissions & 0o777,
                modified: FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds)))
    }

    private func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await environment.threads.runIfActive(body)
    }

    /// Whether the file at the target has this version's bytes.
    private func isThisVersion() async throws -> Bool {
        try await onDisk {
            let open = try target.root.open(reading: target.path)
            for block in file.blocks {
                let bytes = try open.read(count: Int(block.size), at: block.offset)
                guard bytes.count == Int(block.size), SHA256.digest(bytes) == block.hash else { return false }
            }
            return true
        }
    }

    /// The blocks that an earlier try has left in the staged file, by their hash.
    private func blocksStaged(in staged: StagedFile) throws -> Set<Int> {
        guard staged.resumedByteCount > 0 else { return [] }
        var done: Set<Int> = []
        for (index, block) in file.blocks.enumerated() {
            guard block.size > 0, block.offset + Int64(block.size) <= staged.resumedByteCount else { continue }
            let bytes = try staged.read(count: Int(block.size), at: block.offset)
            if bytes.count == Int(block.size), SHA256.digest(bytes) == block.hash { done.insert(index) }
        }
        return done
    }

    private func checkSpace(for missing: [Int]) throws {
        let needed = missing.reduce(Int64(0)) { $0 + Int64(file.blocks[$1].size) }
        let free = try target.root.freeSpace().available
        guard needed > 0, UInt64(needed) > free else { return }
        throw ControlError(
            .noSpace,
            "\(target.absolutePath) needs \(needed) more bytes and its disk has \(free) free; free some space and fetch again",
            isRetryable: true, path: file.name)
    }
}
