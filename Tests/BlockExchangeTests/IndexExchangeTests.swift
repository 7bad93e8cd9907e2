import Cryptography
import Testing

@testable import BlockExchange

/// Who gets which index on a link, by the order in which things happen.
@Suite struct IndexExchangeTests {
    typealias Terms = IndexExchange.Terms

    private static let local = DeviceID(digest: SHA256.digest([0]))
    private static let peer = DeviceID(digest: SHA256.digest([1]))
    private static let docs = FolderID("docs")
    private static let own = IndexID(rawValue: 7)
    private static let peers = IndexID(rawValue: 9)

    private static func facts(_ own: Int64 = 50, peers: Int64? = nil, id: IndexID = peers) -> IndexExchange.Facts {
        IndexExchange.Facts(
            own: IndexPosition(indexID: Self.own, sequence: own),
            peers: peers.map { IndexPosition(indexID: id, sequence: $0) })
    }

    /// What the peer says: how far it knows this device's index, and how far its own goes.
    private static func config(
        knows: Int64 = 0, of id: IndexID = own, has: Int64 = 3, id peers: IndexID = peers, type: Int32 = 0,
        stopReason: Int32 = 0,
        token: [UInt8] = [], tokenForUs: [UInt8] = [], isSecondary: Bool = false
    ) -> ClusterConfig {
        ClusterConfig(
            folders: [
                ClusterConfig.Folder(
                    id: docs, label: "Documents", type: type, stopReason: stopReason, mode: .full,
                    devices: [
                        ClusterConfig.Device(
                            id: local, maxSequence: knows, indexID: id, encryptionPasswordToken: tokenForUs),
                        ClusterConfig.Device(
                            id: peer, maxSequence: has, indexID: peers, encryptionPasswordToken: token),
                    ])
            ], isSecondary: isSecondary)
    }

    private static func batch(isFull: Bool = false, isFirst: Bool = true) -> IndexBatch {
        IndexBatch(folder: docs, files: [], isFullIndex: isFull, isFirst: isFirst)
    }

    private static func settle(_ sequence: Int64 = 3, id: IndexID = peers, names: Bool = false) -> IndexExchange.Action
    {
        .settle(
            IndexExchange.Settlement(
                folder: docs, position: IndexPosition(indexID: id, sequence: sequence), mode: .full,
                namesWhatIsStored: names))
    }

    /// A link on which this device shares the folder.
    private static func link(_ terms: Terms? = .open) -> IndexExchange {
        var exchange = IndexExchange(local: local, peer: peer)
        exchange.share(terms.map { [docs: $0] } ?? [:])
        return exchange
    }

    // MARK: a peer's config

    @Test func nothingIsSentBeforeThePeersConfigAndWhatItAsksFor() throws {
        var exchange = Self.link()
        #expect(try exchange.reshared([Self.docs: Self.facts()]) == [.announce])
        exchange.performed()
        #expect(exchange.fedFolders.isEmpty)
        #expect(try exchange.heard(Self.config(), [Self.docs: Self.facts()]) == [Self.settle()])
        #expect(exchange.fedFolders.isEmpty, "the peer's index is not settled yet")
        exchange.performed()
        #expect(exchange.feed(of: Self.docs) == IndexExchange.Feed(indexID: Self.own, after: 0))
    }

    @Test(
        arguments: [
            (.min, 0), (-1, 0), (0, 0), (1, 1), (49, 49), (50, 50), (51, 0), (.max - 1, 0), (.max, 0),
        ] as [(knows: Int64, after: Int64)])
    func aFeedGoesOnBehindWhatThePeerCanHave(knows: Int64, after: Int64) throws {
        for (id, after) in [(Self.own, after), (IndexID(rawValue: 8), 0), (.none, 0)] {
            var exchange = Self.link()
            _ = try exchange.heard(Self.config(knows: knows, of: id, has: knows), [Self.docs: Self.facts()])
            exchange.performed()
            let feed = try #require(exchange.feed(of: Self.docs))
            #expect(feed.after == after && feed.isWhole == (after == 0))
        }
    }

    struct Hearing: Sendable {
        var terms: Terms? = .open
        var config: ClusterConfig
        var actions: [IndexExchange.Action]
        var isFed = false
    }

