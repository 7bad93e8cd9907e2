import BlockExchange
import FileAccess
import Testing

@testable import FolderSync

@Suite struct FolderAgendaTests {
    private func path(_ text: String) throws -> RelativePath { try RelativePath(parsing: text) }

    /// An agenda whose first look and pull are done at time zero.
    private func settled(rescan: Duration? = nil) -> FolderAgenda {
        var agenda = FolderAgenda(rescanInterval: rescan)
        _ = agenda.nextLook(at: .zero)
        for _ in 0..<2 { _ = agenda.nextPull(at: .zero) }
        return agenda
    }

    @Test func `a folder is looked at whole before it is pulled, and then rests`() {
        var agenda = FolderAgenda(rescanInterval: nil)
        #expect(agenda.hasWork)
        let early = agenda.nextPull(at: .zero)
        #expect(early == .wait(until: nil))
        let look = agenda.nextLook(at: .zero)
        #expect(look == .at(nil))
        let pulls = [agenda.nextPull(at: .zero), agenda.nextPull(at: .zero)]
        #expect(pulls == [.now(nil), .wait(until: nil)])
        #expect(!agenda.hasWork)
    }

    @Test func `a pull that was taken is under way until the next is asked for, or the folder is halted`() {
        var agenda = settled()
        agenda.pullSoon(["a"], areAnnounced: true)
        var states = [agenda.isPulling]
        for _ in 0..<2 {
            _ = agenda.nextPull(at: .zero)
            states.append(agenda.isPulling)
        }
        #expect(states == [false, true, false])
        agenda.pullSoon()
        _ = agenda.nextPull(at: .zero)
        agenda.halted(at: .zero, pause: .seconds(60))
        #expect(!agenda.isPulling)
    }

    @Test func `changed names are looked at together, in order, and pulled after that`() throws {
        var agenda = settled()
        agenda.scan([try path("b"), try path("a/x")])
        agenda.scan([try path("a")])
        let looks = [agenda.nextLook(at: .seconds(1)), agenda.nextLook(at: .seconds(1))]
        #expect(looks == [.at([try path("a"), try path("a/x"), try path("b")]), .wait(until: nil)])
        let pull = agenda.nextPull(at: .seconds(1))
        #expect(pull == .now(["a", "a/x", "b"], unannounced: ["a", "a/x", "b"]))
    }

    @Test func `where names are gone is looked at when it is due, or with what comes before`() throws {
        var agenda = settled()
        agenda.scanGone([try path("old")], at: .milliseconds(500))
        var looks = [agenda.nextLook(at: .zero), agenda.nextLook(at: .milliseconds(500))]
        #expect(looks == [.wait(until: .milliseconds(500)), .at([try path("old")])])
        agenda.scanGone([try path("old")], at: .seconds(2))
        agenda.scan([try path("new")])
        looks = [agenda.nextLook(at: .seconds(1)), agenda.nextLook(at: .seconds(2))]
        #expect(looks == [.at([try path("new"), try path("old")]), .wait(until: nil)])
        agenda.scanGone([try path("old")], at: .seconds(4))
        agenda.scanEverything()
        looks = [agenda.nextLook(at: .seconds(3)), agenda.nextLook(at: .seconds(4))]
        #expect(looks == [.at(nil), .wait(until: nil)])
    }

    @Test func `what is reported is looked at with what is reported soon after`() throws {
        var agenda = settled()
        let isFirst = agenda.scanReported([try path("new")], at: .zero)
        #expect(isFirst && agenda.hasWork)
        let early = agenda.nextLook(at: .milliseconds(50))
        #expect(early == .wait(until: .milliseconds(100)))
        let isEarlier = agenda.scanReported([try path("old")], at: .milliseconds(50))
        #expect(!isEarlier)
        let pull = agenda.nextPull(at: .milliseconds(60))
        #expect(pull == .wait(until: nil))
        let looks = [
            agenda.nextLook(at: .milliseconds(149)), agenda.nextLook(at: .milliseconds(150)),
            agenda.nextLook(at: .milliseconds(160)),
        ]
        let both = [try path("new"), try path("old")]
        #expect(looks == [.wait(until: .milliseconds(150)), .at(both), .wait(until: nil)])
    }

