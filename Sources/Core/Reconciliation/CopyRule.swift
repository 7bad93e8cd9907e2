import BlockExchange

/// What another device has said of how much of a folder it keeps.
package enum PeerMode: Int64, Hashable, Sendable, CaseIterable {
    /// It has not said, or it is a synctrain that makes no promises; it may free anything at any time.
    case unknown = 0
    /// It is a synctrain that keeps everything, and frees nothing without another device's promise to keep it.
    case full = 1
    /// It is a synctrain that keeps what its user has selected, and may free that at any time.
    case selective = 2
    /// It is a Syncthing, which frees nothing by itself.
    case syncthing = 3
}

/// Which devices count as copies of a file that is to be freed. Pure.
///
/// A connected device counts by what it has just answered: a synctrain by its promise to keep the very same content, a Syncthing
/// by random blocks of it. A device that is away counts by its promise, or by its word where it frees nothing without one.
/// docs/decisions/space.md has the rule and why nothing is lost by it.
package struct CopyRule: Equatable, Sendable {
    /// A device that the folder is shared with.
    package struct Peer: Equatable, Sendable {
        package var mode: PeerMode
        package var isConnected: Bool
        /// Whether a request for a promise, or for blocks, would be answered now.
        package var isAskable: Bool
        /// Whether its index had arrived whole when it was seen last, and it had heard then how much this device keeps.
        /// Always false until it was seen once since this device started: what was noted before may have been restored from
        /// a backup.
        package var isAgreed: Bool
        /// How long it has not been seen; nil for longer than anybody knows.
        package var unseen: Duration?

        package init(
            mode: PeerMode, isConnected: Bool = false, isAskable: Bool = false, isAgreed: Bool = false,
            unseen: Duration? = nil
        ) {
            self.mode = mode
            self.isConnected = isConnected
            self.isAskable = isAskable
            self.isAgreed = isAgreed
            self.unseen = unseen
        }
    }

    /// What a device has answered about one version of one name.
    package enum Word: Hashable, Sendable {
        /// It promises to keep it. Heard since this device started, and not taken back.
        case promised
        /// The blocks that it was asked for had their hashes. Heard since this device started.
        case verified
        /// It does not promise to keep it.
        case refused
        /// It announces the version, and did not give its blocks.
        case failed
    }

    /// Whether this device keeps everything, so that others may count on its word while they are apart.
    package var isFull: Bool
    /// Whether all who may still take this device for one that keeps everything know better, or have not seen it for as long
    /// as a word counts.
    package var isKnownAsSelective: Bool
    /// For how long the word of a device that is away counts.
    package var maximumAge: Duration
    package var peers: [DeviceID: Peer]

    package init(
        isFull: Bool, isKnownAsSelective: Bool = true, maximumAge: Duration, peers: [DeviceID: Peer]
    ) {
        self.isFull = isFull
        self.isKnownAsSelective = isKnownAsSelective
        self.maximumAge = maximumAge
        self.peers = peers
    }

    /// Of the devices that announce a version, those that count as copies and those that do not. Devices that the folder
    /// is not shared with are neither.
    ///
    /// - parameter words: what they have answered about this version.
    package func copies(_ holders: [DeviceID], words: [DeviceID: Word]) -> Copies {
        var copies = Copies()
        for holder in holders {
            guard let peer = peers[holder] else { continue }
            if counts(peer, words[holder]) {
                copies.count += 1
            } else if words[holder] == .failed {
                copies.failed.append(holder)
            } else {
                copies.uncertain.append(holder)
            }
        }
        return copies
    }

    /// The same if everybody who can be asked now gave the best answer; for plans and dry runs.
    package func possibleCopies(_ holders: [DeviceID]) -> Copies {
        copies(holders, words: peers.compactMapValues(bestWord))
    }

    private func bestWord(_ peer: Peer) -> Word? {
        guard peer.isConnected, peer.isAskable else { return nil }
        switch peer.mode {
        case .unknown: return nil
        case .syncthing: return .verified
        case .full, .selective: return .promised
        }
    }

    /// Those of `holders` that are worth asking about a version, in the order in which they are asked: first who keeps everything
    /// anyway, last whom a promise keeps from freeing.
    package func askable(_ holders: [DeviceID], words: [DeviceID: Word]) -> [DeviceID] {
        let order: [PeerMode] = [.full, .syncthing, .selective]
        return order.flatMap { mode in
            holders.filter { holder in
                guard let peer = peers[holder], peer.mode == mode else { return false }
                return bestWord(peer) != nil && !counts(peer, words[holder])
            }
        }
    }

    private func counts(_ peer: Peer, _ word: Word?) -> Bool {
        switch (peer.mode, word) {
        // One that makes no promises has made none.
        case (.unknown, _), (_, .refused), (_, .failed): return false
        case (.full, .promised), (.selective, .promised), (.syncthing, .verified): return true
        case (.selective, _): return false
        case (.syncthing, _): return !peer.isConnected && isRecent(peer)
        // It may count on this device in the same way.
        case (.full, _):
            return !isFull && isKnownAsSelective && !peer.isConnected && peer.isAgreed && isRecent(peer)
        }
    }

    private func isRecent(_ peer: Peer) -> Bool {
        guard let unseen = peer.unseen else { return false }
        return unseen < maximumAge
    }
}

