import BlockExchange
import NIOCore
import Synchronization

/// A peer at the other end of a wire that says what a test has it say, true or not.
final class ScriptedPeer: Sendable {
    private struct State {
        var machine: ConnectionMachine
        var events: [ConnectionEvent] = []
        var hasEnded = false
    }

    let id: DeviceID
    let agent: DeviceID
    private let wire: MemoryWire
    private let side: MemoryWire.Side
    private let state: Mutex<State>

    /// - Parameter side: the one that dialled, if nothing is said.
    init(_ id: DeviceID, of agent: DeviceID, wire: MemoryWire, side: MemoryWire.Side = .dialler) {
        self.id = id
        self.agent = agent
        self.wire = wire
        self.side = side
        state = Mutex(State(machine: ConnectionMachine(compression: .never, now: .zero)))
        wire.attach(side) { bytes in
            self.state.withLock { state in
                state.machine.receive(bytes, at: .zero)
                while let event = try? state.machine.nextEvent() { state.events.append(event) }
            }
        } close: {
            self.state.withLock { $0.hasEnded = true }
        }
    }

    /// What the agent has said.
    var events: [ConnectionEvent] { state.withLock { $0.events } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// The reason that the agent gave for ending the link.
    var closeReason: String? {
        for case .closed(let reason) in events { return reason }
        return nil
    }

    var requests: [(id: Int32, request: BlockRequest)] {
        events.compactMap { if case .request(let id, let request) = $0 { (id, request) } else { nil } }
    }

    func sayHello(client: String = "syncthing", connections: Int32 = 0) {
        let hello = Hello(
            deviceName: "peer", clientName: client, clientVersion: "v1.27.0", connectionCount: connections)
        let bytes = state.withLock { $0.machine.start(hello, at: .zero) }
        wire.send(bytes, from: side)
    }

    func say(_ message: OutgoingMessage) {
        wire.send(state.withLock { $0.machine.send(message, at: .zero) }, from: side)
    }

    func ask(_ request: BlockRequest) {
        wire.send(state.withLock { $0.machine.request(request, at: .zero).bytes }, from: side)
    }

    func keep(_ request: KeepRequest) {
        wire.send(state.withLock { $0.machine.keep(request, at: .zero).bytes }, from: side)
    }

    var keepRequests: [(id: Int32, request: KeepRequest)] {
        events.compactMap { if case .keepRequest(let id, let request) = $0 { (id, request) } else { nil } }
    }

    var keepAnswers: [KeepAnswer] {
        events.compactMap { if case .keepAnswer(_, let answer) = $0 { answer } else { nil } }
    }

    func test(_ addresses: [String]) {
        let request = ReachRequest(addresses: addresses)
        wire.send(state.withLock { $0.machine.reach(request, at: .zero).bytes }, from: side)
    }

    var reachRequests: [(id: Int32, request: ReachRequest)] {
        events.compactMap { if case .reachRequest(let id, let request) = $0 { (id, request) } else { nil } }
    }

    var reachAnswers: [ReachAnswer] {
        events.compactMap { if case .reachAnswer(_, let answer) = $0 { answer } else { nil } }
    }

    func rename(_ request: RenameRequest) {
        wire.send(state.withLock { $0.machine.rename(request, at: .zero).bytes }, from: side)
    }

    var renameRequests: [(id: Int32, request: RenameRequest)] {
        events.compactMap { if case .renameRequest(let id, let request) = $0 { (id, request) } else { nil } }
    }

    var renameAnswers: [RenameAnswer] {
        events.compactMap { if case .renameAnswer(_, let answer) = $0 { answer } else { nil } }
    }

    /// Bytes that may be no message.
    func say(bytes: [UInt8]) { wire.send(raw: ByteBuffer(bytes: bytes), from: side) }

    /// What it shares: its index of the folder, and what it knows of the agent's.
    func config(
        _ folder: FolderID = SessionAgent.folder, has: Int64, id indexID: IndexID = IndexID(rawValue: 77)
    ) -> ClusterConfig {
        ClusterConfig(folders: [
            ClusterConfig.Folder(
                id: folder,
                devices: [
                    ClusterConfig.Device(id: agent),
                    ClusterConfig.Device(id: id, maxSequence: has, indexID: indexID),
                ])
        ])
    }
}