    @Test(arguments: [
        Hearing(terms: nil, config: config(), actions: [.offer(docs, label: "Documents")]),
        Hearing(terms: .paused, config: config(), actions: []),
        Hearing(terms: .withheld, config: config(), actions: []),
        Hearing(terms: .encryptedThere, config: config(), actions: []),
        Hearing(config: config(), actions: [settle()], isFed: true),
        Hearing(config: config(stopReason: 1), actions: [settle()]),
        Hearing(config: config(isSecondary: true), actions: []),
        Hearing(config: ClusterConfig(), actions: []),
        Hearing(config: config(token: [1]), actions: [.distrust(docs)]),
        Hearing(config: config(tokenForUs: [1]), actions: [.distrust(docs)]),
        // It waits for the first token.
        Hearing(config: config(type: 3), actions: [.distrust(docs)]),
        Hearing(config: config(type: 2), actions: [settle()], isFed: true),
        // A token must not wait for the end of a pause, nor for another link.
        Hearing(terms: .paused, config: config(token: [1]), actions: [.distrust(docs)]),
        Hearing(terms: .withheld, config: config(tokenForUs: [1]), actions: [.distrust(docs)]),
        Hearing(terms: .encryptedThere, config: config(token: [1]), actions: [.distrust(docs)]),
        Hearing(terms: nil, config: config(token: [1]), actions: [.offer(docs, label: "Documents")]),
    ])
    func whatBecomesOfAConfig(_ hearing: Hearing) throws {
        var exchange = Self.link(hearing.terms)
        #expect(try exchange.heard(hearing.config, [Self.docs: Self.facts()]) == hearing.actions)
        exchange.performed()
        #expect((exchange.feed(of: Self.docs) != nil) == hearing.isFed)
    }

    @Test(arguments: [local, peer]) func aFolderThatListsOneOfTheDevicesEndsTheLink(missing: DeviceID) throws {
        var config = Self.config()
        config.folders[0].devices.removeAll { $0.id == missing }
        var exchange = Self.link()
        #expect(throws: ProtocolError.self) { try exchange.heard(config, [Self.docs: Self.facts()]) }
        exchange.performed()
        #expect(exchange.fedFolders.isEmpty && exchange.peerConfig == nil)
        // Of a folder that is not open it is no matter, until the folder is.
        exchange = Self.link(.paused)
        #expect(try exchange.heard(config, [:]).isEmpty)
        exchange.share([Self.docs: .open])
        #expect(throws: ProtocolError.self) { try exchange.reshared([Self.docs: Self.facts()]) }
    }

    /// A config that comes again says where the peer's copy is; one that leaves the folder out ends what was said of it.
    @Test func configsReplaceEachOther() throws {
        var exchange = Self.link()
        let facts = [Self.docs: Self.facts(peers: 3)]
        _ = try exchange.heard(Self.config(knows: 10), facts)
        exchange.performed()
        let feed = try #require(exchange.feed(of: Self.docs))
        #expect(exchange.sends(Self.docs, feed, through: 30) == true)
        #expect(exchange.feed(of: Self.docs)?.after == 30)

        #expect(try exchange.heard(Self.config(knows: 20), facts) == [Self.settle()])
        exchange.performed()
        #expect(exchange.feed(of: Self.docs)?.after == 20)

        #expect(try exchange.heard(Self.config(knows: 30, stopReason: 1), facts) == [Self.settle()])
        exchange.performed()
        #expect(exchange.fedFolders.isEmpty, "the peer has paused it")

        #expect(try exchange.heard(ClusterConfig(), facts) == [.release(Self.docs)])
        #expect(try exchange.heard(ClusterConfig(), facts) == [])
        exchange.performed()
        #expect(exchange.fedFolders.isEmpty)
        #expect(try exchange.heard(Self.config(knows: 30), facts) == [Self.settle()])
        exchange.performed()
        #expect(exchange.feed(of: Self.docs)?.after == 30)
    }

    // MARK: this device's changes

    /// Commit 337b774: else the peer's index, which comes as soon as it is told, would be taken for an older one's.
    @Test func aFolderAcceptedLaterIsSettledThenAnnouncedThenSent() throws {
        var exchange = Self.link(nil)
        #expect(try exchange.heard(Self.config(), [:]) == [.offer(Self.docs, label: "Documents")])
        exchange.performed()
        exchange.share([Self.docs: .open])
        #expect(exchange.fedFolders.isEmpty)
        #expect(try exchange.reshared([Self.docs: Self.facts()]) == [Self.settle(), .announce])
        #expect(exchange.fedFolders.isEmpty, "the peer was not told yet")
        exchange.performed()
        #expect(exchange.feed(of: Self.docs)?.after == 0)
    }

    @Test func anotherFoldersChangeLeavesAFeedWhereItIs() throws {
        var exchange = Self.link()
        let facts = [Self.docs: Self.facts(peers: 3)]
        _ = try exchange.heard(Self.config(knows: 10), facts)
        exchange.performed()
        let first = try #require(exchange.feed(of: Self.docs))
        #expect(exchange.sends(Self.docs, first, through: 20) == true)
        exchange.share([Self.docs: .open, FolderID("other"): .open])
        #expect(try exchange.reshared(facts) == [Self.settle(), .announce])
        // It goes on while the actions are performed.
        let second = try #require(exchange.feed(of: Self.docs))
        #expect(exchange.sends(Self.docs, second, through: 30) == true)
        exchange.performed()
        #expect(exchange.feed(of: Self.docs)?.after == 30)
    }

