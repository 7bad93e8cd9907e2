import Cryptography
import SyncTestKit
import Testing

@testable import BlockExchange

/// Two devices that exchange indexes over a link that delivers in order and breaks anywhere, in random orders.
@Suite struct IndexExchangeOrderTests {
    @Test(arguments: 0..<400) func bothEndWithEachOthersWholeIndex(seed: Int) throws {
        var world = World(seed: UInt64(seed))
        try world.run(steps: 120)
        try world.settle()
    }
}

/// A copy of another device's index: what a store holds.
private struct Copy: Equatable {
    var id = IndexID.none
    var last: Int64 = 0
    /// The entries, each with the index that it is of; the receiver cannot know that.
    var entries: [Int64: IndexID] = [:]

    var position: IndexPosition? { id == .none ? nil : IndexPosition(indexID: id, sequence: last) }

    mutating func settle(_ settlement: IndexExchange.Settlement) {
        let id = settlement.position.indexID
        if settlement.namesWhatIsStored {
            self.id = id
        } else if id != self.id || id == .none {
            self = Copy(id: id)
        }
    }

    mutating func store(_ batch: IndexBatch, of index: IndexID) {
        if batch.isFullIndex, batch.isFirst { self = Copy(id: id) }
        for file in batch.files {
            entries[file.sequence] = index
            last = max(last, file.sequence)
        }
    }
}

private struct World {
    private static let folders = [FolderID("a"), FolderID("b")]

    private enum Message {
        case config(ClusterConfig)
        /// The index that it is of is not on the wire.
        case index(IndexBatch, of: IndexID)
    }

    /// An event that a device is at, with what is left to do of it.
    private struct Work {
        var actions: [IndexExchange.Action]
    }

    /// What happened, for who looks for the reason of a failure.
    private var trace: [String] = []

    private struct End {
        let id: DeviceID
        var machine: IndexExchange
        var terms: [FolderID: IndexExchange.Terms] = [:]
        /// Its own indexes, whose entries are 1 to the sequence.
        var own: [FolderID: IndexPosition] = [:]
        var copies: [FolderID: Copy] = [:]
        var inbox: [Message] = []
        var work: Work?
        var isReshared = false
        var hasAnnounced = false
        /// What it said last that it shares, and when it took that back.
        var announced: Set<FolderID> = []

        func facts() -> [FolderID: IndexExchange.Facts] {
            var facts: [FolderID: IndexExchange.Facts] = [:]
            for (folder, terms) in terms where terms == .open {
                guard let own = own[folder] else { continue }
                facts[folder] = IndexExchange.Facts(own: own, peers: copies[folder]?.position)
            }
            return facts
        }

        func config(for peer: DeviceID) -> ClusterConfig {
            var config = ClusterConfig()
            for folder in World.folders {
                guard let terms = terms[folder], terms == .open || terms == .paused, let own = own[folder] else {
                    continue
                }
                let known = copies[folder]?.position
                config.folders.append(
                    ClusterConfig.Folder(
                        id: folder, stopReason: terms == .paused ? 1 : 0,
                        devices: [
                            ClusterConfig.Device(id: id, maxSequence: own.sequence, indexID: own.indexID),
                            ClusterConfig.Device(
                                id: peer, maxSequence: known?.sequence ?? 0, indexID: known?.indexID ?? .none),
                        ]))
            }
            return config
        }
    }

