import FileAccess
import SyncTestKit
import Testing

@testable import FolderWatcher

/// Events at times in milliseconds, and what is reported when.
struct CoalescerScenario: CustomTestStringConvertible, Sendable {
    let name: String
    let events: [(Int, FolderEvent)]
    /// Each at the first of the looked-at times (every 10 ms) at which it is given.
    let reports: [(Int, WatchReport)]

    init(_ name: String, _ events: [(Int, FolderEvent)], _ reports: [(Int, WatchReport)]) {
        self.name = name
        self.events = events
        self.reports = reports
    }

    var testDescription: String { name }
}

private func path(_ text: String) -> RelativePath {
    guard let path = RelativePath(text) else { preconditionFailure("\(text) is a path") }
    return path
}

private func item(_ text: String) -> WatchedChange { .item(path(text)) }
private func tree(_ text: String) -> WatchedChange { .tree(path(text)) }

@Suite struct EventCoalescerTests {
    static let a = path("a")
    static let b = path("b")

    static let scenarios: [CoalescerScenario] = [
        CoalescerScenario(
            "a file is reported after it was closed, not while it is written",
            [
                (0, .created(a, isComplete: false)), (10, .written(a)), (3000, .written(a)), (9000, .closed(a)),
            ],
            [(9100, .changed([item("a")]))]),
        CoalescerScenario(
            "permissions that change while a file is written do not end the wait",
            [(0, .written(a)), (50, .touched(a)), (2000, .closed(a))], [(2100, .changed([item("a")]))]),
        CoalescerScenario(
            "a file that is never closed is reported each minute",
            [(0, .written(a)), (30_000, .written(a)), (61_000, .written(a))],
            [(60_000, .changed([item("a")])), (121_000, .changed([item("a")]))]),
        CoalescerScenario(
            "a link is complete when it is made", [(0, .created(a, isComplete: true))],
            [(100, .changed([item("a")]))]),
        CoalescerScenario(
            "closed again and again: no later than half a second after the first",
            (0..<20).flatMap { [($0 * 60, .written(a)), ($0 * 60 + 10, .closed(a))] as [(Int, FolderEvent)] },
            [(510, .changed([item("a")])), (1050, .changed([item("a")])), (1250, .changed([item("a")]))]),
        CoalescerScenario(
            "both halves of a rename",
            [
                (0, .movedAway(a, cookie: 7, isDirectory: false)), (1, .movedHere(b, cookie: 7, isDirectory: false)),
            ],
            [(100, .renamed(from: a, to: b, isDirectory: false))]),
        CoalescerScenario(
            "moved out: gone", [(0, .movedAway(a, cookie: 7, isDirectory: false))], [(100, .changed([item("a")]))]),
        CoalescerScenario(
            "a directory moved out: gone with all below", [(0, .movedAway(a, cookie: 7, isDirectory: true))],
            [(100, .changed([tree("a")]))]),
        CoalescerScenario(
            "moved in: new", [(0, .movedHere(a, cookie: 7, isDirectory: false))], [(100, .changed([item("a")]))]),
        CoalescerScenario(
            "a directory moved in: new with all below", [(0, .movedHere(a, cookie: 7, isDirectory: true))],
            [(100, .changed([tree("a")]))]),
        CoalescerScenario(
            "other cookies do not pair",
            [
                (0, .movedAway(a, cookie: 7, isDirectory: false)), (0, .movedHere(b, cookie: 8, isDirectory: false)),
            ],
            [(100, .changed([item("a"), item("b")]))]),
        CoalescerScenario(
            "moved on and on is one rename",
            [
                (0, .movedAway(a, cookie: 1, isDirectory: false)), (0, .movedHere(b, cookie: 1, isDirectory: false)),
                (20, .movedAway(b, cookie: 2, isDirectory: false)),
                (20, .movedHere(path("c"), cookie: 2, isDirectory: false)),
            ],
            [(100, .renamed(from: a, to: path("c"), isDirectory: false)), (100, .changed([item("b")]))]),
        CoalescerScenario(
            "there and back is no rename",
            [
                (0, .movedAway(a, cookie: 1, isDirectory: false)), (0, .movedHere(b, cookie: 1, isDirectory: false)),
                (0, .movedAway(b, cookie: 2, isDirectory: false)), (0, .movedHere(a, cookie: 2, isDirectory: false)),
            ],
            [(100, .changed([item("a"), item("b")]))]),
        CoalescerScenario(
            "written aside and moved into place: the place changed, no rename",
            [
                (0, .created(path("x~"), isComplete: false)), (1, .written(path("x~"))), (2, .closed(path("x~"))),
                (3, .movedAway(path("x~"), cookie: 1, isDirectory: false)),
                (3, .movedHere(a, cookie: 1, isDirectory: false)),
            ],
            [(110, .changed([item("a"), item("x~")]))]),
        CoalescerScenario(
            "changed and then renamed: both, the rename first",
            [
                (0, .written(a)), (0, .closed(a)), (10, .movedAway(a, cookie: 1, isDirectory: false)),
                (10, .movedHere(b, cookie: 1, isDirectory: false)),
            ],
            [(100, .renamed(from: a, to: b, isDirectory: false)), (100, .changed([item("b")]))]),
        CoalescerScenario(
            "renamed while it is written: reported when closed",
            [
                (0, .written(a)), (10, .movedAway(a, cookie: 1, isDirectory: false)),
                (10, .movedHere(b, cookie: 1, isDirectory: false)), (900, .written(b)), (1000, .closed(b)),
            ],
            [(110, .renamed(from: a, to: b, isDirectory: false)), (1100, .changed([item("b")]))]),
        CoalescerScenario(
            "what waits below a renamed directory follows it",
            [
                (0, .closed(path("a/x/y"))), (10, .movedAway(a, cookie: 1, isDirectory: true)),
                (10, .movedHere(b, cookie: 1, isDirectory: true)),
            ],
            [(100, .renamed(from: a, to: b, isDirectory: true)), (100, .changed([item("b/x/y")]))]),
        CoalescerScenario(
            "a tree takes in what is below, but not what is being written",
            [
                (0, .closed(path("a/old"))), (5, .appeared(a)), (10, .closed(path("a/x"))),
                (10, .appeared(path("a/d"))),
                (10, .written(path("a/w"))), (500, .closed(path("a/w"))),
            ],
            [(100, .changed([tree("a")])), (600, .changed([item("a/w")]))]),
        CoalescerScenario(
            "files being fetched and versions are not reported",
            [
                (0, .created(path("d/.syncthing.x.tmp"), isComplete: false)), (0, .closed(path("d/.syncthing.x.tmp"))),
                (0, .closed(path(".stversions/x"))), (0, .closed(path(".stfolder/x"))),
                (0, .movedAway(path("d/.syncthing.x.tmp"), cookie: 1, isDirectory: false)),
                (0, .movedHere(path("d/x"), cookie: 1, isDirectory: false)),
            ],
            [(100, .changed([item("d/x")]))]),
        CoalescerScenario(
            "moved into the versions: gone",
            [
                (0, .movedAway(a, cookie: 1, isDirectory: false)),
                (0, .movedHere(path(".stversions/a"), cookie: 1, isDirectory: false)),
            ],
            [(100, .changed([item("a")]))]),
        CoalescerScenario(
            "the ignore file has a report of its own",
            [(0, .written(path(".stignore"))), (5, .closed(path(".stignore")))],
            [(110, .ignoreFileChanged)]),
        CoalescerScenario(
            "the ignore file moved into place",
            [
                (0, .created(path(".stignore~"), isComplete: true)),
                (0, .movedAway(path(".stignore~"), cookie: 1, isDirectory: false)),
                (0, .movedHere(path(".stignore"), cookie: 1, isDirectory: false)),
            ],
            [(100, .ignoreFileChanged), (100, .changed([item(".stignore~")]))]),
        CoalescerScenario(
            "the marker is gone", [(0, .removed(path(".stfolder"), isDirectory: true))], [(100, .markerChanged)]),
        CoalescerScenario(
            "the marker was moved away",
            [
                (0, .movedAway(path(".stfolder"), cookie: 1, isDirectory: true)),
                (0, .movedHere(a, cookie: 1, isDirectory: true)),
            ],
            [(100, .markerChanged), (100, .changed([tree("a")]))]),
        CoalescerScenario(
            "a rescan of all takes in what has settled, but not the ignore file or what is being written",
            [
                (0, .closed(a)), (0, .closed(path(".stignore"))), (0, .written(b)), (10, .lost(nil, .overflow)),
                (20, .closed(path("c"))), (1000, .closed(b)),
            ],
            [
                (100, .rescan(nil, .overflow)), (100, .ignoreFileChanged), (1100, .changed([item("b")])),
            ]),
        CoalescerScenario(
            "a rescan of a directory", [(0, .lost(a, .unmounted)), (0, .unnamed(in: nil))],
            [(100, .rescan(a, .unmounted)), (100, .changed([.children(of: nil)]))]),
        CoalescerScenario(
            "deleted, then made anew under the same name",
            [(0, .removed(a, isDirectory: false)), (5, .created(a, isComplete: false)), (10, .closed(a))],
            [(100, .changed([item("a")]))]),
        CoalescerScenario(
            "deleted while it was written", [(0, .written(a)), (500, .removed(a, isDirectory: false))],
            [(600, .changed([item("a")]))]),
    ]