    @Test func `what is reported all the time is looked at after a second`() throws {
        var agenda = settled()
        for number in 0..<20 {
            agenda.scanReported([try path("f\(number)")], at: .milliseconds(50 * number))
            let look = agenda.nextLook(at: .milliseconds(50 * number))
            #expect(look == .wait(until: min(.milliseconds(50 * number + 100), .seconds(1))))
        }
        let due = agenda.nextLook(at: .seconds(1))
        #expect(due == .at(try (0..<20).map { try path("f\($0)") }.sorted()))
        agenda.scanReported([try path("f")], at: .seconds(2))
        let next = agenda.nextLook(at: .seconds(2))
        #expect(next == .wait(until: .milliseconds(2100)), "the next begin again")
    }

    @Test func `so many reports wait for nothing`() throws {
        var agenda = settled()
        agenda.scanReported(try (0..<1500).map { try path("f\($0)") }, at: .zero)
        let isEarlier = agenda.scanReported([try path("f")], at: .milliseconds(10))
        #expect(isEarlier)
        let due = agenda.nextLook(at: .milliseconds(10))
        #expect(due == .at(try ((0..<1500).map { try path("f\($0)") } + [try path("f")]).sorted()))
    }

    @Test func `what others announced waits for the first report alone`() throws {
        var agenda = settled()
        agenda.scanReported([try path("a")], at: .zero)
        agenda.scanReported([try path("b")], at: .milliseconds(90))
        agenda.pullSoon(["c"], areAnnounced: true)
        agenda.scanReported([try path("d")], at: .milliseconds(95))
        let look = agenda.nextLook(at: .milliseconds(100))
        #expect(look == .at([try path("a"), try path("b"), try path("d")]))
        let pull = agenda.nextPull(at: .milliseconds(100))
        #expect(pull == .now(["a", "b", "c", "d"], unannounced: ["a", "b", "d"]))
        agenda.scanReported([try path("e")], at: .milliseconds(100))
        agenda.pullSoon(["f"], areAnnounced: false)
        agenda.scanReported([try path("e")], at: .milliseconds(150))
        let later = agenda.nextLook(at: .milliseconds(200))
        #expect(later == .wait(until: .milliseconds(250)), "what was found here waits for nobody")
    }

    @Test func `what changed in the index is pulled by name, unless anything may be needed`() {
        var agenda = settled()
        agenda.pullSoon(["b"], areAnnounced: true)
        agenda.pullSoon(["a", "b"], areAnnounced: true)
        agenda.pullSoon([String](), areAnnounced: true)
        var pulls = [agenda.nextPull(at: .zero), agenda.nextPull(at: .zero)]
        #expect(pulls == [.now(["a", "b"]), .wait(until: nil)])
        agenda.pullSoon(["a"], areAnnounced: true)
        agenda.pullSoon()
        agenda.pullSoon(["b"], areAnnounced: true)
        pulls = [agenda.nextPull(at: .zero), agenda.nextPull(at: .zero)]
        #expect(pulls == [.now(nil), .wait(until: nil)])
        agenda.pullSoon((0...FolderAgenda.pathLimit).map { "f\($0)" }, areAnnounced: true)
        let many = agenda.nextPull(at: .zero)
        #expect(many == .now(nil))
        agenda.pullSoon([String](), areAnnounced: true)
        #expect(!agenda.hasWork)
    }

