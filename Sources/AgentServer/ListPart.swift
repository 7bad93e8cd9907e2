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
            Self.document(state.bytes, offset: range.offset, total: isWhole ? state.seen : nil)
        }
    }

    static func document(_ entries: [UInt8], offset: Int, total: Int?, isTruncated: Bool = false) -> [UInt8] {
        var bytes = Array(#"{"schema":1,"entries":["#.utf8) + entries + #"],"offset":\#(offset)"#.utf8
        if let total { bytes += #","total":\#(total)"#.utf8 }
        if isTruncated { bytes += #","truncated":true"#.utf8 }
        return bytes + "}".utf8
    }
}

extension ControlResponder {
    /// The document of a part; nil if the query does not ask for one, or the operation has none.
    func part(of operation: ControlOperation, _ request: ControlRequest) async throws -> [UInt8]? {
        switch operation {
        case .selection, .extraneous, .needs, .versions, .conflicts, .refused, .cluster(.remoteNeeds),
            .cluster(.changes):
            break
        default: return nil
        }
        if case .cluster(.changes(let query)) = operation { return try await part(ofChanges: query, request) }
        guard let range = try PageRange(try request.query()) else { return nil }
        let part = ListPart(range)
        do {
            try await run(operation, into: part)
        } catch is ListPart.Enough {
            return part.document(isWhole: false)
        }
        return part.document(isWhole: true)
    }

    private func run(_ operation: ControlOperation, into part: ListPart) async throws {
        switch operation {
        case .selection(let folder):
            try await control.selection(folder: folder) { path in try part.add { try ControlJSON.encode(path) } }
        case .extraneous(let folder):
            try await control.extraneous(folder: folder) { entry in try part.add { try EntryLine.json(entry) } }
        case .needs(let folder):
            try await control.needs(folder: folder) { entry in try part.add { try EntryLine.json(entry) } }
        case .cluster(.remoteNeeds(let device, let folder)):
            try await control.needs(ofDevice: device, folder: folder) { entry in
                try part.add { try EntryLine.json(entry) }
            }
        case .versions(let path):
            try await control.versions(path) { version in try part.add { try ControlJSON.encode(version) } }
        case .conflicts(let folder):
            try await control.conflicts(folder: folder) { found in try part.add { try ControlJSON.encode(found) } }
        case .refused(let folder):
            try await control.refused(folder: folder) { change in try part.add { try ControlJSON.encode(change) } }
        default: break
        }
    }

    /// The newest come first: pages go back in time.
    private func part(ofChanges query: ChangeQuery, _ request: ControlRequest) async throws -> [UInt8]? {
        guard let range = try PageRange(try request.query(), isLimitAlone: false) else { return nil }
        guard !query.isFollowing else {
            throw ControlError(.invalidRequest, "Changes are followed or asked for in parts, not both.")
        }
        var query = query
        query.limit = min(ChangeQuery.largestLimit, range.offset + range.limit)
        let changes = Mutex<[ChangeEntry]>([])
        try await control.changes(query) { change in changes.withLock { $0.append(change) } }
        let part = ListPart(range)
        let found = changes.withLock { $0 }
        for change in found.reversed().prefix(range.offset + range.limit) {
            try part.add { try ControlJSON.encode(change) }
        }
        return part.document(isWhole: found.count < query.limit)
    }

    /// As `ControlJSON` would write it, with the entries written by hand.
    static func document(of page: EntryPage) throws(ControlError) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, entry) in page.entries.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += try EntryLine.json(entry)
        }
        return ListPart.document(
            bytes, offset: page.offset, total: page.total, isTruncated: page.isTruncated ?? false)
    }
}
