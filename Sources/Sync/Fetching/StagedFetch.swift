import AgentContext
import AsyncTools
import BlockExchange
import Cryptography
import FileAccess
import NIOCore

/// Gets all bytes of one file, verified, into a staged file beside its target; what an earlier try left is used.
package struct StagedFetch: Sendable {
    package let folder: FolderID
    /// With its blocks.
    package let file: FileInfo
    package let holders: [DeviceID]
    package let target: FetchTarget
    package let environment: FetchEnvironment
    /// Bytes that must stay free on the disk.
    package var freeSpaceFloor: UInt64 = 0
    package var purpose = SlowLinkPolicy.Purpose.onDemand

    package init(
        folder: FolderID, file: FileInfo, holders: [DeviceID], target: FetchTarget, environment: FetchEnvironment,
        freeSpaceFloor: UInt64 = 0, purpose: SlowLinkPolicy.Purpose = .onDemand
    ) {
        self.folder = folder
        self.file = file
        self.holders = holders
        self.target = target
        self.environment = environment
        self.purpose = purpose
        self.freeSpaceFloor = freeSpaceFloor
    }

    /// `progress` is told of every block, also of those that were here. Makes the directories above the target. Throws
    /// `FetchError` or `FileAccessError`; what was staged stays.
    package func run(progress: @Sendable (_ bytes: Int64, _ from: DeviceID?) async -> Void) async throws -> StagedFile {
        let (staged, done) = try await onDisk {
            if let parent = target.path.parent { _ = try target.root.createDirectories(parent) }
            let staged = try target.root.stage(target.path, resuming: true)
            let done = try blocksStaged(in: staged)
            let missing = file.blocks.indices.reduce(Int64(0)) { sum, index in
                // bounded: blocks are within their file, of 16 TiB at most
                done.contains(index) ? sum : sum + Int64(file.blocks[index].size)
            }
            do {
                try reserve(missing, for: staged)
            } catch {
                // What is worth nothing to a later try takes no space.
                if done.isEmpty { try? staged.discard() }
                throw error
            }
            try staged.truncate(to: file.size)
            return (staged, done)
        }
        let missing = file.blocks.indices.filter { !done.contains($0) && file.blocks[$0].size > 0 }
        // bounded: blocks are within their file, of 16 TiB at most
        let doneBytes = done.reduce(Int64(0)) { $0 + Int64(file.blocks[$1].size) }
        if doneBytes > 0 { await progress(doneBytes, nil) }

        let blocks = file.blocks
        // Others get from here what is here, before all of it is.
        let board = environment.downloads?.board
        let download = board?.begin(file, of: folder, target: target, done: done)
        defer { if let download { board?.end(download) } }
        let fetch = BlockFetch(
            folder: folder, file: file, holders: holders, environment: environment, purpose: purpose,
            store: { block, bytes in
                try bytes.withUnsafeReadableBytes { try staged.write($0, at: blocks[block].offset) }
                if let download { board?.stored(block, of: download) }
            })
        try await fetch.run(environment.order(missing, of: file, in: folder, holders: holders)) { block, _, holder in
            await progress(Int64(blocks[block].size), holder)
        }
        return staged
    }

    private func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await environment.threads.runIfActive(body)
    }

    /// The blocks that an earlier try has left in the staged file, by their hash.
    private func blocksStaged(in staged: StagedFile) throws -> Set<Int> {
        guard staged.resumedByteCount > 0 else { return [] }
        var done: Set<Int> = []
        for (index, block) in file.blocks.enumerated() {
            // bounded: blocks are within their file, of 16 TiB at most
            guard block.size > 0, block.offset + Int64(block.size) <= staged.resumedByteCount else { continue }
            let bytes = try staged.read(count: Int(block.size), at: block.offset)
            if bytes.count == Int(block.size), SHA256.digest(bytes) == block.hash { done.insert(index) }
        }
        return done
    }

    private func reserve(_ needed: Int64, for staged: StagedFile) throws {
        let shortage = try staged.reserve(
            UInt64(clamping: needed), above: target.root.spaceFloor(freeSpaceFloor), in: environment.space)
        guard let shortage else { return }
        throw FetchError.noSpace(
            path: target.absolutePath, needed: needed, free: shortage.available, floor: shortage.floor,
            reserved: shortage.reserved)
    }
}
