import Glibc
import SyncTestKit
import Testing

@testable import FileAccess

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

    /// Anybody who can read a directory can lock it. A lock of this user or of root may be an agent's, and so may one of which nothing is
    /// said; one of another user is not, whatever rights its program has and whether it still runs.
    @Test(
        arguments: [
            ([], "held"), ([(7, "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n")], "held 7"),
            ([(7, "Uid:\t0\t0\t0\t0\n")], "held 7"), ([(7, "Uid:\t1001\t1001\t1001\t1001\n")], "other 7"),
            ([(7, "Uid:\t1001\t0\t0\t0\n")], "other 7"), ([(7, "Uid:\t1001\t1000\t1000\t1000\n")], "other 7"),
            ([(7, nil)], "other 7"), ([(7, "Uid:\tx\n")], "held 7"),
            ([(7, "Uid:\t1001\t1001\t1001\t1001\n"), (8, "Uid:\t1000\t1000\t1000\t1000\n")], "held 8"),
            ([(7, nil), (8, "Uid:\t1001\t1001\t1001\t1001\n")], "other 7"),
        ] as [([(Int32, String?)], String)])
    func locksOfOthersTakeNothing(holders: [(Int32, String?)], meaning: String) {
        let found =
            switch RootClaim.refusal(by: holders.map { (process: $0.0, status: $0.1) }, user: 1000) {
            case .granted: "granted"
            case .held(let process): process.map { "held \($0)" } ?? "held"
            case .lockedByOther(let process): "other \(process)"
            case .unsupported: "unsupported"
            }
        #expect(found == meaning)
    }
}