    @Test func aNewIndexOfThisDeviceIsSentFromTheStart() throws {
        var exchange = Self.link()
        _ = try exchange.heard(Self.config(knows: 10), [Self.docs: Self.facts()])
        exchange.performed()
        let old = try #require(exchange.feed(of: Self.docs))
        let new = IndexPosition(indexID: IndexID(rawValue: 70), sequence: 4)
        _ = try exchange.reshared([Self.docs: IndexExchange.Facts(own: new, peers: nil)])
        #expect(
            exchange.sends(Self.docs, old, through: 20) == false,
            "the old index is not sent behind the new one's announcement")
        exchange.performed()
        #expect(exchange.feed(of: Self.docs) == IndexExchange.Feed(indexID: new.indexID, after: 0))
    }

    @Test(arguments: [nil, .paused, .withheld, .encryptedThere] as [Terms?])
    func whatIsNoLongerSharedIsNotSentFromThatMomentOn(terms: Terms?) throws {
        for isBeingPerformed in [false, true] {
            var exchange = Self.link()
            _ = try exchange.heard(Self.config(knows: 10), [Self.docs: Self.facts(peers: 3)])
            if !isBeingPerformed { exchange.performed() }
            let feed = IndexExchange.Feed(indexID: Self.own, after: 10)
            exchange.share(terms.map { [Self.docs: $0] } ?? [:])
            #expect(exchange.sends(Self.docs, feed, through: 20) == false)
            exchange.performed()
            #expect(exchange.sends(Self.docs, feed, through: 20) == false)
            let actions = try exchange.reshared([:])
            #expect(actions.first == .release(Self.docs) && actions.last == .announce)
            exchange.performed()
            #expect(exchange.fedFolders.isEmpty)
            // Shared again: from where the peer said that it is.
            exchange.share([Self.docs: .open])
            _ = try exchange.reshared([Self.docs: Self.facts(peers: 3)])
            exchange.performed()
            #expect(exchange.feed(of: Self.docs) == feed)
        }
    }

    /// The peer says what it had before the Index that is on its way replaces all of it.
    @Test(arguments: [false, true]) func behindAnIndexOnItsWayNothingIsLeftOut(isStopped: Bool) throws {
        var exchange = Self.link()
        let facts = [Self.docs: Self.facts(peers: 3)]
        _ = try exchange.heard(Self.config(knows: 0), facts)
        exchange.performed()
        let feed = try #require(exchange.feed(of: Self.docs))
        #expect(exchange.sends(Self.docs, feed, through: 8) == true)
        if isStopped { exchange.share([Self.docs: .paused]) }
        exchange.share([Self.docs: .open])
        _ = try exchange.heard(Self.config(knows: 10), facts)
        exchange.performed()
        #expect(exchange.feed(of: Self.docs)?.after == 8)
    }

    @Test func onlyWhatFollowsTheFeedIsSent() throws {
        var exchange = Self.link()
        _ = try exchange.heard(Self.config(knows: 10), [Self.docs: Self.facts()])
        exchange.performed()
        let feed = try #require(exchange.feed(of: Self.docs))
        #expect(exchange.sends(Self.docs, feed, through: 10) == false, "nothing new")
        #expect(exchange.sends(FolderID("other"), feed, through: 11) == false)
        #expect(exchange.sends(Self.docs, feed, through: .max) == true)
        #expect(exchange.sends(Self.docs, feed, through: .max) == false, "sent already")
    }

    // MARK: what comes in

    /// Commit 22e9d5f: a Syncthing that takes a folder sends its index before it says which one that is.
    @Test func anIndexThatComesBeforeItsNameIsKept() throws {
        for stored in [nil, 70] as [Int64?] {
            var exchange = Self.link()
            _ = try exchange.heard(ClusterConfig(), [:])
            exchange.performed()
            // What is known of an older index of the peer must not make the new one be taken for that.
            #expect(exchange.received(Self.batch(isFull: true), terms: .open) == .storeUnnamed)
            #expect(exchange.received(Self.batch(isFull: true, isFirst: false), terms: .open) == .store)
            #expect(exchange.received(Self.batch(), terms: .open) == .store)
            let facts = [Self.docs: Self.facts(peers: stored, id: IndexID(rawValue: 4))]
            #expect(try exchange.heard(Self.config(), facts) == [Self.settle(names: true)])
            exchange.performed()
            #expect(exchange.received(Self.batch(), terms: .open) == .store)
            // The name holds for one index.
            #expect(
                try exchange.heard(Self.config(id: IndexID(rawValue: 5)), facts) == [
                    Self.settle(id: IndexID(rawValue: 5))
                ])
        }
    }

    @Test func aNamedIndexNeedsNoOtherName() throws {
        var exchange = Self.link()
        _ = try exchange.heard(Self.config(), [Self.docs: Self.facts()])
        exchange.performed()
        #expect(exchange.received(Self.batch(isFull: true), terms: .open) == .store)
        #expect(try exchange.heard(Self.config(), [Self.docs: Self.facts(peers: 3)]) == [Self.settle()])
    }

    @Test(arguments: [nil, .paused, .withheld, .encryptedThere] as [Terms?])
    func whatIsNotSharedIsNotStored(terms: Terms?) throws {
        // Said by the folder now, or by the folders before: either is enough.
        for (before, now) in [(terms, terms), (.open, terms), (terms, .open)] as [(Terms?, Terms?)] {
            var exchange = Self.link(before)
            #expect(exchange.received(Self.batch(isFull: true), terms: now) == .drop)
        }
    }

    /// Behind a part that was dropped nothing may be stored: what is stored would seem to go further than it does.
    @Test func behindAGapNothingIsStoredUntilTheIndexBeginsAnew() throws {
        for isAcceptedAnew in [false, true] {
            var exchange = Self.link()
            _ = try exchange.heard(Self.config(), [Self.docs: Self.facts(peers: 2)])
            exchange.performed()
            #expect(exchange.received(Self.batch(), terms: .open) == .store)
            exchange.share(isAcceptedAnew ? [:] : [Self.docs: .paused])
            #expect(exchange.received(Self.batch(), terms: isAcceptedAnew ? nil : .paused) == .drop)
            exchange.share([Self.docs: .open])
            _ = try exchange.reshared([Self.docs: Self.facts()])
            exchange.performed()
            // Sent before the peer heard of the pause.
            #expect(exchange.received(Self.batch(), terms: .open) == .skip)
            #expect(exchange.received(Self.batch(isFull: true, isFirst: false), terms: .open) == .skip)
            #expect(exchange.received(Self.batch(isFull: true), terms: .open) == .store)
            #expect(exchange.received(Self.batch(isFull: true, isFirst: false), terms: .open) == .store)
            #expect(exchange.received(Self.batch(), terms: .open) == .store)
        }
    }

    struct Beginning: Sendable {
        var stored: Int64?
        var id = peers
        var has: Int64 = 3
        var isStored: Bool
    }

    /// After a change here an update goes on behind what is stored of the same index, whatever numbers the peer gives. Before that
    /// nothing can be missing: the peer began where this device's config said.
    @Test(
        arguments: [
            Beginning(stored: nil, isStored: false), Beginning(stored: 0, isStored: false),
            Beginning(stored: 2, isStored: true), Beginning(stored: 2, id: IndexID(rawValue: 4), isStored: false),
            Beginning(stored: 2, id: .none, isStored: false), Beginning(stored: 2, has: 1, isStored: true),
            Beginning(stored: 2, has: .min, isStored: true), Beginning(stored: .max, has: .max, isStored: true),
        ])
    func anIndexThatWasForgottenBeginsWithTheWhole(_ beginning: Beginning) throws {
        var exchange = Self.link()
        let actions = try exchange.heard(
            Self.config(has: beginning.has, id: beginning.id), [Self.docs: Self.facts(peers: beginning.stored)])
        #expect(actions == [Self.settle(beginning.has, id: beginning.id)])
        exchange.performed()
        #expect(exchange.received(Self.batch(), terms: .open) == .store)
        _ = try exchange.reshared([Self.docs: Self.facts(peers: beginning.stored)])
        exchange.performed()
        #expect(exchange.received(Self.batch(), terms: .open) == (beginning.isStored ? .store : .skip))
        #expect(exchange.received(Self.batch(isFull: true), terms: .open) == .store)
    }

    @Test func aPeerThatNamesFoldersWithoutEndCostsNothing() {
        var exchange = IndexExchange(local: Self.local, peer: Self.peer)
        let folders = (0..<IndexExchange.unnamedLimit + 10).map { FolderID("\($0)") }
        exchange.share(Dictionary(uniqueKeysWithValues: folders.map { ($0, .open) }))
        for folder in folders {
            let batch = IndexBatch(folder: folder, files: [], isFullIndex: true)
            #expect(exchange.received(batch, terms: .open) == .storeUnnamed)
        }
        let config = ClusterConfig(
            folders: folders.map { folder in
                var entry = Self.config().folders[0]
                entry.id = folder
                return entry
            })
        let facts = Dictionary(uniqueKeysWithValues: folders.map { ($0, Self.facts()) })
        let named = (try? exchange.heard(config, facts))?.count {
            if case .settle(let settlement) = $0 { settlement.namesWhatIsStored } else { false }
        }
        #expect(named == IndexExchange.unnamedLimit)
    }
}