    @Test func `names that no device announced are told apart, whichever came first`() throws {
        var agenda = settled()
        agenda.pullSoon(["a", "b"], areAnnounced: true)
        agenda.pullSoon(["b", "c"], areAnnounced: false)
        agenda.scan([try path("a"), try path("d")])
        _ = agenda.nextLook(at: .zero)
        agenda.pullSoon(["d"], areAnnounced: true)
        let pull = agenda.nextPull(at: .zero)
        #expect(pull == .now(["a", "b", "c", "d"], unannounced: ["c"]))
    }

    @Test func `too many names become a look at everything`() throws {
        var agenda = settled()
        agenda.scan(try (0...FolderAgenda.pathLimit).map { try path("f\($0)") })
        let look = agenda.nextLook(at: .seconds(1))
        #expect(look == .at(nil))
        #expect(agenda.dueScans.isEmpty)
    }

    @Test func `a name that waits is not held up by one that waits longer`() throws {
        var agenda = settled()
        agenda.scan([try path("a")], at: .seconds(3))
        agenda.scan([try path("b")], at: .seconds(600))
        var looks = [
            agenda.nextLook(at: .seconds(2)), agenda.nextLook(at: .seconds(3)), agenda.nextLook(at: .seconds(3)),
        ]
        #expect(looks == [.wait(until: .seconds(3)), .at([try path("a")]), .wait(until: .seconds(600))])
        // Nor does a second reason hold it up.
        agenda.scan([try path("b")], at: .seconds(700))
        looks = [agenda.nextLook(at: .seconds(600)), agenda.nextLook(at: .seconds(700))]
        #expect(looks == [.at([try path("b")]), .wait(until: nil)])
    }

    @Test func `too many names that wait are not kept, and become a look at everything when they are due`() throws {
        let limit = FolderAgenda.pathLimit
        let paths = try (0..<2 * limit).map { try path("f\($0)") }
        var (reported, later, gone) = (settled(), settled(), settled())
        // A whole scan of a large folder takes nothing off the agenda meanwhile.
        for first in stride(from: 0, to: paths.count, by: 500) {
            let some = paths[first..<first + 500]
            reported.scanReported(some, at: .zero)
            later.scan(some, at: .seconds(3))
            gone.scanGone(some, at: .seconds(3))
            #expect(reported.reported.paths.count <= limit)
            #expect(later.laterScans.due.count <= limit)
            #expect(gone.goneScans.paths.count <= limit)
        }
        let look = reported.nextLook(at: .zero)
        #expect(look == .at(nil))
        var looks = [later.nextLook(at: .seconds(2)), later.nextLook(at: .seconds(3)), later.nextLook(at: .seconds(3))]
        #expect(looks == [.wait(until: .seconds(3)), .at(nil), .wait(until: nil)])
        looks = [gone.nextLook(at: .seconds(2)), gone.nextLook(at: .seconds(3)), gone.nextLook(at: .seconds(3))]
        #expect(looks == [.wait(until: .seconds(3)), .at(nil), .wait(until: nil)])
    }

