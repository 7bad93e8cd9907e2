public import ControlAPI
import NIOCore

extension ControlClient {
    public func archive(_ query: ArchiveQuery) async throws -> ArchiveListing {
        try await document(.archive(.list(query)))
    }

    public func memberFacts(_ member: MemberReference) async throws -> MemberFacts {
        try await exchange(.archive(.memberHead(member))) { head, _ in
            guard let size = head.headers.first(name: "content-length").flatMap({ Int64($0) }) else {
                throw ControlError.brokenOff
            }
            return MemberFacts(size: size, isSeekable: head.headers.first(name: "accept-ranges") == "bytes")
        }
    }

    public func readMember(
        _ member: MemberReference, range: ByteRange?,
        start: @Sendable (MemberFacts, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await exchange(.archive(.member(member)), range: range) { head, body in
            guard let count = head.headers.first(name: "content-length").flatMap({ Int64($0) }), count >= 0 else {
                throw ControlError.brokenOff
            }
            var facts = MemberFacts(size: count, isSeekable: head.headers.first(name: "accept-ranges") == "bytes")
            var part = count > 0 ? 0...count - 1 : nil
            if head.status.code == 206 {
                guard let text = head.headers.first(name: "content-range"), let size = text.split(separator: "/").last,
                    let whole = Int64(size), let resolved = range?.resolved(size: whole)
                else { throw ControlError.brokenOff }
                facts.size = whole
                part = resolved
            }
            try await start(facts, part)
            while let chunk = try await body.next() { try await emit([UInt8](chunk.readableBytesView)) }
        }
    }
}
