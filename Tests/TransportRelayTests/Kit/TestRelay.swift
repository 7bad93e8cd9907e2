import BlockExchange
import LinkSecurity
import NIOCore
import NIOPosix
import Synchronization
import Transport
import TransportRelay
import TransportTCP

/// A relay in this process, with switches for what a relay may do wrong.
///
/// Unlike a real one it has a port for each mode; invitations name the second.
final class TestRelay: Sendable {
    struct Switches: Sendable {
        var token = ""
        var isFull = false
        /// Reads what it is asked and says nothing.
        var isSilent = false
        /// Accepts connections to sessions and says nothing.
        var hasSilentSessions = false
        /// Makes the device that dials the TLS server.
        var swapsRoles = false
        /// Invitations name no address.
        var saysNoAddress = false
        /// Sends each invitation to the joined device twice.
        var repeatsInvitations = false
        /// Sends a side's response only together with the first bytes from the other side.
        var gluesResponse = false
        /// So many ends of sessions are dropped, as strelaysrv drops one of two that come at the same moment.
        var missedCount = 0
        var pipe = PipeFault.none
    }

    enum PipeFault: Sendable {
        case none
        /// Ends the session after so many bytes.
        case truncates(after: Int)
        /// After so many bytes, exchanges two pieces.
        case reorders(after: Int)
        /// After so many bytes, sends a piece twice.
        case replays(after: Int)
    }

    struct State {
        var switches: Switches
        var joined: [DeviceID: SecureLink] = [:]
        var writers: [DeviceID: LinkWriter] = [:]
        var links: [ObjectIdentifier: SecureLink] = [:]
        var joinRequestCount = 0
        var nextKey: UInt64 = 0
        /// All bytes that were passed on in sessions.
        var passed: [UInt8] = []
        /// How often a response was sent together with bytes of the other side.
        var gluedCount = 0
    }

    let device: TestDevice
    let address: RelayAddress
    let state: Mutex<State>
    private let switchboard: SessionSwitchboard
    private let links: LinkListener<SecureLink>
    private let sessions: LinkListener<any Channel>
    private let task = Mutex<Task<Void, Never>?>(nil)

    var switches: Switches {
        get { state.withLock { $0.switches } }
        set { state.withLock { $0.switches = newValue } }
    }

    var passed: [UInt8] { state.withLock { $0.passed } }
    var gluedCount: Int { state.withLock { $0.gluedCount } }
    var joinRequestCount: Int { state.withLock { $0.joinRequestCount } }

