import BlockExchange
import Cryptography
import FileAccess
import Foundation
import NIOCore
import Synchronization

/// Blocks on disk by their hash, the least recently used ones given up when the limit is reached. What it returns has
/// been verified; a damaged block is removed and counts as missing.
///
/// Only a cache: nothing is made durable, and every failure to write is a block less in the cache and nothing more.
package final class BlockCache: Sendable {
    private struct State {
        var sizes: [SHA256Digest: Int] = [:]
        /// Oldest use first.
        var order = UseOrder<SHA256Digest>()
        var byteCount = 0
    }

    package let directory: String
    package let byteLimit: Int
    private let state: Mutex<State>
    /// Where blocks are written before they get their names.
    private static let aside = "new"
    private let nextNumber = Atomic<UInt64>(0)

    /// Opens the cache in `directory`, which is made if need be, and gives up what is over the limit.
    ///
    /// - Throws: what `FileManager` throws if the directory cannot be made. A directory that cannot be read is an empty
    ///   cache.
    package init(directory: String, byteLimit: Int) throws {
        self.directory = directory
        self.byteLimit = byteLimit
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        state = Mutex(State())
        // What was being written when an earlier run died.
        try? FileManager.default.removeItem(atPath: "\(directory)/\(Self.aside)")
        load()
    }

    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// Whether `block` may find it.
    package func contains(_ hash: SHA256Digest) -> Bool { state.withLock { $0.sizes[hash] != nil } }

    /// The block with this hash; nil if it is not here, or not any more what its name says.
    package func block(_ hash: SHA256Digest) -> [UInt8]? {
        let isKnown = state.withLock { state in
            guard state.sizes[hash] != nil else { return false }
            state.order.use(hash)
            return true
        }
        guard isKnown else { return nil }
        guard let data = FileManager.default.contents(atPath: path(of: hash)) else {
            forget(hash)
            return nil
        }
        let bytes = [UInt8](data)
        guard SHA256.digest(bytes) == hash else {
            forget(hash)
            return nil
        }
        return bytes
    }

    /// Keeps a block that was verified.
    package func keep(_ bytes: [UInt8], hash: SHA256Digest) { bytes.withUnsafeBytes { keep($0, hash: hash) } }

    /// The same, without a copy of the bytes.
    package func keep(_ bytes: ByteBuffer, hash: SHA256Digest) {
        bytes.withUnsafeReadableBytes { keep($0, hash: hash) }
    }

    private func keep(_ bytes: UnsafeRawBufferPointer, hash: SHA256Digest) {
        guard bytes.count <= byteLimit, state.withLock({ $0.sizes[hash] == nil }), put(bytes, at: path(of: hash))
        else { return }
        let evicted = state.withLock { state in
            // bounded: the bytes of a block in memory
            if state.sizes.updateValue(bytes.count, forKey: hash) == nil { state.byteCount += bytes.count }
            state.order.use(hash)
            return evict(&state)
        }
        remove(evicted)
    }

    /// Written aside and renamed: a block is whole or not there, whoever else writes the same one.
    private func put(_ bytes: UnsafeRawBufferPointer, at path: String) -> Bool {
        let number = nextNumber.wrappingAdd(1, ordering: .relaxed).oldValue
        let aside = "\(directory)/\(Self.aside)/\(getpid())-\(number)"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        var descriptor = open(aside, flags, 0o600)
        if descriptor < 0, errno == ENOENT, mkdir("\(directory)/\(Self.aside)", 0o700) == 0 {
            descriptor = open(aside, flags, 0o600)
        }
        guard descriptor >= 0 else { return false }
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            done += count
        }
        close(descriptor)
        if done == bytes.count {
            if rename(aside, path) == 0 { return true }
            // The first of its shelf.
            if errno == ENOENT, mkdir((path as NSString).deletingLastPathComponent, 0o700) == 0 || errno == EEXIST,
                rename(aside, path) == 0
            {
                return true
            }
        }
        unlink(aside)
        return false
    }

    // MARK: -

    private func path(of hash: SHA256Digest) -> String {
        let name = hash.description
        return "\(directory)/\(name.prefix(2))/\(name)"
    }

    private func evict(_ state: inout State) -> [SHA256Digest] {
        var evicted: [SHA256Digest] = []
        while state.byteCount > byteLimit, let oldest = state.order.takeOldest() {
            state.byteCount -= state.sizes.removeValue(forKey: oldest) ?? 0
            evicted.append(oldest)
        }
        return evicted
    }

    private func forget(_ hash: SHA256Digest) {
        state.withLock { state in
            state.byteCount -= state.sizes.removeValue(forKey: hash) ?? 0
            state.order.forget(hash)
        }
        remove([hash])
    }

    private func remove(_ hashes: [SHA256Digest]) {
        for hash in hashes { unlink(path(of: hash)) }
    }

    /// Takes over what an earlier run left, in the order of last change; files that are no blocks are left alone.
    private func load() {
        var found: [(hash: SHA256Digest, size: Int, modified: timespec)] = []
        let manager = FileManager.default
        for shelf in (try? manager.contentsOfDirectory(atPath: directory)) ?? [] where shelf.utf8.count == 2 {
            for name in (try? manager.contentsOfDirectory(atPath: "\(directory)/\(shelf)")) ?? [] {
                var status = stat()
                guard let hash = SHA256Digest(hex: name), lstat("\(directory)/\(shelf)/\(name)", &status) == 0,
                    status.st_mode & S_IFMT == S_IFREG, (1...BlockSize.maximum).contains(Int(status.st_size))
                else { continue }
                found.append((hash, Int(status.st_size), status.st_mtim))
            }
        }
        found.sort { ($0.modified.tv_sec, $0.modified.tv_nsec) < ($1.modified.tv_sec, $1.modified.tv_nsec) }
        let evicted = state.withLock { state in
            for block in found {
                state.sizes[block.hash] = block.size
                // bounded: the bytes of a block in memory
                state.byteCount += block.size
                state.order.use(block.hash)
            }
            return evict(&state)
        }
        remove(evicted)
    }
}

/// Keys in the order of their last use: a doubly linked list in a dictionary, every step constant time.
package struct UseOrder<Key: Hashable> {
    private struct Links {
        var older: Key?
        var newer: Key?
    }

    private var links: [Key: Links] = [:]
    private var oldest: Key?
    private var newest: Key?

    package init() {}

    package mutating func use(_ key: Key) {
        forget(key)
        links[key] = Links(older: newest, newer: nil)
        if let newest { links[newest]?.newer = key } else { oldest = key }
        newest = key
    }

    package mutating func forget(_ key: Key) {
        guard let link = links.removeValue(forKey: key) else { return }
        if let older = link.older { links[older]?.newer = link.newer } else { oldest = link.newer }
        if let newer = link.newer { links[newer]?.older = link.older } else { newest = link.older }
    }

    package mutating func takeOldest() -> Key? {
        guard let key = oldest else { return nil }
        forget(key)
        return key
    }
}
