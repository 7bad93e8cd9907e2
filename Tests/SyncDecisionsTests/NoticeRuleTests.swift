import ControlAPI
import Phrases
import Testing

@testable import SyncDecisions

struct NoticeRuleTests {
    private typealias Folder = NoticeFacts.Folder
    private typealias Stranger = NoticeFacts.Stranger

    private static let large: Int64 = 64 << 20

    private func folder(
        _ id: String, conflicts: Int64? = 0, halt: String? = nil, missing: Int64? = 0, ready: Bool = true
    ) -> NoticeFacts.Folder {
        Folder(
            id: id, name: id.capitalized, conflicts: conflicts, halt: halt.map { "\($0)" }, missingBytes: missing,
            isReady: ready)
    }

    /// What is told at each of these moments, as `summary` each.
    private func told(_ moments: [(Int64, NoticeFacts)], _ rule: NoticeRule = NoticeRule()) -> [[String]] {
        var rule = rule
        return moments.map { now, facts in rule.notices(for: facts, at: now).notices.map(\.summary) }
    }

    // MARK: conflicts

    @Test func newConflictsAreOneNotice() {
        var rule = NoticeRule()
        func ask(_ now: Int64, _ a: Int64?, _ b: Int64?) -> [Notice] {
            rule.notices(
                for: NoticeFacts(folders: [folder("photos", conflicts: a), folder("music", conflicts: b)]), at: now
            ).notices
        }
        #expect(ask(0, 4, nil).isEmpty, "what was there before was told before")
        #expect(ask(1, 4, 2).isEmpty, "nobody had counted these")
        #expect(ask(2, 5, 2).map(\.summary) == ["1 new conflict in Photos"])
        #expect(ask(10, 6, 2).isEmpty, "soon after")
        #expect(ask(20, 7, 4).isEmpty)
        #expect(ask(62, 7, 4).map(\.summary) == ["4 new conflicts in Photos and Music"])
        #expect(ask(200, 7, 4).isEmpty)
        #expect(ask(201, 3, 4).isEmpty, "resolved")
        #expect(ask(300, 3, 4).isEmpty)
    }

    /// One that comes and is resolved before it was told of is not told of.
    @Test func conflictsThatAreResolvedAreNotTold() {
        let counts: [Int64] = [0, 1, 3, 1, 1]
        let told = told(
            zip([0, 1, 10, 20, 70], counts).map { ($0, NoticeFacts(folders: [folder("a", conflicts: $1)])) })
        #expect(told == [[], ["1 new conflict in A"], [], [], []])
    }

    @Test func theNextTimeIsSaid() {
        var rule = NoticeRule()
        func after(_ now: Int64, _ count: Int64) -> Int64? {
            rule.notices(for: NoticeFacts(folders: [folder("a", conflicts: count)]), at: now).after
        }
        #expect(after(0, 0) == nil)
        #expect(after(1, 1) == nil)
        #expect(after(11, 2) == 50)
        #expect(after(60, 2) == 1)
        #expect(after(61, 2) == nil)
    }

    // MARK: halts

    @Test func foldersThatStopAreTold() {
        let (fine, halted) = (folder("a"), folder("a", halt: "The root is missing."))
        var rule = NoticeRule()
        let first = rule.notices(for: NoticeFacts(folders: [halted]), at: 0).notices
        #expect(first == [Notice(.halted, "A has stopped syncing", "The root is missing.")], "also at the start")
        #expect(first.map(\.isUrgent) == [true])
        #expect(rule.notices(for: NoticeFacts(folders: [halted]), at: 1000).notices.isEmpty, "once")
        #expect(rule.notices(for: NoticeFacts(folders: [fine]), at: 1001).notices.isEmpty)
        #expect(rule.notices(for: NoticeFacts(folders: [halted]), at: 1002).notices.count == 1)
        // It goes on before it is told of.
        #expect(rule.notices(for: NoticeFacts(folders: [fine]), at: 1003).notices.isEmpty)
        #expect(rule.notices(for: NoticeFacts(folders: [halted]), at: 1004).after == 58)
        #expect(rule.notices(for: NoticeFacts(folders: [fine]), at: 1005).after == nil)
        #expect(rule.notices(for: NoticeFacts(folders: [fine]), at: 1100).notices.isEmpty)
    }

