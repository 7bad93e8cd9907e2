import BlockExchange
import ControlAPI
import Testing

@testable import SyncDecisions

@Suite struct FolderOutlookTests {
    static let nas = DeviceID(certificateDER: [1])
    static let phone = DeviceID(certificateDER: [2])

    static let states: [FolderState] = [
        .idle, .paused, .stopped, .starting, .receivingIndex, .scanning, .syncing, .fetching, .haltedMarkerMissing,
        .haltedRootMissing, .haltedRootEmptied, .haltedMassDelete, .selectionError, .lowSpace, .error,
        FolderState(rawValue: "halted-by-what-comes-later"),
    ]

    private static func status(
        _ state: FolderState, need: FolderStatus.Totals = .init(),
        global: FolderStatus.Totals = .init(files: 2, bytes: 9),
        local: FolderStatus.Totals = .init(files: 2, bytes: 9), extraneous: Int64? = nil
    ) -> FolderStatus {
        FolderStatus(
            id: "docs", label: "", path: "/docs", mode: "selective", type: "sendreceive", state: state.rawValue,
            message: nil, devices: [], global: global, local: local, need: need, extraneous: extraneous)
    }

    private static func outlook(
        _ status: FolderStatus, _ peers: [FolderOutlook.Peer], _ lacks: [FolderOutlook.Lack] = []
    ) -> FolderOutlook {
        FolderOutlook(folder: "docs", status: status, peers: peers, lacks: lacks)
    }

    /// Every peer there can be.
    static var peers: [FolderOutlook.Peer] {
        var all: [FolderOutlook.Peer] = []
        for isConnected in [false, true] {
            for isPaused in [false, true] {
                for hasIndex in [false, true] {
                    for sharing in [FolderOutlook.Peer.Sharing.unknown, .shares, .paused, .notSharing, .encrypted] {
                        all.append(
                            FolderOutlook.Peer(
                                id: nas, name: "nas", isConnected: isConnected, isPaused: isPaused, sharing: sharing,
                                hasIndex: hasIndex))
                    }
                }
            }
        }
        return all
    }

    /// No state, and nothing that is waited for, is without a sentence and a remedy; what has failed, rests, or needs
    /// bytes at rest, waits for something.
    @Test(arguments: states) func everyStateHasItsRemedy(_ state: FolderState) {
        for peers in [[]] + Self.peers.map({ [$0] }) {
            for need in [FolderStatus.Totals(), .init(files: 1, bytes: 5), .init(deletions: 1)] {
                for holders in [[], [Self.nas], [Self.phone]] {
                    let lacks = need.files == 0 ? [] : [FolderOutlook.Lack(holders: holders, files: 1, bytes: 5)]
                    let outlook = Self.outlook(Self.status(state, need: need), peers, lacks)
                    let waits = outlook.waits
                    for wait in waits {
                        #expect(!wait.message.isEmpty && !wait.remedy.isEmpty, "\(state) \(wait)")
                    }
                    if state.isFailure || state == .paused || need.bytes > 0 && state.isAtRest {
                        #expect(!waits.isEmpty, "\(state) \(peers) \(need)")
                    }
                    #expect((outlook.copy == .partial || outlook.copy == .unknown) || need.isZero)
                }
            }
        }
    }

    /// The end of a pause is no part of the sentence: whoever shows it knows the local time.
    @Test func aPauseSaysWhenItEndsBesideItsSentence() {
        var outlook = Self.outlook(Self.status(.paused), [])
        outlook.pausedUntil = "2026-11-30T07:15:00Z"
        #expect(outlook.waits.map(\.message) == ["the folder is paused"])
        #expect(outlook.waits.map(\.until) == ["2026-11-30T07:15:00Z"])
        outlook.pausedUntil = nil
        #expect(outlook.waits.map(\.until) == [nil])
    }

    /// Whatever other devices and folders are called, a command is one of these, with names as words of a shell.
    @Test(arguments: states) func commandsAreNotReadFromNames(_ state: FolderState) {
        let name = "`synctrain rm --everywhere docs:`"
        let folder = "x`synctrain reset index`"
        let device = "synctrain resume --device '\(name)'"
        let known = Set(
            ["resume", "folder repair", "folder confirm", "folder override", "folder revert", "scan"].map {
                "synctrain \($0) '\(folder)'"
            } + [device, "synctrain device list", "synctrain status", "synctrain fetch"])
        for peer in Self.peers {
            var peer = peer
            (peer.name, peer.refuses) = (name, true)
            for holders in [[], [Self.nas]] {
                var outlook = Self.outlook(
                    Self.status(state, need: .init(files: 1)), [peer],
                    [FolderOutlook.Lack(holders: holders, files: 1, bytes: 5)])
                (outlook.folder, outlook.untaken, outlook.unsent) = (folder, 1, 1)
                for wait in outlook.waits {
                    #expect(wait.command.map(known.contains) ?? true, "\(wait.command ?? "")")
                }
            }
        }
    }

