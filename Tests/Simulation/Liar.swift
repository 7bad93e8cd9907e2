import BlockExchange
import Cryptography
import NIOCore
import SyncTestKit

@testable import SessionTestKit

/// A device that all others share the folder with, and that lies: in what it announces, in what it answers, and in which order.
/// Nothing that it announces as a file's content can be had, so none of it may ever be in a place.
///
/// It announces no deletions and nothing without content: that is what any device may do, and cannot be told from the truth.
struct Liar {
    let number: Int
    let id: DeviceID
    private var generator: SeededGenerator
    /// Its links by the agents at their other ends.
    private var links: [Int: Link] = [:]
    /// What the others have announced to it.
    private var known: [String: FileInfo] = [:]
    private var indexID: IndexID
    private var sequence: Int64 = 0
    /// It says that it has what others have.
    private let claimsToHave: Bool

    private struct Link {
        let peer: ScriptedPeer
        var eventCount = 0
        /// Requests that it has not answered, and may never.
        var requests: [(id: Int32, request: BlockRequest)] = []
    }

    init(number: Int, seed: UInt64, claimsToHave: Bool = false) {
        self.number = number
        self.claimsToHave = claimsToHave
        var generator = SeededGenerator(seed: seed)
        id = DeviceID(digest: SHA256.digest(generator.bytes(32)))
        indexID = IndexID(rawValue: generator.next() | 1)
        self.generator = generator
    }

    func isLinked(to agent: Int) -> Bool { links[agent].map { !$0.peer.hasEnded } ?? false }

    /// Begins to talk on the dialler's side of a wire.
    mutating func talk(to agent: SimulatedAgent, over wire: MemoryWire) {
        let peer = ScriptedPeer(id, of: agent.id, wire: wire)
        links[agent.number] = Link(peer: peer)
        peer.sayHello(client: generator.pick(["syncthing", "synctrain"]))
        peer.say(.clusterConfig(config(for: agent.id)))
    }

    private mutating func config(for agent: DeviceID) -> ClusterConfig {
        let theirs = ClusterConfig.Device(
            id: agent, maxSequence: Int64(generator.int(0...30)), indexID: IndexID(rawValue: generator.next()))
        let own = ClusterConfig.Device(
            id: id, maxSequence: generator.pick([0, sequence, sequence + 100, .max]), indexID: indexID)
        let devices = generator.isOne(in: 3) ? [ClusterConfig.Device(id: agent), own] : [theirs, own]
        return ClusterConfig(folders: [ClusterConfig.Folder(id: SimulatedAgent.folder, devices: devices)])
    }

    /// Hears what has arrived, and answers what it likes to answer. False if there was nothing.
    mutating func react() -> Bool {
        var hasHeard = false
        for number in links.keys.sorted() {
            guard var link = links[number] else { continue }
            let events = link.peer.events
            for event in events[link.eventCount...] {
                hasHeard = true
                switch event {
                case .index(let batch): for file in batch.files { known[file.name] = file }
                case .request(let id, let request): link.requests.append((id, request))
                default: break
                }
            }
            link.eventCount = events.count
            while let (id, request) = link.requests.popLast() {
                // Who never answers is left by the timeout of the link.
                if generator.isOne(in: 40) { continue }
                link.peer.say(.response(answer(id, request)))
            }
            links[number] = link
        }
        return hasHeard
    }

    private mutating func answer(_ id: Int32, _ request: BlockRequest) -> BlockResponse {
        let size = Int(clamping: max(0, request.size))
        switch generator.int(0...19) {
        case 0...9: return BlockResponse(id: id, data: ByteBuffer(bytes: generator.bytes(size)), code: .ok)
        case 10...12:
            return BlockResponse(id: id, data: ByteBuffer(bytes: generator.bytes(size / 2)), code: .ok)
        case 13: return BlockResponse(id: id, data: ByteBuffer(), code: .ok)
        case 14: return BlockResponse(id: id, data: ByteBuffer(bytes: generator.bytes(size + 1)), code: .ok)
        case 15: return BlockResponse(id: id &+ 1, data: ByteBuffer(bytes: generator.bytes(size)), code: .ok)
        default:
            return BlockResponse(
                id: id, data: ByteBuffer(), code: generator.pick([.generic, .noSuchFile, .invalidFile]))
        }
    }

