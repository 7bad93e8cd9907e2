import FileAccess
import Glibc
import SyncTestKit
import Testing

@Suite struct RootClaimTests {
    let directory: TemporaryTree

    init() throws { directory = try TemporaryTree() }

    private func claim(_ path: String) throws -> RootClaim? {
        if case .granted(let claim) = RootClaim.take(try RootDirectory(path: path)) { claim } else { nil }
    }

    @Test func oneAtATime() throws {
        var first = try claim(directory.root.path)
        #expect(first?.isOf(directory.root) == true)
        guard case .held(let process) = RootClaim.take(directory.root) else {
            Issue.record("granted twice")
            return
        }
        // The kernel names nobody of another namespace.
        #expect(process == nil || process == getpid())
        // What is below, and another, is nobody's.
        try directory.makeDirectory("below")
        let below = try claim(directory.root.path + "/below")
        #expect(below != nil && below?.isOf(directory.root) == false)
        first = nil
        #expect(try claim(directory.root.path) != nil)
    }
}
