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
}
