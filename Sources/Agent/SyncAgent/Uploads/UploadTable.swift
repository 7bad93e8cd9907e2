import Arithmetic
import ControlAPI

/// Which uploads there are, whose they are, and when they are over. Pure: who calls has the clock and the ids.
struct UploadTable: Equatable, Sendable {
    struct Record: Codable, Equatable, Sendable {
        /// 64 hexadecimal digits that nobody can guess.
        var id: String
        /// The session that began it; nil for who opened the socket.
        var session: String?
        var folder: String
        /// As it was asked for.
        var wanted: String
        /// Where its bytes are put together.
        var path: String
        var size: Int64
        var modified: Int64?
        var clash: UploadClash
        /// Bytes that had arrived when it was last heard of.
        var received: Int64 = 0
        /// Seconds since 1970: the last time that it was heard of.
        var touched: Int64

        var remaining: Int64 { size.subtractingClamped(min(received, size)) }
    }

    /// Seconds after which it is stored again that an upload was heard of.
    private static let storingPause: Int64 = 600

    private(set) var records: [String: Record] = [:]
    /// When each was last stored.
    private var stored: [String: Int64] = [:]

    init() {}

    /// Those of an earlier run of the agent; what makes no sense is skipped.
    init(restoring records: [Record]) {
        for record in records.prefix(UploadLimits.count)
        where Self.isID(record.id) && record.received >= 0 && record.received <= record.size {
            self.records[record.id] = record
            stored[record.id] = record.touched
        }
    }

    /// In the order of their paths, for `uploads.json`.
    var storable: [Record] {
        records.values.sorted { ($0.folder, $0.path, $0.id) < ($1.folder, $1.path, $1.id) }
    }

    /// The upload that the session began of the same file.
    func earlier(_ request: UploadRequest, folder: String, path: String) -> Record? {
        storable.first {
            $0.session == request.session && $0.folder == folder && $0.wanted == path && $0.size == request.size
                && $0.modified == request.modified
        }
    }

    /// Bytes that are still to come of all uploads to a folder.
    func remaining(in folder: String) -> Int64 {
        records.values.filter { $0.folder == folder }.reduce(0) { $0.addingClamped($1.remaining) }
    }

    /// - Throws: `ControlError` `busy` if there are too many.
    mutating func add(_ record: Record) throws(ControlError) {
        guard records.count < UploadLimits.count else {
            throw ControlError(
                .busy, "\(UploadLimits.count) uploads are not finished. Finish or cancel some of them.",
                isRetryable: true)
        }
        records[record.id] = record
        stored[record.id] = record.touched
    }

    /// - Throws: `ControlError` `notFound` for one that there is not, or that another session began.
    func record(_ id: String, of session: String?) throws(ControlError) -> Record {
        guard let record = records[id], record.session == session else {
            throw ControlError(.notFound, "No such upload: it was cancelled or has expired. Begin it again.")
        }
        return record
    }

    /// More of it has arrived. True if that is to be stored.
    mutating func touch(_ id: String, received: Int64, at now: Int64) -> Bool {
        guard records[id] != nil else { return false }
        records[id]?.received = received
        records[id]?.touched = now
        guard now.subtractingClamped(stored[id] ?? 0) >= Self.storingPause else { return false }
        stored[id] = now
        return true
    }

    /// Its bytes will be put together elsewhere.
    mutating func move(_ id: String, to path: String) { records[id]?.path = path }

    mutating func remove(_ id: String) {
        records[id] = nil
        stored[id] = nil
    }

    /// Those that nothing was heard of for a day. A clock that was set back makes nothing older.
    func expired(at now: Int64) -> [Record] {
        storable.filter { now.subtractingClamped($0.touched) >= UploadLimits.lifetime }
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