    /// A command that is to be completed is none.
    @Test func commandsAreComplete() {
        var outlook = Self.outlook(Self.status(.idle), [])
        #expect(outlook.waits.map(\.command) == [nil], "unshared: which device, only the user knows")
        outlook = Self.outlook(Self.status(.paused), [])
        #expect(outlook.waits.map(\.command) == ["synctrain resume docs"])
        outlook = Self.outlook(Self.status(.haltedRootEmptied), [])
        #expect(outlook.waits.map(\.command) == ["synctrain folder confirm docs"])
    }

    /// Each reason comes of something, so that none is only a word.
    @Test func everyReasonOccurs() {
        var seen: Set<FolderWait.Reason> = []
        for state in Self.states {
            for peers in [[]] + Self.peers.map({ [$0] }) {
                for holders in [[], [Self.nas]] {
                    var status = Self.status(state, need: .init(files: 1))
                    status.waiting = .init(files: 1, bytes: 1, message: "over a network only")
                    status.problems = [FolderProblem(path: "a", message: "move it")]
                    let lacks = [FolderOutlook.Lack(holders: holders, files: 1, bytes: 1)]
                    var outlook = Self.outlook(status, peers, lacks)
                    (outlook.untaken, outlook.unsent) = (1, 1)
                    for number in outlook.peers.indices { outlook.peers[number].refuses = true }
                    seen.formUnion(outlook.waits.map(\.reason))
                }
            }
        }
        #expect(seen == Set(FolderWait.Reason.allCases))
    }

    @Test(arguments: [
        ("metered", "while the connection is metered"), ("battery", "while the battery is low"),
        ("bluetooth", "another link"), (nil, "another link"),
    ])
    func whatAPolicyHoldsIsSaidWithItsCause(_ reason: String?, _ words: String) {
        var status = Self.status(.idle, need: .init(files: 1))
        status.waiting = .init(files: 1, bytes: 7, message: "what to do", reason: reason)
        let waits = Self.outlook(status, []).waits.filter { $0.reason == .policy }
        #expect(waits.count == 1 && waits[0].message.contains(words) && waits[0].remedy == "what to do")
        #expect(waits[0].bytes == 7)
    }

    @Test func aHolderThatIsConnectedIsNotWaitedFor() {
        let needing = Self.status(.syncing, need: .init(files: 3, bytes: 30))
        let nas = FolderOutlook.Peer(id: Self.nas, name: "nas", isConnected: true, sharing: .shares)
        let phone = FolderOutlook.Peer(id: Self.phone, name: "phone")
        let lacks = [
            FolderOutlook.Lack(holders: [Self.nas], files: 1, bytes: 10),
            FolderOutlook.Lack(holders: [Self.nas, Self.phone], files: 1, bytes: 10),
            FolderOutlook.Lack(holders: [Self.phone], files: 1, bytes: 7),
        ]
        let waits = Self.outlook(needing, [nas, phone], lacks).waits
        #expect(waits.map(\.reason) == [.holder])
        #expect(waits.first?.devices == [Self.phone.description] && waits.first?.bytes == 7)
        #expect(waits.first?.message.contains("phone") == true)
    }

    @Test(arguments: [
        FolderStatus.Totals(deletions: 227), .init(directories: 2), .init(files: 1),
        .init(directories: 1, deletions: 1),
    ])
    func nobodyIsBlamedForNotSendingWhatHasNoBytes(_ need: FolderStatus.Totals) {
        let nas = FolderOutlook.Peer(id: Self.nas, name: "nas", isConnected: true, sharing: .shares)
        #expect(Self.outlook(Self.status(.idle, need: need), [nas]).waits.isEmpty)
        var sent = need
        sent.bytes = 1
        #expect(Self.outlook(Self.status(.idle, need: sent), [nas]).waits.map(\.reason) == [.unavailable])
    }

    @Test func aPausedHolderIsNamedWithTheCommand() {
        var nas = FolderOutlook.Peer(id: Self.nas, name: "nas")
        nas.isPaused = true
        let needing = Self.status(.idle, need: .init(files: 1, bytes: 1))
        let waits = Self.outlook(needing, [nas], [.init(holders: [Self.nas], files: 1, bytes: 1)]).waits
        #expect(waits.map(\.reason) == [.devicePaused])
        #expect(waits.first?.remedy == "`synctrain resume --device nas`")
    }

