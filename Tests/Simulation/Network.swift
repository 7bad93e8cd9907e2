import BlockExchange
import NIOCore
import SyncTestKit
import Synchronization

@testable import SessionTestKit

/// The wires between agents. All that is sent on them waits until it is delivered by the simulation: message by message, in
/// pieces, or never.
struct Network {
    struct Pair: Hashable, Comparable, Sendable {
        var from: Int
        var to: Int

        var reversed: Pair { Pair(from: to, to: from) }

        static func < (left: Pair, right: Pair) -> Bool { (left.from, left.to) < (right.from, right.to) }
    }

    /// One wire and who is at its ends.
    struct Line: Sendable {
        let number: Int
        let wire: MemoryWire
        let dialler: Int
        let answerer: Int

        func end(_ side: MemoryWire.Side) -> Int { side == .dialler ? dialler : answerer }
        func side(of agent: Int) -> MemoryWire.Side { agent == dialler ? .dialler : .answerer }
        func joins(_ pair: Pair) -> Bool { Set([dialler, answerer]) == Set([pair.from, pair.to]) }
        func has(_ agent: Int) -> Bool { agent == dialler || agent == answerer }
    }

    /// One direction of a wire.
    struct Lane: Sendable {
        let line: Line
        let side: MemoryWire.Side

        var pair: Pair { Pair(from: line.end(side), to: line.end(side.other)) }
        var waitingTypes: [Int?] { line.wire.waitingTypes(from: side) }
    }

    private(set) var lines: [Line] = []
    private var lastNumber = 0

    /// Whether two agents have a wire on which both may send.
    func isUp(_ pair: Pair) -> Bool { lines.contains { $0.joins(pair) && $0.wire.isOpen } }

    /// Makes a wire on which everything waits.
    mutating func connect(_ dialler: Int, _ answerer: Int, _ trace: Trace) -> Line {
        lastNumber += 1
        let listeners = [Listener(from: dialler, to: answerer, trace), Listener(from: answerer, to: dialler, trace)]
        let wire = MemoryWire(number: lastNumber, isHeld: true) { side, bytes in listeners[side.rawValue].hear(bytes) }
        let line = Line(number: lastNumber, wire: wire, dialler: dialler, answerer: answerer)
        lines.append(line)
        return line
    }

    /// Forgets wires of which nothing comes any more.
    mutating func prune() { lines.removeAll(where: \.wire.isOver) }

    func lines(of agent: Int) -> [Line] { lines.filter { $0.has(agent) } }

    /// The directions in which something waits, oldest wires first.
    var waiting: [Lane] {
        lines.flatMap { line in MemoryWire.Side.allCases.map { Lane(line: line, side: $0) } }
            .filter { !$0.line.wire.isCut && $0.line.wire.waitingCount(from: $0.side) > 0 }
    }
}

/// Notes for the trace what arrives in one direction of a wire.
final class Listener: Sendable {
    private let from: Int
    private let to: Int
    private let trace: Trace
    private let machine = Mutex(ConnectionMachine(compression: .never, now: .zero))

    init(from: Int, to: Int, _ trace: Trace) {
        (self.from, self.to, self.trace) = (from, to, trace)
    }

    func hear(_ bytes: ByteBuffer) {
        machine.withLock { machine in
            machine.receive(bytes, at: .zero)
            while let event = try? machine.nextEvent() { note(event) }
        }
    }

    private func note(_ event: ConnectionEvent) {
        switch event {
        case .index(let batch):
            let words = batch.files.map { file in
                "\(file.name)\(file.isDeleted ? " gone" : "")\(file.isInvalid ? " invalid" : "") \(file.version)"
            }
            trace.noteChange("\(from) tells \(to): \(words.joined(separator: "; "))")
        case .clusterConfig(let config):
            let words = config.folders.map { folder in
                "\(folder.stopReason == 0 ? "" : "paused, ")"
                    + folder.devices.map { "\($0.indexID) \($0.maxSequence)" }.joined(separator: ", ")
            }
            trace.note("\(from) shares with \(to): \(words.joined(separator: "; "))")
        case .request(_, let request): trace.note("    \(from): \(request.name) at \(request.offset) from \(to)")
        case .closed(let reason): trace.note("\(from) leaves \(to): \(reason)")
        case .keepRequest(_, let request):
            trace.note("\(from) to \(to): \(request.kind) \(request.entries.map(\.name).joined(separator: " "))")
        case .hello, .response, .downloadProgress, .keepAnswer, .reachRequest, .reachAnswer, .renameRequest,
            .renameAnswer:
            break
        }
    }
}
