import FileAccess
import Foundation
import Testing

@testable import FolderScanner

/// A folder of one test on the real disk.
final class TemporaryTree: Sendable {
    let url: URL
    let root: RootDirectory

    init() throws {
        let temporary = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        url = temporary.appending(path: "FolderScannerTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url.appending(path: "root"), withIntermediateDirectories: true)
        root = try RootDirectory(path: url.appending(path: "root").path)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ relative: String) -> String { "\(url.path)/root/\(relative)" }

    func makeDirectory(_ relative: String) throws {
        try FileManager.default.createDirectory(atPath: path(relative), withIntermediateDirectories: true)
    }

    /// Writes into the file that is there, or makes one and the directories above it.
    func write(_ text: String, to relative: String) throws { try write(Array(text.utf8), to: relative) }

    func write(_ bytes: [UInt8], to relative: String) throws {
        if let slash = relative.lastIndex(of: "/") { try makeDirectory(String(relative[..<slash])) }
        let file = try #require(fopen(path(relative), "w"))
        defer { fclose(file) }
        try #require(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    }

    func link(_ relative: String, to target: String) throws { try #require(symlink(target, path(relative)) == 0) }

    func remove(_ relative: String) throws { try FileManager.default.removeItem(atPath: path(relative)) }

    func move(_ relative: String, to other: String) throws { try #require(rename(path(relative), path(other)) == 0) }

    func setPermissions(_ mode: mode_t, _ relative: String) throws { try #require(chmod(path(relative), mode) == 0) }

    func setModified(_ seconds: Int, _ relative: String) throws {
        let time = timespec(tv_sec: seconds, tv_nsec: 5)
        try #require(utimensat(AT_FDCWD, path(relative), [time, time], AT_SYMLINK_NOFOLLOW) == 0)
    }

    func status(_ relative: String) throws -> FileStatus {
        try #require(try root.status(of: RelativePath(parsing: relative)))
    }
}

/// A path that the test knows to be one.
func relative(_ text: String) throws -> RelativePath { try RelativePath(parsing: text) }

/// Runs `body`, which must not wait for anything, as a user whom permissions hold back, as they do not root.
func withoutPrivileges(_ body: () async throws -> Void) async throws {
    guard getuid() == 0 else { return try await body() }
    // setfsuid(2) counts for this thread only, and takes root's right to pass by permissions with it.
    let symbol = try #require(dlsym(nil, "setfsuid"))
    let setUser = unsafeBitCast(symbol, to: (@convention(c) (UInt32) -> Int32).self)
    let thread = pthread_self()
    _ = setUser(65_534)
    let result: Result<Void, any Error>
    do {
        result = .success(try await body())
    } catch {
        result = .failure(error)
    }
    #expect(pthread_equal(thread, pthread_self()) != 0, "the body has waited and changed threads")
    _ = setUser(0)
    try result.get()
}
