import FileAccess
import Foundation
import SyncTestKit
import Testing

extension TemporaryTree {
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