    private var random: SeededGenerator
    private var ends: [End]
    private var lastIndexID: UInt64 = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let ids = [DeviceID(digest: SHA256.digest([0])), DeviceID(digest: SHA256.digest([1]))]
        ends = [
            End(id: ids[0], machine: IndexExchange(local: ids[0], peer: ids[1])),
            End(id: ids[1], machine: IndexExchange(local: ids[1], peer: ids[0])),
        ]
        for end in 0...1 {
            for folder in Self.folders where Bool.random(using: &random) { share(end, folder, .open) }
        }
        connect()
    }

    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            let end = Int.random(in: 0...1, using: &random)
            let folder = Self.folders[Int.random(in: 0...1, using: &random)]
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<3: grow(end, folder)
            case 3: share(end, folder, .open)
            case 4: share(end, folder, [.paused, .withheld, .open].randomElement(using: &random) ?? .open)
            case 5: remove(end, folder)
            case 6: if Int.random(in: 0..<3, using: &random) == 0 { connect() }
            case 7..<11: feed(end, folder)
            default: try work(end)
            }
            check()
        }
    }

    /// Both share everything and do all that is left to do; nothing breaks any more.
    mutating func settle() throws {
        for end in 0...1 { for folder in Self.folders { share(end, folder, .open) } }
        for _ in 0..<1000 {
            for end in 0...1 {
                try work(end)
                for folder in Self.folders { feed(end, folder) }
            }
        }
        for end in 0...1 {
            #expect(ends[end].inbox.isEmpty && ends[end].work == nil)
            for folder in Self.folders {
                let own = try #require(ends[1 - end].own[folder])
                let copy = ends[end].copies[folder] ?? Copy()
                #expect(copy.id == own.indexID || own.sequence == 0)
                #expect(copy.last == own.sequence)
                #expect(copy.entries.keys.sorted() == (own.sequence > 0 ? Array(1...own.sequence) : []))
                #expect(copy.entries.values.allSatisfy { $0 == own.indexID })
                if copy.entries.count != own.sequence || copy.id != own.indexID {
                    print("\(folder) of \(1 - end) at \(end)\n" + trace.joined(separator: "\n"))
                }
            }
        }
    }

    /// What is true after every step.
    private func check() {
        for end in ends {
            for folder in end.machine.fedFolders {
                #expect(end.hasAnnounced && end.machine.peerConfig?.folders.contains { $0.id == folder } == true)
                #expect(end.terms[folder] == .open)
                #expect(end.machine.peerConfig?.folders.first { $0.id == folder }?.stopReason == 0)
            }
            // Whatever is known under a name has no gap: a link that breaks now makes no hole.
            for (folder, copy) in end.copies where copy.id != .none {
                let ofIt = copy.entries.filter { $0.value == copy.id }.keys.sorted()
                #expect(ofIt == Array(1...max(1, copy.last)).filter { $0 <= copy.last }, "\(folder)")
                #expect(ofIt.count == copy.entries.count)
            }
        }
    }

    // MARK: steps

    private mutating func connect() {
        trace.append("a new link")
        for end in 0...1 {
            ends[end].machine = IndexExchange(local: ends[end].id, peer: ends[1 - end].id)
            ends[end].machine.share(ends[end].terms)
            ends[end].inbox = []
            ends[end].work = nil
            ends[end].isReshared = false
            ends[end].hasAnnounced = false
        }
        for end in 0...1 { announce(end) }
    }

    private mutating func announce(_ end: Int) {
        let config = ends[end].config(for: ends[1 - end].id)
        let words = config.folders.map { folder in
            "\(folder.id)\(folder.stopReason == 0 ? "" : " paused")"
                + folder.devices.map { " \($0.indexID.rawValue):\($0.maxSequence)" }.joined()
        }
        trace.append("\(end) announces \(words.joined(separator: ", "))")
        ends[1 - end].inbox.append(.config(config))
        ends[end].announced = Set(config.folders.filter { $0.stopReason == 0 }.map(\.id))
        ends[end].hasAnnounced = true
    }

    private mutating func grow(_ end: Int, _ folder: FolderID) {
        ends[end].own[folder]?.sequence += Int64.random(in: 1...5, using: &random)
    }

    /// The folder is shared in that way; one that was not there begins a new index.
    private mutating func share(_ end: Int, _ folder: FolderID, _ terms: IndexExchange.Terms) {
        if ends[end].own[folder] == nil {
            lastIndexID += 1
            ends[end].own[folder] = IndexPosition(indexID: IndexID(rawValue: lastIndexID), sequence: 3)
        }
        ends[end].terms[folder] = terms
        trace.append("\(end): \(folder) is \(terms)")
        reshared(end)
    }

    /// The folder is removed with its index and all that is known, or no longer shared only.
    private mutating func remove(_ end: Int, _ folder: FolderID) {
        if Bool.random(using: &random) {
            ends[end].own[folder] = nil
            ends[end].copies[folder] = nil
        }
        ends[end].terms[folder] = nil
        trace.append("\(end): \(folder) is removed\(ends[end].own[folder] == nil ? " with its index" : "")")
        reshared(end)
    }

    private mutating func reshared(_ end: Int) {
        ends[end].machine.share(ends[end].terms)
        ends[end].isReshared = true
    }

    /// Does the next thing that the device is at, or takes the next event.
    private mutating func work(_ end: Int) throws {
        if let work = ends[end].work {
            guard let action = work.actions.first else {
                ends[end].machine.performed()
                ends[end].work = nil
                return
            }
            ends[end].work?.actions.removeFirst()
            perform(action, end)
            return
        }
        if ends[end].isReshared {
            ends[end].isReshared = false
            ends[end].work = Work(actions: try ends[end].machine.reshared(ends[end].facts()))
            return
        }
        guard let message = ends[end].inbox.first else { return }
        ends[end].inbox.removeFirst()
        switch message {
        case .config(let config):
            ends[end].work = Work(actions: try ends[end].machine.heard(config, ends[end].facts()))
        case .index(let batch, let index):
            let reception = ends[end].machine.received(batch, terms: ends[end].terms[batch.folder])
            let sequences = batch.files.map(\.sequence)
            trace.append("\(end) has \(reception) for \(batch.folder) \(sequences) of \(index.rawValue)")
            switch reception {
            case .store: ends[end].copies[batch.folder, default: Copy()].store(batch, of: index)
            case .storeUnnamed:
                ends[end].copies[batch.folder, default: Copy()].id = .none
                ends[end].copies[batch.folder]?.store(batch, of: index)
            case .drop: ends[end].copies[batch.folder]?.id = .none
            case .skip: break
            }
        }
    }

    private mutating func perform(_ action: IndexExchange.Action, _ end: Int) {
        switch action {
        case .announce: announce(end)
        // A folder that was removed meanwhile has no store.
        case .settle(let settlement) where ends[end].own[settlement.folder] != nil:
            trace.append("\(end) settles \(settlement.folder) as \(settlement.position.indexID.rawValue)")
            ends[end].copies[settlement.folder, default: Copy()].settle(settlement)
        case .settle, .offer, .release, .distrust: break
        }
    }

    /// Sends the next message of a feed, which may have been read before something else happened.
    private mutating func feed(_ end: Int, _ folder: FolderID) {
        guard let feed = ends[end].machine.feed(of: folder), let own = ends[end].own[folder],
            feed.indexID == own.indexID, feed.after < own.sequence
        else { return }
        let last = min(own.sequence, feed.after + Int64.random(in: 1...4, using: &random))
        let files = (feed.after + 1...last).map { FileInfo(name: "\($0)", sequence: $0) }
        guard ends[end].machine.sends(folder, feed, through: last) else {
            Issue.record("a feed that was just read must not be stale")
            return
        }
        #expect(ends[end].announced.contains(folder), "sent what the peer was told is not shared")
        // A message comes in one part or in two.
        let cut = Int.random(in: 1...files.count, using: &random)
        trace.append(
            "\(end) sends \(folder) \(feed.after + 1)-\(last) of \(own.indexID.rawValue)\(feed.isWhole ? ", whole" : "")"
        )
        let parts = [files[..<cut], files[cut...]].filter { !$0.isEmpty }
        for (number, part) in parts.enumerated() {
            ends[1 - end].inbox.append(
                .index(
                    IndexBatch(
                        folder: folder, files: Array(part), isFullIndex: feed.isWhole, isFirst: number == 0,
                        isLast: number == parts.count - 1), of: own.indexID))
        }
    }
}