    @Test(arguments: scenarios) func reports(_ scenario: CoalescerScenario) {
        var coalescer = EventCoalescer(settings: WatchSettings())
        var events = scenario.events[...]
        var reports: [(Int, WatchReport)] = []
        for time in stride(from: 0, through: 200_000, by: 10) {
            while let (at, event) = events.first, at <= time {
                coalescer.note(event, at: .milliseconds(at))
                events.removeFirst()
            }
            reports += coalescer.take(at: .milliseconds(time)).map { (time, $0) }
            if events.isEmpty, coalescer.nextDue == nil { break }
        }
        #expect(reports.map(\.1) == scenario.reports.map(\.1))
        #expect(reports.map(\.0) == scenario.reports.map(\.0))
        #expect(coalescer.pendingCount == 0)
    }

    @Test func nothingIsDueBeforeItSaysSo() throws {
        var coalescer = EventCoalescer(settings: WatchSettings())
        #expect(coalescer.nextDue == nil)
        coalescer.note(.closed(Self.a), at: .seconds(5))
        let due = try #require(coalescer.nextDue)
        #expect(due == .seconds(5) + .milliseconds(100))
        #expect(coalescer.take(at: due - .nanoseconds(1)).isEmpty)
        #expect(coalescer.take(at: due) == [.changed([.item(Self.a)])])
        #expect(coalescer.nextDue == nil)
    }