/// The other devices that announce a version.
package struct Copies: Equatable, Sendable {
    /// How many of them count.
    package var count: Int
    /// Those that may free it themselves: they have not promised to keep it.
    package var uncertain: [DeviceID]
    /// Those that did not give the blocks that they announce.
    package var failed: [DeviceID]
    /// Those that this device has promised to keep it.
    package var promisedTo: [DeviceID]

    package init(
        count: Int = 0, uncertain: [DeviceID] = [], failed: [DeviceID] = [], promisedTo: [DeviceID] = []
    ) {
        self.count = count
        self.uncertain = uncertain
        self.failed = failed
        self.promisedTo = promisedTo
    }
}

/// When other devices may still take this one for one that keeps everything. Pure.
package struct ModeHistory: Equatable, Sendable {
    /// When this device began to keep only a selection, in unix seconds; nil if it never kept everything.
    package var selectiveSince: Int64?
    /// The devices that have heard of it since.
    package var told: Set<DeviceID>

    package init(selectiveSince: Int64?, told: Set<DeviceID> = []) {
        self.selectiveSince = selectiveSince
        self.told = told
    }

    /// Whether this device may free by the word of a device that keeps everything, as far as others count on it.
    ///
    /// - parameter devices: those that the folder is shared with, and their modes. Syncthing counts on nobody.
    package func isKnownAsSelective(
        to devices: [DeviceID: PeerMode], at now: Int64, maximumAge: Duration
    ) -> Bool {
        guard let since = selectiveSince else { return true }
        if devices.allSatisfy({ $0.value == .syncthing || told.contains($0.key) }) { return true }
        let (age, isHuge) = now.subtractingReportingOverflow(since)
        return !isHuge && age >= 0 && Duration.seconds(age) >= maximumAge
    }
}

/// How many blocks of a file a Syncthing is asked for before the file is freed, and which. Pure.
package enum BlockSample {
    package static let limit = 16

    /// 1 of one block, 2 of two, then one more with each doubling, at most 16. A file of one or two blocks is asked for whole.
    package static func count(ofBlocks blocks: Int) -> Int {
        guard blocks > 1 else { return max(0, blocks) }
        return min(limit, Int.bitWidth - (blocks - 1).leadingZeroBitCount + 1)
    }

    /// The positions of the blocks to ask for, rising, each once.
    ///
    /// - parameter random: uniform in 0..<1.
    package static func choose(ofBlocks blocks: Int, random: () -> Double) -> [Int] {
        var chosen: Set<Int> = []
        let count = count(ofBlocks: blocks)
        // Floyd's way: each of the possible choices is as likely as any other.
        for last in (blocks - count)..<blocks {
            let position = min(last, max(0, Int(random() * Double(last + 1))))
            chosen.insert(chosen.contains(position) ? last : position)
        }
        return chosen.sorted()
    }
}
