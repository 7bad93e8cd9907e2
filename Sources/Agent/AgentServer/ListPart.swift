import ControlAPI
import Synchronization

/// A part of a list that the agent gives as a stream, as one document. For lists that are short: what stands before the
/// part is made and thrown away.
final class ListPart: Sendable {
    /// Ends a stream of which enough has been seen.
    struct Enough: Error {}

    private struct State {
        var seen = 0
        var bytes: [UInt8] = []
        var count = 0
    }

    private let range: PageRange
    private let state = Mutex(State())

    init(_ range: PageRange) { self.range = range }

    /// Takes the next line. Throws `Enough` when the part is complete and there is more, so that its end is not known.
    func add(_ line: () throws -> [UInt8]) throws {
        try state.withLock { state in
            defer { state.seen += 1 }
            guard state.seen >= range.offset else { return }
            guard state.count < range.limit else { throw Enough() }
            if state.count > 0 { state.bytes.append(UInt8(ascii: ",")) }
            state.bytes += try line()
            state.count += 1
        }
    }

    /// - Parameter isWhole: the stream ended by itself, so that what was seen is all.
    func document(isWhole: Bool) -> [UInt8] {
        state.withLock { state in
            EntryPage.json(of: state.bytes, offset: range.offset, total: isWhole ? state.seen : nil)
        }
    }
}

extension ListPart: LineWriter {
    func write(_ line: some ControlLine) async throws {
        try add {
            var bytes: [UInt8] = []
            try line.append(to: &bytes)
            bytes.removeLast()
            return bytes
        }
    }
}

extension ControlResponder {
    /// The document of a part; nil if the query does not ask for one, or the endpoint has none.
    func part(of routed: RoutedRequest) async throws -> [UInt8]? {
        guard routed.endpoint.isPaged, case .lines(_, let write) = routed.reply,
            let range = try PageRange(routed.query)
        else { return nil }
        let part = ListPart(range)
        do {
            try await write(part)
        } catch is ListPart.Enough {
            return part.document(isWhole: false)
        }
        return part.document(isWhole: true)
    }
}
