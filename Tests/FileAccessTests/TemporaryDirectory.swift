import Foundation
import Testing

@testable import FileAccess

/// A directory of one test: `root/` is what the code under test is given, `outside/` what it must never touch.
final class TemporaryDirectory {
    let url: URL
    let root: RootDirectory

    init() throws {
        let temporary = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        url = temporary.appending(path: "FileAccessTests-\(UUID().uuidString)")
        for name in ["root", "outside"] {
            try FileManager.default.createDirectory(
                at: url.appending(path: name), withIntermediateDirectories: true)
        }
        root = try RootDirectory(path: url.appending(path: "root").path)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The path of something in the root.
    func path(_ relative: String) -> String { "\(url.path)/root/\(relative)" }

    func outside(_ relative: String) -> String { "\(url.path)/outside/\(relative)" }

    func write(_ text: String, to relative: String) throws {
        try text.write(toFile: path(relative), atomically: false, encoding: .utf8)
    }

    func makeDirectory(_ relative: String) throws {
        try FileManager.default.createDirectory(atPath: path(relative), withIntermediateDirectories: true)
    }

    func link(_ relative: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path(relative), withDestinationPath: target)
    }

    func text(_ relative: String) -> String? { try? String(contentsOfFile: path(relative), encoding: .utf8) }

    func names(_ relative: String = "") -> Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: path(relative))) ?? [])
    }

    /// How many descriptors of this process lead beneath this directory.
    var openDescriptorCount: Int {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return all.count { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            return target?.hasPrefix(url.path) ?? false
        }
    }
}

extension FileStatus {
    /// The same without the time of change, which a rename moves on.
    var apartFromChange: FileStatus {
        FileStatus(
            type: type, size: size, modified: modified, inode: inode, device: device, permissions: permissions,
            linkCount: linkCount)
    }
}

/// A path that the test knows to be one.
func relative(_ text: String) throws -> RelativePath { try RelativePath(parsing: text) }

/// What `body` fails with, nil if it does not.
func failure(_ body: () throws -> Void) -> FileAccessError? {
    do {
        try body()
        return nil
    } catch let error as FileAccessError {
        return error
    } catch {
        Issue.record("not an error of file access: \(error)")
        return nil
    }
}

/// Runs `body` as a user whom permissions hold back, as they do not root.
func withoutPrivileges(_ body: () throws -> Void) throws {
    guard getuid() == 0 else { return try body() }
    // setfsuid(2) counts for this thread only, and takes root's right to pass by permissions with it.
    let symbol = try #require(dlsym(nil, "setfsuid"))
    let setUser = unsafeBitCast(symbol, to: (@convention(c) (UInt32) -> Int32).self)
    _ = setUser(65_534)
    defer { _ = setUser(0) }
    try body()
}
