import BlockExchange

/// What another device has said of how much of a folder it keeps.
package enum PeerMode: Int64, Hashable, Sendable, CaseIterable {
    /// It has not said; it may free anything at any time.
    case unknown = 0
    /// It is a synctrain that keeps everything.
    case full = 1
    /// It is a synctrain that keeps what its user has selected, and may free that at any time.
    case selective = 2
    /// It is a Syncthing, which frees nothing by itself.
    case syncthing = 3
}

/// Which devices count as copies of a file that is to be freed. Pure.
///
/// Two devices that are apart could both free the same file, each by the other's last word. So the word of a device that
/// may free counts only while the device is connected.
package struct CopyRule: Equatable, Sendable {
    /// A device that the folder is shared with.
    package struct Peer: Equatable, Sendable {
        package var mode: PeerMode
        /// Whether it is connected, has said its mode on this link, and its index has arrived up to where it was then.
        package var isCurrent: Bool

        package init(mode: PeerMode, isCurrent: Bool = false) {
            self.mode = mode
            self.isCurrent = isCurrent
        }
    }

    /// Whether this device keeps everything, so that others may count on it while they are apart.
    package var isFull: Bool
    package var peers: [DeviceID: Peer]

    package init(isFull: Bool, peers: [DeviceID: Peer]) {
        self.isFull = isFull
        self.peers = peers
    }

    /// Of the devices that announce a version, those that count as copies and those that do not. Devices that the folder
    /// is not shared with are neither.
    package func copies(_ holders: [DeviceID]) -> Copies {
        var copies = Copies()
        for holder in holders {
            guard let peer = peers[holder] else { continue }
            if counts(peer) { copies.count += 1 } else { copies.uncertain.append(holder) }
        }
        return copies
    }

    private func counts(_ peer: Peer) -> Bool {
        switch peer.mode {
        case .unknown: false
        case .syncthing: true
        // It may count on this device in the same way.
        case .full: peer.isCurrent || !isFull
        case .selective: peer.isCurrent
        }
    }
}

/// The other devices that announce a version.
package struct Copies: Equatable, Sendable {
    /// How many of them count.
    package var count: Int
    /// Those that may free it themselves, and are not connected.
    package var uncertain: [DeviceID]

    package init(count: Int = 0, uncertain: [DeviceID] = []) {
        self.count = count
        self.uncertain = uncertain
    }
}
