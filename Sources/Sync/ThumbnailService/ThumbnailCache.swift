import Fetching
import FileAccess
import Foundation
import Synchronization
import Thumbnails

/// Thumbnails on disk by what they are of, those used longest ago given up when the limit is reached. Another program may
/// share the directory: what is found is checked before it is shown, and what is no thumbnail is left alone.
///
/// Only a cache: nothing is made durable, and every failure to write is a thumbnail less and nothing more. Every call
/// blocks its thread until the disk has answered.
package final class ThumbnailCache: Sendable {
    private struct State {
        var isLoaded = false
        var sizes: [ThumbnailName: Int] = [:]
        /// Oldest use first.
        var order = UseOrder<ThumbnailName>()
        var byteCount = 0
    }

    package let directory: String
    package let byteLimit: Int
    private let state = Mutex(State())

    init(directory: String, byteLimit: Int) {
        self.directory = directory
        self.byteLimit = byteLimit
    }

    /// Nil if there is none, or what is there may not be shown.
    package func thumbnail(_ name: ThumbnailName) -> [UInt8]? {
        guard byteLimit > 0, let root = try? RootDirectory(path: directory),
            let bytes = Self.read(name.path, in: root)
        else { return nil }
        // So that it counts as used after a new start, too.
        _ = utimensat(AT_FDCWD, "\(directory)/\(name.path)", nil, AT_SYMLINK_NOFOLLOW)
        note(name, bytes.count)
        return bytes
    }

    package func keep(_ bytes: [UInt8], as name: ThumbnailName) {
        guard bytes.count <= byteLimit, let root = try? RootDirectory(creating: directory, permissions: 0o700),
            Self.write(bytes, to: name.path, in: root, durability: .deferred)
        else { return }
        note(name, bytes.count)
    }

    /// The thumbnail at a path beneath a directory that others may write into; nil if there is none.
    package static func read(_ path: String, in root: RootDirectory) -> [UInt8]? {
        guard let path = RelativePath(path), let file = try? root.open(reading: path),
            let bytes = try? file.read(count: ThumbnailCheck.byteLimit + 1, at: 0), ThumbnailCheck.isThumbnail(bytes)
        else { return nil }
        return bytes
    }

    /// False if it could not be written.
    /// - Parameter permissions: nil for those that files of folders get.
    package static func write(
        _ bytes: [UInt8], to path: String, in root: RootDirectory, permissions: UInt32? = nil, durability: Durability
    ) -> Bool {
        do {
            let path = try RelativePath(parsing: path)
            if let parent = path.parent { _ = try root.createDirectories(parent) }
            let staged = try root.stage(path, resuming: false)
            do {
                try staged.write(bytes, at: 0)
                _ = try staged.commit(
                    replacing: .anything, permissions: permissions, modified: nil, durability: durability)
            } catch {
                try staged.discard()
                return false
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: -

    /// Counts one as just used, and gives up what is over the limit.
    private func note(_ name: ThumbnailName, _ byteCount: Int) {
        let isLoaded = state.withLock { $0.isLoaded }
        let found = isLoaded ? [] : load()
        let evicted = state.withLock { state in
            if !state.isLoaded {
                state.isLoaded = true
                for (name, size) in found { Self.add(name, size, &state) }
            }
            Self.add(name, byteCount, &state)
            var evicted: [ThumbnailName] = []
            while state.byteCount > byteLimit, let oldest = state.order.takeOldest() {
                state.byteCount -= state.sizes.removeValue(forKey: oldest) ?? 0
                evicted.append(oldest)
            }
            return evicted
        }
        for name in evicted { unlink("\(directory)/\(name.path)") }
    }

    private static func add(_ name: ThumbnailName, _ size: Int, _ state: inout State) {
        // bounded: sizes of own files
        state.byteCount += size - (state.sizes.updateValue(size, forKey: name) ?? 0)
        state.order.use(name)
    }

    /// What an earlier run, or another program, left, in the order of last use.
    private func load() -> [(ThumbnailName, Int)] {
        var found: [(name: ThumbnailName, size: Int, used: timespec)] = []
        let manager = FileManager.default
        func names(_ path: String) -> [String] { (try? manager.contentsOfDirectory(atPath: path)) ?? [] }
        for first in names(directory) where first.utf8.count == 1 {
            for second in names("\(directory)/\(first)") where second.utf8.count == 1 {
                for file in names("\(directory)/\(first)/\(second)") {
                    var status = stat()
                    guard let name = ThumbnailName(path: "\(first)/\(second)/\(file)"),
                        lstat("\(directory)/\(name.path)", &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                        (1...ThumbnailCheck.byteLimit).contains(Int(status.st_size))
                    else { continue }
                    found.append((name, Int(status.st_size), status.st_mtim))
                }
            }
        }
        found.sort { ($0.used.tv_sec, $0.used.tv_nsec) < ($1.used.tv_sec, $1.used.tv_nsec) }
        return found.map { ($0.name, $0.size) }
    }
}