    @Test func knowsWhatIsBeingWritten() {
        var coalescer = EventCoalescer(settings: WatchSettings())
        coalescer.note(.written(Self.a), at: .zero)
        #expect(coalescer.isBeingWritten(Self.a))
        #expect(!coalescer.isBeingWritten(Self.b))
        coalescer.note(.closed(Self.a), at: .zero)
        #expect(!coalescer.isBeingWritten(Self.a))
    }

    /// Each changed name is reported after its last change, by itself or by what covers it, and memory is bounded.
    @Test(arguments: [1, 2]) func burstsAreBoundedAndNothingIsMissed(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var settings = WatchSettings()
        settings.pendingLimit = 1000
        var coalescer = EventCoalescer(settings: settings)
        var owed: Set<RelativePath> = []
        var most = 0
        var now = Duration.zero
        let directories = seed == 1 ? 3 : 40_000
        for index in 0..<100_000 {
            let name = path("d\(random.int(0...directories))/e\(random.int(0...2))/f\(index % 30_000)")
            switch random.int(0...9) {
            case 0: coalescer.note(.removed(name, isDirectory: false), at: now)
            case 1: coalescer.note(.movedAway(name, cookie: UInt32(index), isDirectory: false), at: now)
            case 2: coalescer.note(.created(name, isComplete: true), at: now)
            default:
                coalescer.note(.written(name), at: now)
                coalescer.note(.closed(name), at: now)
            }
            owed.insert(name)
            most = max(most, coalescer.pendingCount)
            now += .microseconds(random.int(0...40))
            if random.isOne(in: 5000) { settle(coalescer.take(at: now), &owed) }
        }
        while let due = coalescer.nextDue {
            now = max(now, due)
            settle(coalescer.take(at: now), &owed)
        }
        #expect(owed.isEmpty)
        #expect(most <= settings.pendingLimit + 1)
        #expect(coalescer.pendingCount == 0)
    }

    /// What a report covers is owed no more; what is owed was not changed after the report, by construction.
    private func settle(_ reports: [WatchReport], _ owed: inout Set<RelativePath>) {
        guard !reports.isEmpty else { return }
        let coverage = Coverage(reports)
        owed = owed.filter { !coverage.covers($0) }
    }

    @Test func aBurstOfRenamesIsBounded() {
        var settings = WatchSettings()
        settings.pendingLimit = 1000
        var coalescer = EventCoalescer(settings: settings)
        var most = 0
        for index in 0..<100_000 {
            let cookie = UInt32(index)
            coalescer.note(.movedAway(path("from/\(index)"), cookie: cookie, isDirectory: false), at: .zero)
            coalescer.note(.movedHere(path("to/\(index)"), cookie: cookie, isDirectory: false), at: .zero)
            most = max(most, coalescer.pendingCount)
        }
        #expect(most <= settings.pendingLimit + 2)
        let coverage = Coverage(coalescer.take(at: .seconds(10)))
        for index in stride(from: 0, to: 100_000, by: 777) {
            #expect(coverage.covers(path("from/\(index)")) && coverage.covers(path("to/\(index)")))
        }
    }

    @Test func degradesToDirectoriesFirst() {
        var settings = WatchSettings()
        settings.pendingLimit = 100
        var coalescer = EventCoalescer(settings: settings)
        for index in 0..<101 { coalescer.note(.closed(path("d/e/\(index)")), at: .zero) }
        coalescer.note(.closed(path(".stignore")), at: .zero)
        #expect(
            coalescer.take(at: .seconds(1)) == [.ignoreFileChanged, .changed([.children(of: path("d/e"))])])
        for index in 0..<101 { coalescer.note(.closed(path("d/\(index)/x")), at: .seconds(2)) }
        #expect(coalescer.take(at: .seconds(3)) == [.changed([tree("d")])])
        for index in 0..<101 { coalescer.note(.closed(path("\(index)/x")), at: .seconds(4)) }
        coalescer.note(.closed(path(".stignore")), at: .seconds(4))
        #expect(coalescer.take(at: .seconds(5)) == [.rescan(nil, .tooManyChanges), .ignoreFileChanged])
    }
}
