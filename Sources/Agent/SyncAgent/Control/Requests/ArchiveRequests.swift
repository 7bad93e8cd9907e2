import AgentContext
import Archives
import ControlAPI
import Synchronization

/// What zips and ISO images hold.
struct ArchiveRequests: RequestGroup {
    let files: FileReading

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.archive) { try await archive($0) }
    }

    private func archive(_ query: ArchiveQuery) async throws -> ArchiveListing {
        try await reading(query.archive) {
            let archive = try await open(query.archive)
            let members = try archive.members(offset: query.offset, limit: query.limit)
            return ArchiveListing(
                members: members.map { ArchiveEntry($0) }, offset: query.offset, total: archive.memberCount)
        }
    }

    func memberFacts(_ member: MemberReference) async throws -> MemberFacts {
        try await reading(member.archive) {
            let found = try await open(member.archive).file(member.member)
            return MemberFacts(size: found.size, isSeekable: found.isSeekable)
        }
    }

    func readMember(
        _ member: MemberReference, range: ByteRange?,
        start: @Sendable (MemberFacts, ClosedRange<Int64>?) async throws -> Void,
        emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await reading(member.archive) {
            let archive = try await open(member.archive)
            let found = try archive.file(member.member)
            let asked = found.isSeekable ? range : nil
            let part = (asked ?? .bytes(from: 0, through: nil)).resolved(size: found.size)
            if asked != nil, part == nil {
                throw ControlError(
                    .rangeNotSatisfiable,
                    "The range is beyond the \(found.size) bytes of \(member.member). Ask for less.",
                    path: member.archive.text)
            }
            let facts = MemberFacts(size: found.size, isSeekable: found.isSeekable)
            // What goes wrong before the first bytes are here is still an answer of its own.
            let hasStarted = Mutex(false)
            try await archive.read(found, range: asked == nil ? nil : part) { bytes in
                if !hasStarted.withLock({ started in
                    defer { started = true }
                    return started
                }) {
                    try await start(facts, part)
                }
                try await emit(bytes)
            }
            if !hasStarted.withLock({ $0 }) { try await start(facts, part) }
        }
    }

    private func open(_ reference: PathReference) async throws -> Archive {
        let entry = try await files.entries.stat(reference)
        guard entry.kind == .file, let version = entry.details?.version else {
            throw ControlError(
                .invalidRequest, "\(reference.text) is not a file; give a zip file or an ISO image.",
                path: reference.text)
        }
        return try await Archive(
            IndexedArchive(files: files, reference: reference, version: version, size: entry.size), name: entry.path)
    }

    /// Runs `body` and says what is the matter with an archive in the words of the control API.
    private func reading<Result>(_ reference: PathReference, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as ArchiveError {
            throw ControlError(error, path: reference.text)
        }
    }
}

/// A file of the global index as an archive's bytes, all of one version.
private struct IndexedArchive: ArchiveSource {
    let files: FileReading
    let reference: PathReference
    let version: String
    let size: Int64

    func read(_ range: Range<Int64>, emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        try await files.read(reference, range: .bytes(from: range.lowerBound, through: range.upperBound - 1)) {
            entry, part in
            guard entry.details?.version == version, part == range.lowerBound...range.upperBound - 1 else {
                throw ControlError(
                    .interrupted, "\(reference.text) has just changed. Try again.", isRetryable: true,
                    path: reference.text)
            }
        } emit: {
            try await emit($0)
        }
    }
}

extension ArchiveEntry {
    fileprivate init(_ member: ArchiveMember) {
        let kind: Entry.Kind =
            switch member.kind {
            case .file: .file
            case .directory: .directory
            case .symlink: .symlink
            }
        self.init(
            path: member.path, kind: kind, size: member.size,
            modified: member.modified.map { WallTime(seconds: $0).rfc3339 },
            encrypted: member.isEncrypted ? true : nil, target: member.target)
    }
}

extension ControlError {
    fileprivate init(_ error: ArchiveError, path: String) {
        let code: Code =
            switch error.code {
            case .notArchive, .unsupported, .encrypted, .notFile: .invalidRequest
            case .damaged: .failed
            case .tooLarge: .tooLarge
            case .noSuchMember: .noSuchPath
            case .rangeNotSatisfiable: .rangeNotSatisfiable
            }
        self.init(code, error.message, path: path)
    }
}
