import ControlAPI
import Synchronization

/// A response that is lines: NDJSON or server-sent events. The head goes out with the first of them.
///
/// Its functions are called one after the other, as `Endpoints` promises of `emit`.
final class LineStream: Sendable {
    enum Framing { case lines, serverSentEvents }

    /// Bytes of entries that are sent together.
    private static let batch = 64 << 10
    /// Entries wait for no longer than this for their batch, if there is another one.
    private static let patience = Duration.milliseconds(100)

    private struct State {
        var hasBegun = false
        var waiting: [UInt8] = []
        var lastSent: ContinuousClock.Instant
    }

    private let sink: ResponseSink
    private let framing: Framing
    private let pace: LinePace
    private let clock = ContinuousClock()
    private let state: Mutex<State>

    init(sink: ResponseSink, framing: Framing, pace: LinePace) {
        self.sink = sink
        self.framing = framing
        self.pace = pace
        state = Mutex(State(lastSent: clock.now))
    }

    var hasBegun: Bool { state.withLock(\.hasBegun) }

    func begin() async throws {
        let isFirst = state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        guard isFirst else { return }
        let type =
            switch framing {
            case .lines: "application/x-ndjson"
            case .serverSentEvents: "text/event-stream"
            }
        try await sink.begin(status: 200, contentType: type)
    }

    /// Sends a document at once.
    ///
    /// - Parameter id: of a server-sent event: what the client comes back with.
    func send(_ json: [UInt8], name: String, id: String? = nil) async throws {
        try await begin()
        switch framing {
        case .lines: try await sink.write(json + "\n".utf8)
        case .serverSentEvents:
            let head = (id.map { "id: \($0)\n" } ?? "") + "event: \(name)\ndata: "
            try await sink.write(head.utf8 + json + "\n\n".utf8)
        }
    }

    /// Says what a client of server-sent events comes back with, without an event.
    func send(id: String) async throws {
        try await begin()
        if framing == .serverSentEvents { try await sink.write(Array("id: \(id)\n\n".utf8)) }
    }

    /// Sends the batch when it is large or old enough.
    private func add(_ line: (inout [UInt8]) throws(ControlError) -> Void) async throws {
        let now = clock.now
        let full: [UInt8]? = try state.withLock { state in
            try line(&state.waiting)
            guard state.waiting.count >= Self.batch || now - state.lastSent > Self.patience else { return nil }
            state.lastSent = now
            defer { state.waiting.removeAll(keepingCapacity: true) }
            return state.waiting
        }
        guard let full else { return }
        try Task.checkCancellation()
        try await begin()
        try await sink.write(full)
    }

    func end() async throws {
        try await begin()
        let rest = state.withLock(\.waiting)
        if !rest.isEmpty { try await sink.write(rest) }
        try await sink.end()
    }

    /// Ends with what there is and the error as the last line.
    func end(_ error: ControlError) async {
        do {
            let rest = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            if !rest.isEmpty { try await sink.write(rest) }
            try await send(try ControlJSON.encode(error), name: "error")
            try await sink.end()
        } catch {
            // The client is gone and its connection with it: nobody is left to tell.
            sink.channel.close(promise: nil)
        }
    }
}

extension LineStream: LineWriter {
    func write(_ line: some ControlLine) async throws {
        guard pace == .batched else {
            var bytes: [UInt8] = []
            try line.append(to: &bytes)
            try await begin()
            return try await sink.write(bytes)
        }
        try await add { waiting throws(ControlError) in try line.append(to: &waiting) }
    }
}
