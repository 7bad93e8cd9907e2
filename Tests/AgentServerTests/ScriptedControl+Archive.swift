import ControlAPI

/// An archive of three names; its file has the bytes 0 to 255 over and over, and its packed one too.
extension ScriptedControl {
    static let memberContent = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }

    private static let members = [
        ArchiveEntry(path: "dir", kind: .directory, size: 0),
        ArchiveEntry(path: "dir/side.html", kind: .file, size: 100_000, modified: Sample.time),
        ArchiveEntry(path: "../packed\u{1B}", kind: .file, size: 100_000, encrypted: true),
    ]

    func addArchive(to table: inout EndpointHandlers) {
        table.on(Endpoints.archive) { query in
            try self.note("archive \(query.archive.text) \(query.offset) \(query.limit)")
            // Two at a time, however many were asked for: a client asks for the rest.
            let members = Self.members.dropFirst(query.offset).prefix(min(2, query.limit))
            return ArchiveListing(members: Array(members), offset: query.offset, total: Self.members.count)
        }
    }

    func readMember(
        _ member: MemberReference, _ range: ByteRange?,
        start: @Sendable (MemberFacts, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try note("member \(member.archive.text) \(member.member) \(range?.text ?? "all")")
        let facts = MemberFacts(size: 100_000, isSeekable: member.member != "packed")
        let part = (facts.isSeekable ? range ?? .bytes(from: 0, through: nil) : .bytes(from: 0, through: nil))
            .resolved(size: 100_000)
        guard let part else { throw ControlError(.rangeNotSatisfiable, "Ask for less.") }
        try await start(facts, part)
        let bytes = Self.memberContent[Int(part.lowerBound)...Int(part.upperBound)]
        if member.member == "damaged" {
            try await emit(Array(bytes.dropLast(10)))
            throw ControlError(.failed, "The archive is damaged.")
        }
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 30_000) {
            try await emit(Array(bytes[start..<min(bytes.endIndex, start + 30_000)]))
        }
    }
}