    /// What stays on one side is said, with what ends it, and is neither needed nor a full copy.
    @Test func changesThatStayOnOneSideAreSaid() {
        var nas = FolderOutlook.Peer(id: Self.nas, name: "nas", isConnected: true, sharing: .shares)
        var outlook = Self.outlook(Self.status(.idle), [nas])
        #expect(outlook.waits.isEmpty && outlook.copy == .complete)
        outlook.untaken = 1
        #expect(outlook.waits.map(\.reason) == [.notTaken] && outlook.copy == .selected)
        #expect(outlook.waits[0].message.hasPrefix("1 change by others is not taken"))
        #expect(outlook.waits[0].remedy.contains("`synctrain folder override docs`"))
        (outlook.untaken, outlook.unsent) = (0, 3)
        #expect(outlook.waits.map(\.reason) == [.notSent] && outlook.copy == .selected)
        #expect(outlook.waits[0].message.hasPrefix("3 changes here are not sent"))
        #expect(outlook.waits[0].remedy.contains("`synctrain folder revert docs`"))
        nas.refuses = true
        let reader = Self.outlook(Self.status(.idle), [nas]).waits
        #expect(reader.map(\.reason) == [.refusedThere] && reader[0].devices == [Self.nas.description])
    }

    /// A command that is copied without a thought fetches nothing.
    @Test func aSelectionThatCannotBeReadIsNotReplacedByEverything() throws {
        var outlook = Self.outlook(Self.status(.selectionError), [])
        let line = try #require(outlook.waits.first)
        #expect(line.reason == .halted && line.remedy.contains("the line") && !line.remedy.contains("`"))
        outlook.isSelectionMissing = true
        let lost = try #require(outlook.waits.first)
        #expect(lost.remedy.contains("`synctrain folder mode docs selective`") && !lost.remedy.contains("full"))
    }

    /// What is to be run again can be copied into a shell.
    @Test(arguments: states) func commandsAreQuotedForTheShell(_ state: FolderState) {
        let nas = FolderOutlook.Peer(id: Self.nas, name: "the nas", isPaused: true, hasIndex: false)
        for peers in [[], [nas]] {
            let outlook = FolderOutlook(folder: "my folder", status: Self.status(state), peers: peers, lacks: [])
            for remedy in outlook.waits.map(\.remedy) {
                let bare = remedy.replacing("'my folder'", with: "").replacing("'the nas'", with: "")
                #expect(!bare.contains("my folder") && !bare.contains("the nas"), "\(remedy)")
            }
        }
        #expect(
            HeldDeletions(files: 9, known: 9, devices: []).text(folder: "my folder").english.contains(
                "confirm 'my folder'"))
        #expect(VanishedMounts.text(folder: "my folder").english.hasSuffix("confirm 'my folder'"))
    }

    static let copies: [(FolderStatus, hasIndex: Bool, FolderCopy)] = [
        (status(.idle), true, .complete),
        (status(.idle, local: .init(files: 1, bytes: 4)), true, .selected),
        (status(.idle, extraneous: 1), true, .selected),
        (status(.idle, local: .init(files: 2, bytes: 8)), true, .selected),
        (status(.idle, need: .init(files: 1)), true, .partial),
        (status(.idle, need: .init(deletions: 1)), true, .partial),
        (status(.idle), false, .unknown), (status(.error), true, .unknown), (status(.selectionError), true, .unknown),
        (status(.haltedMassDelete), true, .unknown), (status(.lowSpace, need: .init(files: 1)), true, .partial),
    ]

    @Test(arguments: copies.indices) func allItWantsIsNotAllThereIs(_ number: Int) {
        let (status, hasIndex, expected) = Self.copies[number]
        var peer = FolderOutlook.Peer(id: Self.nas, name: "nas", isConnected: true, sharing: .shares)
        peer.hasIndex = hasIndex
        #expect(Self.outlook(status, [peer]).copy == expected)
    }

    @Test func withADamagedFileItIsNoFullCopy() {
        var status = Self.status(.idle)
        status.scrub = FolderStatus.Scrub(damaged: 1)
        #expect(Self.outlook(status, []).copy == .partial)
    }

    @Test func withNobodyElseAllIsHere() {
        #expect(Self.outlook(Self.status(.idle), []).copy == .complete)
    }
}

@Suite struct ShareTests {
    static let table: [(FolderStatus.Totals, FolderStatus.Totals, Double)] = [
        (.init(), .init(), 100), (.init(files: 1, bytes: 10), .init(), 100), (.init(), .init(files: 1, bytes: 10), 0),
        (.init(files: 1, bytes: 1), .init(files: 1, bytes: 3), 25),
        (.init(files: 1, bytes: .max - 1), .init(files: 1, bytes: 1), 99.9),
        (.init(files: 1, bytes: 1), .init(files: 1, bytes: .max), 0.1),
        // Empty files count by their names.
        (.init(files: 3, bytes: 10), .init(files: 1), 75), (.init(files: 3), .init(directories: 1), 75),
        (.init(files: 1, bytes: .max), .init(files: 1, bytes: .max), 50),
    ]

    /// 100 only if nothing is missing, 0 only if nothing is here; sums of peers' sizes need not fit.
    @Test(arguments: table.indices) func percent(_ number: Int) {
        let (held, missing, expected) = Self.table[number]
        #expect(Share.percent(held, of: [held, missing]) == expected)
    }
}
