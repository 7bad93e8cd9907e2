import Foundation
import Testing

@testable import FileAccess

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
