/// Where an index stands: which one it is, and up to which sequence.
public struct IndexPosition: Equatable, Sendable {
    public var indexID: IndexID
    /// From 1 on; 0 for an empty index.
    public var sequence: Int64

    public init(indexID: IndexID, sequence: Int64) {
        self.indexID = indexID
        self.sequence = sequence
    }
}

/// Decides for one link which indexes two devices exchange: the folders, the sequence that each begins at, and when.
///
/// A value without store, clock or socket. Its owner reports one event at a time, performs the returned actions in their order, and
/// then calls `performed`. Only `share`, `feed` and `sends` may be called in between: a folder that this device stops sharing gets no
/// further message, whatever its owner is doing.
///
/// The rules that depend on the order of messages:
/// - Nothing is sent before the peer's ClusterConfig. A feed opens only after all that its ClusterConfig asks for was performed.
/// - A folder that this device shares from now on is settled, then announced, and only then sent.
/// - A whole index may come before the ClusterConfig that names it. It is stored without a name, and named by that one.
/// - Nothing is sent behind a gap, either: a peer may say what it has before an Index on its way replaces that.
/// - Nothing is stored behind a gap: an index that lost a part on this link, or that this device has dropped
///   meanwhile, begins with an Index.
/// - What the peer said of a folder holds until it says otherwise, and ends with its ClusterConfig that leaves the folder out.
public struct IndexExchange: Sendable {
    /// How this device shares one folder with the peer over this link. A folder without terms is not shared.
    public enum Terms: Equatable, Sendable {
        /// Indexes go both ways.
        case open
        /// The peer is only told that the folder is paused here.
        case paused
        /// The peer keeps the folder encrypted: it gets nothing.
        case encryptedThere
        /// This link must not carry the folder.
        case withheld
    }

    /// What has to be done.
    public enum Action: Equatable, Sendable {
        /// Send a ClusterConfig of what is shared now.
        case announce
        /// Note that the peer offers a folder that is not shared here.
        case offer(FolderID, label: String)
        /// Note that the peer keeps the folder encrypted, and drop what it announced.
        case distrust(FolderID)
        /// Store which index the peer has now.
        case settle(Settlement)
        /// The peer no longer says anything of this folder.
        case release(FolderID)
    }

    /// The index of a folder that the peer has now.
    public struct Settlement: Equatable, Sendable {
        public var folder: FolderID
        /// What the peer says of its own index. Any number: nobody has checked it.
        public var position: IndexPosition
        public var mode: FolderMode?
        /// Whether the peer takes keep requests for the folder.
        public var takesKeepRequests: Bool
        /// Whether the peer refuses what this device announces in the folder.
        public var refusesChanges: Bool
        /// What was stored on this link is that index, and stays. Otherwise another index's entries are dropped.
        public var namesWhatIsStored: Bool

        public init(
            folder: FolderID, position: IndexPosition, mode: FolderMode? = nil, takesKeepRequests: Bool = false,
            refusesChanges: Bool = false, namesWhatIsStored: Bool = false
        ) {
            self.folder = folder
            self.position = position
            self.mode = mode
            self.takesKeepRequests = takesKeepRequests
            self.refusesChanges = refusesChanges
            self.namesWhatIsStored = namesWhatIsStored
        }

        /// Whether something stays of what is stored, which the peer then goes on behind.
        func keeps(_ stored: IndexPosition?) -> Bool {
            if namesWhatIsStored { return true }
            guard let stored, position.indexID != .none else { return false }
            return stored.indexID == position.indexID && stored.sequence > 0
        }
    }

    /// What is known of the two indexes of one folder.
    public struct Facts: Equatable, Sendable {
        /// This device's.
        public var own: IndexPosition
        /// What is stored of the peer's; nil if it has to send it from the start.
        public var peers: IndexPosition?

        public init(own: IndexPosition, peers: IndexPosition?) {
            self.own = own
            self.peers = peers
        }
    }

    /// What becomes of a part of an index that came in.
    public enum Reception: Equatable, Sendable {
        case store
        /// Forget first which index is stored: which one this is, a later ClusterConfig says.
        case storeUnnamed
        /// Store nothing, and forget which index is stored, because a part of it is missing: the peer has to send it from the
        /// start when it may.
        case drop
        /// Store nothing: the index has to come from the start anyway.
        case skip
    }

