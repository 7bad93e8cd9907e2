import BlockExchange
import FileAccess
import Testing

@testable import SyncAgent

@Suite struct FolderAgendaTests {
    private func path(_ text: String) throws -> RelativePath { try RelativePath(parsing: text) }

    /// An agenda whose first scan and pull are done at time zero.
    private func settled(rescan: Duration? = nil) -> FolderAgenda {
        var agenda = FolderAgenda(rescanInterval: rescan)
        _ = agenda.next(at: .zero)
        _ = agenda.next(at: .zero)
        return agenda
    }

    @Test func `a folder is looked at whole and pulled first, and then rests`() {
        var agenda = FolderAgenda(rescanInterval: nil)
        #expect(agenda.hasWork)
        var steps: [FolderAgenda.Step] = []
        for _ in 0..<3 { steps.append(agenda.next(at: .zero)) }
        #expect(steps == [.scan(nil), .pull, .wait(until: nil)])
        #expect(!agenda.hasWork)
    }

    @Test func `changed names are looked at together, in order, before the next pull`() throws {
        var agenda = settled()
        agenda.pullSoon()
        agenda.scan([try path("b"), try path("a/x")])
        agenda.scan([try path("a")])
        var steps: [FolderAgenda.Step] = []
        for _ in 0..<3 { steps.append(agenda.next(at: .seconds(1))) }
        #expect(
            steps == [.scan([try path("a"), try path("a/x"), try path("b")]), .pull, .wait(until: nil)])
    }

    @Test func `too many names become a look at everything`() throws {
        var agenda = settled()
        agenda.scan(try (0...FolderAgenda.pathLimit).map { try path("f\($0)") })
        let step = agenda.next(at: .seconds(1))
        #expect(step == .scan(nil))
        #expect(agenda.dueScans.isEmpty)
    }

    @Test func `the next look comes after the interval, counted from the last`() {
        var agenda = settled(rescan: .seconds(60))
        var steps: [FolderAgenda.Step] = []
        for second in [1, 59, 60, 60, 61] { steps.append(agenda.next(at: .seconds(second))) }
        #expect(
            steps == [
                .wait(until: .seconds(60)), .wait(until: .seconds(60)), .scan(nil), .pull, .wait(until: .seconds(120)),
            ])
    }

    @Test func `what failed is tried again later each time, and soon again after a success`() {
        var agenda = settled()
        var pauses: [Duration?] = []
        var now: Duration = .zero
        for _ in 0..<10 {
            agenda.retryLater(at: now)
            guard case .wait(let due) = agenda.next(at: now), let due else { break }
            pauses.append(due - now)
            now = due
            let step = agenda.next(at: now)
            #expect(step == .pull)
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600].map { .seconds($0) })
        agenda.succeeded()
        agenda.retryLater(at: now)
        let step = agenda.next(at: now)
        #expect(step == .wait(until: now + .seconds(5)))
    }

    @Test func `names still being written are looked at when they are due, not before`() throws {
        var agenda = settled()
        agenda.scan([try path("a")], at: .seconds(3))
        var steps: [FolderAgenda.Step] = []
        for second in [1, 3] { steps.append(agenda.next(at: .seconds(second))) }
        #expect(steps == [.wait(until: .seconds(3)), .scan([try path("a")])])
    }

    @Test func `a halted folder rests and is then looked at whole`() throws {
        var agenda = settled()
        agenda.scan([try path("a")])
        agenda.pullSoon()
        agenda.halted(at: .seconds(1), pause: .seconds(60))
        #expect(!agenda.hasWork)
        var steps: [FolderAgenda.Step] = []
        for second in [2, 61] { steps.append(agenda.next(at: .seconds(second))) }
        #expect(steps == [.wait(until: .seconds(61)), .scan(nil)])
    }
}