    /// Does one thing to an agent that it has a link with; in words.
    mutating func act(on agent: SimulatedAgent) -> String {
        guard let peer = links[agent.number]?.peer else { return "nothing" }
        switch generator.int(0...19) {
        case 0...11:
            let files = (0..<generator.int(1...4)).map { _ in lie() }
            let isFull = generator.isOne(in: 4)
            peer.say(
                .index(
                    folder: SimulatedAgent.folder, files: files, isFullIndex: isFull,
                    previousSequence: generator.pick([0, sequence, 1 << 40])))
            return "\(isFull ? "index" : "update") \(files.map { "\($0.name) \($0.version) #\($0.sequence)" })"
        case 12...13:
            sequence = Int64(generator.int(0...Int(clamping: sequence)))
            return "goes back to #\(sequence)"
        case 14:
            indexID = IndexID(rawValue: generator.next() | 1)
            peer.say(.clusterConfig(config(for: agent.id)))
            return "has another index"
        case 15:
            peer.say(.clusterConfig(generator.isOne(in: 4) ? ClusterConfig() : config(for: agent.id)))
            return "shares"
        case 16...17:
            let request = BlockRequest(
                folder: SimulatedAgent.folder, name: generator.pick(Simulation.names + [".stignore", "../x", ""]),
                offset: generator.pick([0, 1, 1 << 17, -1, .max]), size: generator.pick([0, 1, 1 << 17, 1 << 24]),
                hash: generator.isOne(in: 2) ? nil : SHA256.digest(generator.bytes(4)))
            peer.ask(request)
            return "asks for \(request.name)"
        case 18:
            peer.say(.close(reason: "a lie"))
            return "leaves"
        default:
            peer.say(bytes: generator.bytes(generator.int(1...400)))
            return "talks nonsense"
        }
    }

    /// A file that nobody has, as it announces it.
    private mutating func lie() -> FileInfo {
        let name = generator.pick(Simulation.names)
        sequence += Int64(generator.int(1...3))
        let truth = known[name]
        if claimsToHave, var claim = truth, claim.kind == .file, !claim.isDeleted, !claim.isInvalid,
            !generator.isOne(in: 3)
        {
            claim.sequence = sequence
            return claim
        }
        var version = VersionVector([.init(id: id.shortID, value: UInt64(generator.int(1...50)))])
        if let truth {
            switch generator.int(0...5) {
            // Other content under the same version.
            case 0...1 where truth.kind == .file && !truth.isDeleted && !truth.isInvalid: version = truth.version
            // A version that another device might make next.
            case 2 where truth.modifiedBy.rawValue != 0:
                version = truth.version.updated(by: truth.modifiedBy, unixSeconds: 0)
            case 3: break
            default: version = truth.version.updated(by: id.shortID, unixSeconds: 0)
            }
        }
        let sizes = generator.pick([[generator.int(1...400)], [BlockSize.minimum, generator.int(1...400)]])
        var offset: Int64 = 0
        var blocks: [BlockInfo] = []
        for size in sizes {
            blocks.append(BlockInfo(offset: offset, size: Int32(size), hash: SHA256.digest(generator.bytes(16))))
            offset += Int64(size)
        }
        var file = FileInfo(
            name: name, size: offset, permissions: generator.pick([0o644, 0o600, 0o755]),
            modifiedSeconds: VirtualTime.origin + Int64(generator.int(-30_000...30_000)),
            isInvalid: generator.isOne(in: 8), version: version, sequence: sequence, modifiedBy: id.shortID,
            blockSize: Int32(BlockSize.minimum), blocks: blocks)
        // No file can be so: such a message ends the link.
        if generator.isOne(in: 30) { file.size += 1 }
        return file
    }
}

extension Simulation {
    /// Lets the liar do something, if there is one.
    func lie() throws {
        guard let number = liar?.number else { return }
        let up = agents.filter(\.isUp)
        guard !up.isEmpty, generator.isOne(in: 3) else { return }
        let agent = generator.pick(up)
        guard liar?.isLinked(to: agent.number) == true else {
            let line = network.connect(number, agent.number, trace)
            trace.note("the liar dials \(agent.number)")
            liar?.talk(to: agent, over: line.wire)
            if let id = liar?.id { try agent.serve(.answerer, of: line.wire, to: id) }
            return
        }
        let words = liar?.act(on: agent) ?? ""
        trace.note("the liar, to \(agent.number): \(words)")
    }

    /// All users remove the device that lies. What it announced counts no more.
    func banishLiar() async throws {
        guard let id = liar?.id else { return }
        liar = nil
        trace.note("the liar is banished")
        for agent in agents {
            agent.disk.condition = .healthy
            agent.disk.planNoEnd()
            if !agent.isUp { try await start(agent) }
            await agent.process?.links.remove(id)
            try await agent.process?.index.dropDevice(id)
            try await configure(agent)
        }
    }
}