    @Test func manyAreFoldedIntoOne() {
        let folders = ["a", "b", "c", "d", "e"].map { folder($0, halt: "x") }
        #expect(told([(0, NoticeFacts(folders: folders))]) == [["A, B, C and 2 others have stopped syncing"]])
        #expect(
            told([(0, NoticeFacts(folders: Array(folders.prefix(4))))]) == [
                ["A, B, C and 1 other have stopped syncing"]
            ])
        #expect(told([(0, NoticeFacts(folders: Array(folders.prefix(3))))]) == [["A, B and C have stopped syncing"]])
    }

    // MARK: devices

    @Test func devicesThatWantToConnectAreTold() {
        func facts(_ ids: String...) -> NoticeFacts {
            NoticeFacts(strangers: ids.map { Stranger(id: $0, name: $0 == "NAMELESS-DEVICE" ? "" : "the \($0)") })
        }
        #expect(
            told([
                (0, facts("old")), (1, facts("old", "nas")), (5, facts("old", "nas", "phone")),
                (6, facts("old", "nas")),
                (70, facts("old", "nas")), (71, facts("old", "NAMELESS-DEVICE")), (200, facts()), (300, facts("nas")),
            ]) == [
                [], ["the nas wants to connect"], [], [], [], ["NAMELES wants to connect"], [],
                ["the nas wants to connect"],
            ])
    }

    /// A notice is shown in the language of the desktop, names as they are.
    @Test func aNoticeIsInTheLanguageOfTheDesktop() throws {
        let german = try Translation(
            document: Array(
                #"{"language":"de","name":"Deutsch","decimal":",","texts":{"{1} new conflict in {2}":["{1} neuer Konflikt in {2}","{1} neue Konflikte in {2}"],"{1} and {2}":"{1} und {2}","Both versions are kept. Choose one under Attention on the page, or with `synctrain conflicts`.":"Beide."}}"#
                    .utf8))
        var rule = NoticeRule()
        _ = rule.notices(for: NoticeFacts(folders: [folder("a"), folder("b")]), at: 0)
        let facts = NoticeFacts(folders: [folder("a", conflicts: 2), folder("b", conflicts: 1)])
        let notice = try #require(rule.notices(for: facts, at: 1).notices.first)
        #expect(notice.shown(in: german) == ("3 neue Konflikte in A und B", "Beide."))
        #expect(notice.summary == "3 new conflicts in A and B")
    }

    /// Names are of anybody.
    @Test func namesOfOthersAreCleaned() {
        let name = "n\u{202E}as\n\u{7}<b>" + String(repeating: "x", count: 100)
        var rule = NoticeRule()
        _ = rule.notices(for: NoticeFacts(), at: 0)
        let notice = rule.notices(for: NoticeFacts(strangers: [Stranger(id: "ID", name: name)]), at: 1).notices.first
        #expect(notice?.summary == "nas  <b>" + String(repeating: "x", count: 51) + "… wants to connect")
        #expect(NoticeText.escaped("a < b & <i>c</i>") == "a &lt; b &amp; &lt;i&gt;c&lt;/i&gt;")
        let marked = NoticeText.escaped("<\u{338}a href='x'>\u{301}&\u{301}\u{0D4E}<b")
        #expect(marked.utf8.elementsEqual("&lt;\u{338}a href='x'&gt;\u{301}&amp;\u{301}\u{0D4E}&lt;b".utf8))
    }

    // MARK: ready

    @Test(
        arguments: [
            // Little, and soon here.
            ([(0, 0), (1, 1000), (60, 0)], 0),
            // Much.
            ([(0, 0), (1, large), (60, 0)], 1),
            // Little that took long: the other device was not there.
            ([(0, 0), (1, 1000), (130, 0)], 1),
            // Much at a time, little in the end.
            ([(0, 0), (1, large), (2, 10), (3, 0)], 1),
            // Missing when the agent started.
            ([(0, large), (10, 0)], 1),
            // Twice within ten minutes.
            ([(0, large), (10, 0), (20, large), (30, 0), (40, 0)], 1),
            ([(0, large), (10, 0), (20, large), (30, 0), (610, 0)], 2),
            // It is not ready any more when it may be told.
            ([(0, large), (10, 0), (20, large), (30, 0), (40, 1), (610, 1)], 1),
        ] as [([(Int64, Int64)], Int)])
    func beingReadyIsToldAfterMuchOrLong(moments: [(Int64, Int64)], count: Int) {
        let told = told(
            moments.map { ($0, NoticeFacts(folders: [folder("a", missing: $1, ready: $1 == 0), folder("b")])) })
        #expect(told.flatMap { $0 } == Array(repeating: "Ready for the train", count: count))
    }

    @Test func whatIsNotKnownIsNotReady() {
        let unknown = NoticeFacts(folders: [folder("a", missing: nil, ready: false)])
        let ready = NoticeFacts(folders: [folder("a")])
        #expect(told([(0, unknown), (500, ready)]) == [[], []], "an agent that starts has not looked yet")
        let missing = NoticeFacts(folders: [folder("a", missing: Self.large, ready: false)])
        #expect(told([(0, missing), (10, unknown), (20, ready)]) == [[], [], ["Ready for the train"]])
        #expect(told([(0, missing), (10, NoticeFacts())]) == [[], []], "nor is nothing at all")
    }

    // MARK: of the status

    @Test func factsAreOfTheStatus() {
        func status(_ state: String, need: Int64 = 0, incomplete: Bool = false) -> FolderStatus {
            FolderStatus(
                id: "f", label: "", path: "/f", mode: "full", type: "sendreceive", state: state, message: "Why.",
                devices: [], global: .init(), local: .init(), need: .init(files: need, bytes: need), conflicts: 2,
                isIncomplete: incomplete)
        }
        func facts(_ status: FolderStatus) -> NoticeFacts.Folder { NoticeFacts([status], []).folders[0] }
        #expect(facts(status("idle")) == Folder(id: "f", name: "f", conflicts: 2))
        #expect(
            facts(status("syncing", need: 5))
                == Folder(id: "f", name: "f", conflicts: 2, missingBytes: 5, isReady: false))
        #expect(!facts(status("receiving-index")).isReady && facts(status("scanning")).missingBytes == nil)
        #expect(!facts(status("idle", incomplete: true)).isReady)
        #expect(facts(status("halted-root-missing")).halt?.english == "Why.")
        #expect(!facts(status("low-space", need: 1)).isReady && facts(status("low-space")).halt == nil)
    }
}
