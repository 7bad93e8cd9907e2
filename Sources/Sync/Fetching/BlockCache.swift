import BlockExchange
import Cryptography
import FileAccess
import Foundation
import NIOCore
import Synchronization

/// Blocks on disk by their folder and their hash, the least recently used ones given up when the limit is reached. What it
/// returns has been verified; a damaged block is removed and counts as missing. A block is found for the folders that it was
/// kept for and no others: a device that knows only its hash must not get its content.
///
/// Only a cache: nothing is made durable, and every failure to write is a block less in the cache and nothing more.
package final class BlockCache: Sendable {
    private struct Key: Hashable {
        /// Its place in `directories`.
        var folder: Int32
        var hash: SHA256Digest
    }

    private struct State {
        var sizes: [Key: Int] = [:]
        /// Oldest use first.
        var order = UseOrder<Key>()
        var byteCount = 0
        /// Each folder's directory, named after its id; only ever grows.
        private(set) var directories: [String] = []
        private var numbers: [FolderID: Int32] = [:]

        mutating func number(of directory: String) -> Int32 {
            if let number = directories.firstIndex(of: directory) { return Int32(number) }
            directories.append(directory)
            return Int32(directories.count - 1)
        }

        mutating func key(_ hash: SHA256Digest, of folder: FolderID) -> Key {
            let number = numbers[folder] ?? number(of: BlockCache.directory(of: folder))
            numbers[folder] = number
            return Key(folder: number, hash: hash)
        }

        /// Below the cache's directory.
        func path(of key: Key) -> String {
            let name = key.hash.description
            return "\(directories[Int(key.folder)])/\(name.prefix(2))/\(name)"
        }

        /// The block of one of these folders; nil if none has it.
        mutating func find(_ hash: SHA256Digest, of folders: Set<FolderID>) -> Key? {
            for folder in folders {
                let key = key(hash, of: folder)
                if sizes[key] != nil { return key }
            }
            return nil
        }
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
    package func contains(_ hash: SHA256Digest, of folders: Set<FolderID>) -> Bool {
        state.withLock { $0.find(hash, of: folders) != nil }
    }

    /// The block with this hash, kept for one of these folders; nil if it is not here, or not any more what its name says.
    package func block(_ hash: SHA256Digest, of folders: Set<FolderID>) -> [UInt8]? {
        let found = state.withLock { state -> (key: Key, path: String)? in
            guard let key = state.find(hash, of: folders) else { return nil }
            state.order.use(key)
            return (key, directory + "/" + state.path(of: key))
        }
        guard let found else { return nil }
        guard let data = FileManager.default.contents(atPath: found.path) else {
            forget(found.key)
            return nil
        }
        let bytes = [UInt8](data)
        guard SHA256.digest(bytes) == hash else {
            forget(found.key)
            return nil
        }
        return bytes
    }

    /// Keeps a block that was verified.
    package func keep(_ bytes: [UInt8], hash: SHA256Digest, of folder: FolderID) {
        bytes.withUnsafeBytes { keep($0, hash: hash, of: folder) }
    }

    /// The same, without a copy of the bytes.
    package func keep(_ bytes: ByteBuffer, hash: SHA256Digest, of folder: FolderID) {
        bytes.withUnsafeReadableBytes { keep($0, hash: hash, of: folder) }
    }

    private func keep(_ bytes: UnsafeRawBufferPointer, hash: SHA256Digest, of folder: FolderID) {
        guard bytes.count <= byteLimit else { return }
        let new = state.withLock { state -> (key: Key, path: String)? in
            let key = state.key(hash, of: folder)
            return state.sizes[key] == nil ? (key, directory + "/" + state.path(of: key)) : nil
        }
        guard let new, put(bytes, at: new.path) else { return }
        let evicted = state.withLock { state in
            // bounded: the bytes of a block in memory
            if state.sizes.updateValue(bytes.count, forKey: new.key) == nil { state.byteCount += bytes.count }
            state.order.use(new.key)
            return evict(&state)
        }
        remove(evicted)
    }

    /// Removes what was kept for any other folder.
    package func removeAll(but folders: Set<FolderID>) {
        let wanted = Set(folders.map { Self.directory(of: $0) })
        let gone = state.withLock { state in
            let gone = Set(state.directories.indices.filter { !wanted.contains(state.directories[$0]) })
            guard !gone.isEmpty else { return [String]() }
            for key in state.sizes.keys where gone.contains(Int(key.folder)) { drop(key, from: &state) }
            return gone.map { state.directories[$0] }
        }
        for name in gone { try? FileManager.default.removeItem(atPath: "\(directory)/\(name)") }
    }

    /// Written aside and renamed: a block is whole or not there, whoever else writes the same one.
    private func put(_ bytes: UnsafeRawBufferPointer, at path: String) -> Bool {
        let number = nextNumber.wrappingAdd(1, ordering: .relaxed).oldValue
        let aside = "\(directory)/\(Self.aside)/\(getpid())-\(number)"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        var descriptor = open(aside, flags, 0o600)
        if descriptor < 0, errno == ENOENT, makeAside() { descriptor = open(aside, flags, 0o600) }
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
            if errno == ENOENT, makeShelf((path as NSString).deletingLastPathComponent), rename(aside, path) == 0 {
                return true
            }
        }
        unlink(aside)
        return false
    }

    /// With the cache's directory, which may be gone: people empty directories of caches while programs run.
    private func makeAside() -> Bool {
        do {
            try FileManager.default.createDirectory(
                atPath: "\(directory)/\(Self.aside)", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            return true
        } catch {
            return false
        }
    }

    private func makeShelf(_ path: String) -> Bool {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return true }
        // The first of its folder.
        guard errno == ENOENT else { return false }
        mkdir((path as NSString).deletingLastPathComponent, 0o700)
        return mkdir(path, 0o700) == 0 || errno == EEXIST
    }

    // MARK: -

    private static func directory(of folder: FolderID) -> String {
        SHA256.digest(Array(folder.rawValue.utf8)).description
    }

    /// The paths of what is given up.
    private func evict(_ state: inout State) -> [String] {
        var evicted: [String] = []
        while state.byteCount > byteLimit, let oldest = state.order.takeOldest() {
            evicted.append(directory + "/" + state.path(of: oldest))
            drop(oldest, from: &state)
        }
        return evicted
    }

    private func forget(_ key: Key) {
        let path = state.withLock { state in
            drop(key, from: &state)
            return directory + "/" + state.path(of: key)
        }
        remove([path])
    }

    private func drop(_ key: Key, from state: inout State) {
        state.byteCount -= state.sizes.removeValue(forKey: key) ?? 0
        state.order.forget(key)
    }

    private func remove(_ paths: [String]) {
        for path in paths { unlink(path) }
    }

    /// Takes over what an earlier run left, in the order of last change; files that are no blocks are left alone. Shelves that
    /// are in no folder's directory are those of versions that kept blocks for all folders: they go.
    private func load() {
        var found: [(key: Key, size: Int, modified: timespec)] = []
        let manager = FileManager.default
        for folder in (try? manager.contentsOfDirectory(atPath: directory)) ?? [] {
            if folder.utf8.count == 2 { try? manager.removeItem(atPath: "\(directory)/\(folder)") }
            guard SHA256Digest(hex: folder) != nil else { continue }
            let number = state.withLock { $0.number(of: folder) }
            for shelf in (try? manager.contentsOfDirectory(atPath: "\(directory)/\(folder)")) ?? [] {
                let shelf = "\(directory)/\(folder)/\(shelf)"
                for name in (try? manager.contentsOfDirectory(atPath: shelf)) ?? [] {
                    var status = stat()
                    guard let hash = SHA256Digest(hex: name), lstat("\(shelf)/\(name)", &status) == 0,
                        status.st_mode & S_IFMT == S_IFREG, (1...BlockSize.maximum).contains(Int(status.st_size))
                    else { continue }
                    found.append((Key(folder: number, hash: hash), Int(status.st_size), status.st_mtim))
                }
            }
        }
        found.sort { ($0.modified.tv_sec, $0.modified.tv_nsec) < ($1.modified.tv_sec, $1.modified.tv_nsec) }
        let evicted = state.withLock { state in
            for block in found {
                state.sizes[block.key] = block.size
                // bounded: the bytes of a block in memory
                state.byteCount += block.size
                state.order.use(block.key)
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