    /// This device's index of one folder, on its way to the peer.
    public struct Feed: Equatable, Sendable {
        public var indexID: IndexID
        /// The last sequence that the peer has.
        public var after: Int64
        /// The peer has nothing of this index: the next message is an Index, not an IndexUpdate.
        public var isWhole: Bool { after == 0 }

        public init(indexID: IndexID, after: Int64) {
            self.indexID = indexID
            self.after = after
        }
    }

    /// More unnamed indexes than this are not remembered; these are dropped when they are named, and come again.
    static let unnamedLimit = 1000

    private let local: DeviceID
    private let peer: DeviceID
    private var terms: [FolderID: Terms] = [:]
    /// What the peer said last that it shares; nil before it said so.
    public private(set) var peerConfig: ClusterConfig?
    /// Folders whose whole index came after the last config, which does not name them.
    private var unnamed: Set<FolderID> = []
    /// Folders whose index the peer has to send from the start.
    private var awaitsWhole: Set<FolderID> = []
    /// Folders whose index the peer has named.
    private var settled: Set<FolderID> = []
    private var feeds: [FolderID: Feed] = [:]
    /// The feeds from when the actions under way were performed.
    private var nextFeeds: [FolderID: Feed]?
    /// How far what was sent on this link goes, also of feeds that were stopped.
    private var sent: [FolderID: Feed] = [:]

    public init(local: DeviceID, peer: DeviceID) {
        self.local = local
        self.peer = peer
    }

    // MARK: this device

    /// Takes what this device shares with the peer now. What it no longer shares is not sent from this moment on.
    public mutating func share(_ terms: [FolderID: Terms]) {
        self.terms = terms
        feeds = feeds.filter { terms[$0.key] == .open }
        nextFeeds = nextFeeds?.filter { terms[$0.key] == .open }
    }

    /// This device shares something else than before; `share` has said what.
    ///
    /// - Parameter facts: of every folder with open terms.
    /// - Throws: as `heard`, for what the peer said of a folder that was not open then.
    public mutating func reshared(_ facts: [FolderID: Facts]) throws(ProtocolError) -> [Action] {
        guard let peerConfig else { return [.announce] }
        return try evaluate(peerConfig, facts, keepsFeeds: true) + [.announce]
    }

    // MARK: the peer

    /// The peer says what it shares; it may do so at any time and any number of times.
    ///
    /// - Parameter facts: of every folder with open terms.
    /// - Throws: `ProtocolError` if a folder lists only one of the two devices. Nothing is to be done then but to end the link.
    public mutating func heard(
        _ config: ClusterConfig, _ facts: [FolderID: Facts]
    ) throws(ProtocolError) -> [Action] {
        defer { unnamed = [] }
        let actions = try evaluate(config, facts, keepsFeeds: false)
        peerConfig = config
        return actions
    }

    /// A part of an Index or IndexUpdate came in.
    ///
    /// - Parameter terms: those of its folder at this moment, which a policy may have changed without a word; nil: not shared.
    public mutating func received(_ batch: IndexBatch, terms current: Terms?) -> Reception {
        let folder = batch.folder
        let isBeginning = batch.isFullIndex && batch.isFirst
        guard current == .open, terms[folder] == .open, isBeginning || !awaitsWhole.contains(folder) else {
            unnamed.remove(folder)
            // The peer may name any folder here; only those that are shared with it cost memory.
            guard current != nil else { return .drop }
            return awaitsWhole.insert(folder).inserted ? .drop : .skip
        }
        awaitsWhole.remove(folder)
        let isNamed = peerConfig?.folders.contains { $0.id == folder } ?? false
        guard isBeginning, !isNamed else { return .store }
        if unnamed.count < Self.unnamedLimit { unnamed.insert(folder) }
        return .storeUnnamed
    }

    // MARK: feeds

    /// All actions of the last event were performed: what is to be sent from now on may be sent.
    public mutating func performed() {
        guard let nextFeeds else { return }
        feeds = nextFeeds
        self.nextFeeds = nil
    }

    /// The folders whose index is being sent.
    public var fedFolders: Dictionary<FolderID, Feed>.Keys { feeds.keys }

    /// Where the peer's copy of a folder's index goes on; nil if the index is not to be sent.
    public func feed(of folder: FolderID) -> Feed? { feeds[folder] }

