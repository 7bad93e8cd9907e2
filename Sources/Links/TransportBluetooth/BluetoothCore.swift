import Logging
import MessageBus
import NIOCore
import Synchronization
import Transport

/// What the parts of the transport share.
final class BluetoothCore: Sendable {
    struct KnownPeer: Equatable, Sendable {
        var kind: BluetoothAddressKind
        var psm: UInt16
    }

    private struct State {
        var linkCount = 0
        /// Peers that an L2CAP channel was opened to, so that the next one needs no GATT before it.
        var peers: [BluetoothAddress: KnownPeer] = [:]
    }

    /// More peers than that near one machine is an odd thing; then all are forgotten.
    private static let peerLimit = 256

    let configuration: BluetoothConfiguration
    let group: any EventLoopGroup
    let logger: Logger
    let client: BlueZClient
    let server: GATTServer
    let sink: SinkPlace
    let legacyDoor = LegacyDoor()
    private let state = Mutex(State())

    init(configuration: BluetoothConfiguration, group: any EventLoopGroup, logger: Logger) throws(SystemError) {
        self.configuration = configuration
        self.group = group
        self.logger = logger
        let sink = SinkPlace()
        self.sink = sink
        let server = GATTServer(logger: logger, sink: sink, legacyDoor: legacyDoor, group: group)
        self.server = server
        client = BlueZClient(
            bus: try SystemBus(), adapter: configuration.adapter, answer: { server.answer($1, for: $0) },
            disconnected: { server.disconnected($0) })
    }

    // MARK: links

    /// Takes a place for a link; false when there are too many.
    func reserveLink() -> Bool {
        state.withLock { state in
            guard state.linkCount < configuration.linkLimit else { return false }
            state.linkCount += 1
            return true
        }
    }

    func releaseLink() { state.withLock { $0.linkCount -= 1 } }

    // MARK: peers

    func knownPeer(_ address: BluetoothAddress) -> KnownPeer? { state.withLock { $0.peers[address] } }

    func remember(_ peer: KnownPeer?, at address: BluetoothAddress) {
        state.withLock { state in
            if state.peers.count >= Self.peerLimit { state.peers = [:] }
            state.peers[address] = peer
        }
    }
}

/// Where accepted links go at the moment, if somebody listens.
final class SinkPlace: Sendable {
    private let sink = Mutex<LinkSink?>(nil)

    var current: LinkSink? { sink.withLock { $0 } }

    /// Whether a link that comes now would be taken.
    var isOpen: Bool { current?.isFull() == false }

    /// False when somebody listens already.
    func fill(_ new: LinkSink) -> Bool {
        sink.withLock { sink in
            guard sink == nil else { return false }
            sink = new
            return true
        }
    }

    func empty() { sink.withLock { $0 = nil } }
}