    /// - Parameter port: that of a relay that was stopped, to be it again; zero for a new one.
    static func start(device: TestDevice, port: UInt16 = 0, _ switches: Switches = Switches()) async throws -> TestRelay
    {
        let switchboard = SessionSwitchboard()
        let authenticator = try LinkAuthenticator(
            identity: device.identity, applicationProtocols: [RelayTransport.applicationProtocol])
        let links = try await TCPTransport().listen(
            on: .tcp(host: "127.0.0.1", port: port), install: authenticator.install)
        // One loop for all sessions: their ends hand bytes to each other.
        let transport = TCPTransport(group: MultiThreadedEventLoopGroup.singleton.next())
        let sessions = try await transport.listen(on: .tcp(host: "127.0.0.1", port: 0)) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(SessionEnd(switchboard: switchboard))
                return channel
            }
        }
        let relay = TestRelay(
            device: device, links: links, sessions: sessions, switchboard: switchboard, switches: switches)
        let task = Task { await relay.run() }
        relay.task.withLock { $0 = task }
        return relay
    }

    private func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in self.sessions {} }
            for await link in links { group.addTask { await self.serve(link) } }
        }
    }

    private init(
        device: TestDevice, links: LinkListener<SecureLink>, sessions: LinkListener<any Channel>,
        switchboard: SessionSwitchboard, switches: Switches
    ) {
        self.device = device
        self.links = links
        self.sessions = sessions
        self.switchboard = switchboard
        state = Mutex(State(switches: switches))
        let port = if case .tcp(_, let port) = links.address { port } else { 0 as UInt16 }
        address = RelayAddress(host: "127.0.0.1", port: port, id: device.id.description)
        switchboard.start(
            switches: { [weak self] in self?.switches ?? Switches() },
            passed: { [weak self] bytes in self?.state.withLock { $0.passed += bytes.readableBytesView } },
            misses: { [weak self] in
                self?.state.withLock { state in
                    guard state.switches.missedCount > 0 else { return false }
                    state.switches.missedCount -= 1
                    return true
                } ?? false
            },
            glued: { [weak self] in self?.state.withLock { $0.gluedCount += 1 } })
    }

    /// Ends everything, as a relay does that is stopped.
    func stop() async {
        await links.close()
        await sessions.close()
        for link in state.withLock({ Array($0.links.values) }) { await link.close() }
        await switchboard.closeAll()
        await task.withLock { $0 }?.value
    }

    private func serve(_ link: SecureLink) async {
        let key = ObjectIdentifier(link.channel)
        state.withLock { $0.links[key] = link }
        // A client that goes away is no failure of the relay.
        try? await link.executeThenClose { inbound, outbound in
            var reader = RelayFrameReader()
            for try await bytes in inbound {
                reader.append(bytes)
                while let message = try reader.next() {
                    guard try await answer(message, from: link, outbound) else { return }
                }
            }
        }
        let wasJoined = state.withLock { state in
            state.links[key] = nil
            guard state.joined[link.peer]?.channel === link.channel else { return false }
            state.joined[link.peer] = nil
            state.writers[link.peer] = nil
            return true
        }
        if wasJoined { await switchboard.close(of: link.peer) }
    }

    /// Answers one message; false if the connection is over then.
    private func answer(_ message: RelayMessage, from link: SecureLink, _ writer: LinkWriter) async throws -> Bool {
        let switches = switches
        if switches.isSilent { return true }
        switch message {
        case .ping: try await writer.write(RelayMessage.pong.encoded)
        case .pong: break
        case .joinRelayRequest(let token):
            if switches.isFull {
                try await writer.write(RelayMessage.relayFull.encoded)
                return false
            }
            let code = state.withLock { state -> Int32 in
                state.joinRequestCount += 1
                if token != switches.token { return RelayResponse.wrongToken }
                if state.joined[link.peer] != nil { return RelayResponse.alreadyConnected }
                state.joined[link.peer] = link
                state.writers[link.peer] = writer
                return RelayResponse.success
            }
            try await writer.write(response(code).encoded)
            return code == RelayResponse.success
        case .connectRequest(let bytes): try await connect(to: bytes, from: link.peer, writer, switches)
        default:
            try await writer.write(response(RelayResponse.unexpectedMessage).encoded)
            return false
        }
        if case .connectRequest = message { return false }
        return true
    }

    private func connect(
        to bytes: [UInt8], from device: DeviceID, _ writer: LinkWriter, _ switches: Switches
    ) async throws {
        let found = state.withLock { state in
            state.joined.keys.first { $0.digest.bytes == bytes }.flatMap { id in state.writers[id].map { (id, $0) } }
        }
        guard let (other, otherWriter) = found, case .tcp(_, let port) = sessions.address else {
            try await writer.write(response(RelayResponse.notFound).encoded)
            return
        }
        let keys = await switchboard.makeSession(of: device, and: other)
        func offer(from: DeviceID, key: [UInt8], isServer: Bool) -> ByteBuffer {
            RelayMessage.sessionInvitation(
                SessionInvitation(
                    from: from, key: key, address: switches.saysNoAddress ? nil : IPAddress("127.0.0.1"), port: port,
                    isServer: isServer)
            ).encoded
        }
        try await writer.write(offer(from: other, key: keys.0, isServer: switches.swapsRoles))
        let invitation = offer(from: device, key: keys.1, isServer: !switches.swapsRoles)
        try await otherWriter.write(invitation)
        if switches.repeatsInvitations { try await otherWriter.write(invitation) }
    }
}
