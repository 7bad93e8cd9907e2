import GRDB

/// The rows of `refused` of one folder: which announcements of its readers are no candidates.
struct RefusalTable {
    private let roles: [Int64: AnnouncerRole]
    private let select: RawStatement
    private let insert: RawStatement
    private let delete: RawStatement

    init(_ database: Database, folder: Folder) throws {
        roles = try Announcer.roles(of: folder.number, database)
        select = try RawStatement(
            database, "SELECT isOpen FROM refused WHERE announcer = ?1 AND isOpen IN (0, 1) AND entry = ?2")
        insert = try RawStatement(database, "INSERT INTO refused (announcer, isOpen, entry) VALUES (?1, ?2, ?3)")
        delete = try RawStatement(
            database, "DELETE FROM refused WHERE announcer = ?1 AND isOpen IN (0, 1) AND entry = ?2")
    }

    /// Whether nobody's announcements are refused: then nothing needs to be looked up.
    var isEmpty: Bool { roles.isEmpty }

    func isReader(_ announcer: Int64) -> Bool { roles[announcer] == .reader }

    func refusal(_ announcer: Int64, _ entry: Int64) throws -> Refusal {
        guard roles[announcer] != nil else { return .none }
        try select.bind(1, announcer)
        try select.bind(2, entry)
        return try select.first { $0.integer(0) != 0 ? .open : .superseded } ?? .none
    }

    func set(_ refusal: Refusal, _ announcer: Int64, _ entry: Int64) throws {
        try delete.bind(1, announcer)
        try delete.bind(2, entry)
        try delete.run()
        guard refusal != .none else { return }
        try insert.bind(1, announcer)
        try insert.bind(2, refusal == .open ? 1 : 0)
        try insert.bind(3, entry)
        try insert.run()
    }
}

extension Announcer {
    /// The announcers of a folder that are no ordinary writers.
    static func roles(of folder: Int64, _ database: Database) throws -> [Int64: AnnouncerRole] {
        let select = try RawStatement(database, "SELECT number, role FROM announcer WHERE folder = ?1 AND role <> 0")
        try select.bind(1, folder)
        defer { select.reset() }
        var roles: [Int64: AnnouncerRole] = [:]
        while try select.step() {
            guard let role = AnnouncerRole(rawValue: select.integer(1)) else { throw MalformedRow("a role") }
            roles[select.integer(0)] = role
        }
        return roles
    }
}