    @Test func `the next look comes after the interval, counted from the last`() {
        var agenda = settled(rescan: .seconds(60))
        var looks: [FolderAgenda.Look] = []
        for second in [1, 59, 60, 61] { looks.append(agenda.nextLook(at: .seconds(second))) }
        #expect(
            looks == [
                .wait(until: .seconds(60)), .wait(until: .seconds(60)), .at(nil), .wait(until: .seconds(120)),
            ])
    }

    @Test func `what failed is tried again later each time, and soon again after a success`() {
        var agenda = settled()
        var pauses: [Duration] = []
        var now: Duration = .zero
        for _ in 0..<10 {
            agenda.retryLater(at: now)
            guard case .wait(let due) = agenda.nextPull(at: now), let due else { break }
            pauses.append(due - now)
            now = due
            let pull = agenda.nextPull(at: now)
            #expect(pull == .now(nil))
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600].map { .seconds($0) })
        agenda.succeeded()
        agenda.retryLater(at: now)
        let pull = agenda.nextPull(at: now)
        #expect(pull == .wait(until: now + .seconds(5)))
    }

    @Test func `names still being written are looked at when they are due, not before`() throws {
        var agenda = settled()
        agenda.scan([try path("a")], at: .seconds(3))
        var looks: [FolderAgenda.Look] = []
        for second in [1, 3] { looks.append(agenda.nextLook(at: .seconds(second))) }
        #expect(looks == [.wait(until: .seconds(3)), .at([try path("a")])])
    }

    @Test func `a name that a look does not settle waits for the next try`() throws {
        var agenda = settled()
        let (a, b) = (try path("a"), try path("b"))
        var looks: [FolderAgenda.Look] = []
        agenda.doubt([a], at: .zero)
        looks.append(agenda.nextLook(at: .zero))
        agenda.retryLater(at: .zero)
        agenda.doubt([a, b], at: .zero)
        looks.append(agenda.nextLook(at: .zero))
        looks.append(agenda.nextLook(at: .zero))
        looks.append(agenda.nextLook(at: .seconds(10)))
        #expect(looks == [.at([a]), .at([b]), .wait(until: .seconds(10)), .at([a])])
        agenda.succeeded()
        agenda.doubt([a], at: .seconds(10))
        let look = agenda.nextLook(at: .seconds(10))
        #expect(look == .at([a]))
    }

    @Test func `a halted folder rests and is then looked at whole`() throws {
        var agenda = settled()
        agenda.scan([try path("a")])
        agenda.pullSoon()
        agenda.halted(at: .seconds(1), pause: .seconds(60))
        #expect(!agenda.hasWork)
        var looks: [FolderAgenda.Look] = []
        for second in [2, 61] { looks.append(agenda.nextLook(at: .seconds(second))) }
        #expect(looks == [.wait(until: .seconds(61)), .at(nil)])
    }

    @Test func `what is not selected is counted with what follows, and within a minute`() throws {
        var agenda = settled()
        agenda.countExtraneousSoon(at: .zero)
        agenda.countExtraneousSoon(at: .seconds(4))
        var looks = [
            agenda.nextLook(at: .seconds(4)), agenda.nextLook(at: .seconds(5)), agenda.nextLook(at: .seconds(5)),
        ]
        #expect(looks == [.wait(until: .seconds(5)), .countExtraneous, .wait(until: nil)])
        #expect(!agenda.hasWork)
        // What takes long is done less often.
        for (cost, pause) in [(Duration.seconds(1), 20), (.seconds(100), 50), (.milliseconds(1), 5)] {
            agenda.extraneousCounted(in: cost)
            agenda.countExtraneousSoon(at: .zero)
            looks = [agenda.nextLook(at: .zero), agenda.nextLook(at: .seconds(pause))]
            #expect(looks == [.wait(until: .seconds(pause)), .countExtraneous])
        }
        // A scan of everything counts, too.
        agenda.countExtraneousSoon(at: .zero)
        agenda.scanEverything()
        looks = [agenda.nextLook(at: .seconds(9)), agenda.nextLook(at: .seconds(9))]
        #expect(looks == [.at(nil), .wait(until: nil)])
    }

    @Test func `what is needed is counted once after a run of removals`() throws {
        var agenda = settled()
        #expect(!agenda.awaitsCount)
        for tenth in 0...20 { agenda.countNeedSoon(at: .milliseconds(tenth * 40)) }
        #expect(agenda.awaitsCount && !agenda.hasWork)
        let looks = [0, 1, 1].map { agenda.nextLook(at: .seconds($0)) }
        #expect(looks == [.wait(until: .seconds(1)), .countNeed, .wait(until: nil)])
        #expect(!agenda.awaitsCount)
        agenda.needCounted(in: .milliseconds(300))
        agenda.countNeedSoon(at: .seconds(2))
        #expect(agenda.nextLook(at: .seconds(7)) == .wait(until: .seconds(8)))
        #expect(agenda.nextLook(at: .seconds(8)) == .countNeed)
    }
}
