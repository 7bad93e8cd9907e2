import BlockExchange
import FileAccess
import Testing

@testable import FolderSync
@testable import FolderWatcher

@Suite struct FolderInboxTests {
    @Test(arguments: WatchImpairment.Code.allCases)
    func `a root that is gone is looked at at once, and only that`(_ code: WatchImpairment.Code) {
        let inbox = FolderInbox()
        _ = inbox.nextScan(at: .zero)

        inbox.take(.state(.impaired(WatchImpairment(code: code, message: "", watched: 0))), at: .zero)

        #expect(inbox.nextScan(at: .zero) == (code == .rootGone ? .at(nil) : .wait(until: nil)))
    }

    /// What Linux shows of a file on a share just after it was written may be what it was before.
    @Test func `what is written on a share is looked at again, and then no more`() throws {
        let inbox = FolderInbox()
        _ = inbox.nextScan(at: .zero)
        let (shared, other) = (try RelativePath(parsing: "share/a"), try RelativePath(parsing: "b"))
        func report(at time: MonotonicTime) {
            inbox.take(.changed([.item(shared), .item(other)]), at: time) { $0 == shared }
        }
        report(at: .zero)
        #expect(inbox.nextScan(at: .zero + .seconds(1)) == .at([other, shared]))
        // Written again: the time begins anew.
        report(at: .zero + .seconds(2))
        #expect(inbox.nextScan(at: .zero + .seconds(4)) == .at([other, shared]))
        #expect(inbox.nextScan(at: .zero + .seconds(4)) == .wait(until: .zero + .seconds(5)))
        #expect(inbox.nextScan(at: .zero + .seconds(5)) == .at([shared]))
        #expect(inbox.nextScan(at: .zero + .seconds(5)) == .wait(until: nil))
    }
}