    /// A message with the entries of a folder after `feed` up to `last` is about to be handed to the link.
    ///
    /// - Returns: false if it must not be sent: the feed was stopped or begins elsewhere by now.
    public mutating func sends(_ folder: FolderID, _ feed: Feed, through last: Int64) -> Bool {
        guard feeds[folder] == feed, last > feed.after else { return false }
        feeds[folder]?.after = last
        sent[folder] = feeds[folder]
        if nextFeeds?[folder] == feed { nextFeeds?[folder]?.after = last }
        return true
    }

    // MARK: -

    /// - Parameter keepsFeeds: The peer has said nothing new: a feed goes on where it is.
    private mutating func evaluate(
        _ config: ClusterConfig, _ facts: [FolderID: Facts], keepsFeeds: Bool
    ) throws(ProtocolError) -> [Action] {
        var actions: [Action] = []
        var next: [FolderID: Feed] = [:]
        var nowSettled: Set<FolderID> = []
        var awaitsWhole = awaitsWhole
        var encrypted: Set<FolderID> = []
        for offered in config.isSecondary ? [] : config.folders {
            guard let terms = terms[offered.id] else {
                actions.append(.offer(offered.id, label: offered.label))
                continue
            }
            let itHas = offered.devices.first { $0.id == peer }
            let itKnows = offered.devices.first { $0.id == local }
            // This must wait neither for a link that may carry the folder nor for the end of a pause. A folder for encrypted data has
            // no token before the first device that encrypts has sent one.
            if offered.isReceiveEncrypted
                || [itHas, itKnows].contains(where: { $0?.encryptionPasswordToken.isEmpty == false })
            {
                encrypted.insert(offered.id)
                actions.append(.distrust(offered.id))
                continue
            }
            guard terms == .open, let facts = facts[offered.id] else { continue }
            guard let itKnows else {
                throw ProtocolError(
                    .unexpectedMessage, "the cluster config's folder \(offered.id) does not list this device")
            }
            guard let itHas else {
                throw ProtocolError(
                    .unexpectedMessage, "the cluster config's folder \(offered.id) does not list its sender")
            }
            nowSettled.insert(offered.id)
            let settlement = Settlement(
                folder: offered.id, position: IndexPosition(indexID: itHas.indexID, sequence: itHas.maxSequence),
                mode: offered.mode, takesKeepRequests: offered.takesKeepRequests,
                refusesChanges: offered.refusesChanges, namesWhatIsStored: unnamed.contains(offered.id))
            actions.append(.settle(settlement))
            if settlement.keeps(facts.peers) {
                awaitsWhole.remove(offered.id)
            } else if keepsFeeds {
                // What was stored may be gone since this device last said what it has: what is on its way goes on behind that.
                awaitsWhole.insert(offered.id)
            }
            guard offered.stopReason == 0 else { continue }
            if keepsFeeds, let feed = feeds[offered.id], feed.indexID == facts.own.indexID {
                next[offered.id] = feed
            } else {
                next[offered.id] = newFeed(of: offered.id, facts.own, to: itKnows)
            }
        }
        for folder in encrypted { terms[folder] = .encryptedThere }
        actions.insert(contentsOf: settled.subtracting(nowSettled).sorted().map(Action.release), at: 0)
        settled = nowSettled
        self.awaitsWhole = awaitsWhole
        // A feed that goes on runs meanwhile; one that ends, or begins elsewhere, stops now.
        feeds = feeds.filter { next[$0.key] == $0.value }
        nextFeeds = next
        return actions
    }

    /// The feed to a peer that says what it has of this device's index: from there on if it can have that, else all of it.
    ///
    /// The peer may have said so before an Index that is on its way replaces what it has: a feed never begins behind what was sent.
    private func newFeed(of folder: FolderID, _ own: IndexPosition, to itKnows: ClusterConfig.Device) -> Feed {
        // bounded: the end is not before zero
        let continues = itKnows.indexID == own.indexID && (0...max(0, own.sequence)).contains(itKnows.maxSequence)
        var feed = Feed(indexID: own.indexID, after: continues ? itKnows.maxSequence : 0)
        if let sent = sent[folder], sent.indexID == own.indexID { feed.after = min(feed.after, sent.after) }
        return feed
    }
}
