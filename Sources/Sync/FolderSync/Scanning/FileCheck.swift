import AsyncTools
import BlockExchange
import Cryptography
import FileAccess
import IndexStore

/// Reads one file again and compares its blocks with their hashes. Changes nothing.
struct FileCheck: Sendable {
    /// A thread is held for about so many bytes at a time.
    private static let bytesAtOnce = 8 << 20

    /// Fills a buffer with what is in a file from an offset on; gives the count of bytes.
    typealias Reader =
        @Sendable (OpenFile, UnsafeMutableRawBufferPointer, _ offset: Int64) throws(FileAccessError) -> Int

    static let readFromDisk: Reader = { (file, buffer, offset) throws(FileAccessError) in
        try file.read(into: buffer, at: offset)
    }

    struct Outcome: Sendable {
        var verdict: ScrubVerdict
        var wrongBlocks: Int64 = 0
        var unreadableBlocks = 0
        var foundHash: SHA256Digest?
    }

    let root: RootDirectory
    let path: RelativePath
    /// What the index has of it, with its blocks.
    let entry: LocalEntry
    let threads: any DiskThreads
    var read: Reader = readFromDisk

    /// - Parameter came: called after each part with how many bytes were read; what it throws ends the check.
    func run(came: (Int64) async throws -> Void) async throws -> Outcome {
        guard let known = FileAccess.FileStatus(entry) else { return Outcome(verdict: .changed) }
        let (root, path) = (root, path)
        let opened: (file: OpenFile, status: FileAccess.FileStatus)
        do {
            opened = try await threads.runIfActive {
                let file = try root.open(reading: path)
                file.dropCachedPages()
                return (file, try file.status())
            }
        } catch is FileAccessError {
            // A scan says what is wrong with it.
            return Outcome(verdict: .changed)
        }
        // Not read in vain.
        guard ScrubVerdict(known: known, before: opened.status, after: opened.status, wrong: 0) == .good else {
            return Outcome(verdict: .changed)
        }
        var tally = BlockTally(entry.file.blocks)
        while tally.block != nil {
            let (next, byteCount) = try await threads.runIfActive { [tally] in
                try DiskPriority.idle { try part(of: opened.file, tally) }
            }
            tally = next
            try await came(byteCount)
        }
        let after = try await threads.runIfActive { () -> FileAccess.FileStatus? in
            opened.file.dropCachedPages()
            // By its name as well: it may be another file by now.
            guard let status = try root.status(of: path), try opened.file.status() == status else { return nil }
            return status
        }
        return Outcome(
            verdict: ScrubVerdict(known: known, before: opened.status, after: after, wrong: tally.wrong),
            wrongBlocks: tally.wrong, unreadableBlocks: tally.unreadable, foundHash: tally.foundHash)
    }

    /// Reads the next blocks. Blocks its thread.
    private func part(of file: OpenFile, _ tally: BlockTally) throws -> (BlockTally, Int64) {
        var tally = tally
        var done = 0
        while let block = tally.block, done < Self.bytesAtOnce {
            let count = max(0, Int(block.size))
            let hash = try withUnsafeTemporaryAllocation(byteCount: count, alignment: 4096) { buffer in
                do throws(FileAccessError) {
                    guard try read(file, buffer, block.offset) == count else { return SHA256Digest?.none }
                    return SHA256.digest(UnsafeRawBufferPointer(buffer))
                } catch {
                    // What the disk cannot give is lost; any other error says nothing of the file.
                    guard error.code == .io else { throw error }
                    return nil
                }
            }
            tally.note(hash)
            // bounded: no more than one block beyond the limit
            done += count
        }
        return (tally, Int64(done))
    }
}
