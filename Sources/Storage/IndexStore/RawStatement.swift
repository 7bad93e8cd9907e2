import GRDB
import GRDBSQLite

/// A prepared statement driven by SQLite's own calls: per row this costs about half of what arguments and rows of GRDB
/// do. The connection's cache owns it until the schema changes or the connection ends, so it must not leave the `write`
/// or `read` it was made in; not owning it here keeps reference counts out of the hot paths.
struct RawStatement {
    private let handle: OpaquePointer

    init(_ database: Database, _ sql: String) throws {
        handle = try database.cachedStatement(sql: sql).sqliteStatement
    }

    func bind(_ index: Int32, _ value: Int64) throws { try check(sqlite3_bind_int64(handle, index, value)) }

    func bind(_ index: Int32, _ value: Int64?) throws {
        guard let value else { return try check(sqlite3_bind_null(handle, index)) }
        try bind(index, value)
    }

    /// Binds text without a copy: `utf8` must live until the statement is reset.
    func bind(_ index: Int32, borrowedText utf8: UnsafeRawBufferPointer) throws {
        // A nil pointer would bind NULL, and an empty name is still text.
        guard let base = utf8.baseAddress, !utf8.isEmpty else {
            return try check(sqlite3_bind_text(handle, index, "", 0, Self.copied))
        }
        let characters = base.assumingMemoryBound(to: CChar.self)
        try check(sqlite3_bind_text64(handle, index, characters, UInt64(utf8.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// Binds bytes without a copy, NULL if there are none: `bytes` must live until the statement is reset.
    func bind(_ index: Int32, borrowedBlob bytes: UnsafeRawBufferPointer) throws {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return try check(sqlite3_bind_null(handle, index)) }
        try check(sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), nil))
    }

    /// Binds a copy of `text`.
    func bind(_ index: Int32, _ text: String) throws {
        var text = text
        try text.withUTF8 { utf8 in
            try utf8.withMemoryRebound(to: CChar.self) { characters in
                // An empty string has an address too, so this never binds NULL.
                try check(
                    sqlite3_bind_text64(
                        handle, index, characters.baseAddress, UInt64(characters.count), Self.copied,
                        UInt8(SQLITE_UTF8)))
            }
        }
    }

    /// Binds a copy of `utf8` as text.
    func bindText(_ index: Int32, _ utf8: [UInt8]) throws {
        try utf8.withUnsafeBytes { utf8 in
            guard let base = utf8.baseAddress, !utf8.isEmpty else { return try bind(index, borrowedText: utf8) }
            let characters = base.assumingMemoryBound(to: CChar.self)
            try check(
                sqlite3_bind_text64(
                    handle, index, characters, UInt64(utf8.count), Self.copied, UInt8(SQLITE_UTF8)))
        }
    }

    /// Binds a copy of `bytes`.
    func bind(_ index: Int32, _ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes {
            try check(sqlite3_bind_blob64(handle, index, $0.baseAddress, UInt64($0.count), Self.copied))
        }
    }

    /// Goes to the next row; false when there is none, and then the statement is reset.
    func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default: throw failure()
        }
    }

    /// Runs a statement that gives no rows.
    func run() throws {
        let result = sqlite3_step(handle)
        guard result == SQLITE_DONE || result == SQLITE_ROW else { throw failure() }
        sqlite3_reset(handle)
    }

    /// Runs the statement and hands its first row, if there is one, to `body`.
    func first<Result>(_ body: (RawStatement) throws -> Result) throws -> Result? {
        guard try step() else { return nil }
        defer { reset() }
        return try body(self)
    }

    /// Leaves the rows that were not read, so that no borrowed bytes are held.
    func reset() { sqlite3_reset(handle) }

    /// Rows that the last insert, update or delete of this connection changed.
    var changes: Int32 { sqlite3_changes(sqlite3_db_handle(handle)) }

    var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(sqlite3_db_handle(handle)) }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// A number that counts up from 0. Throws `MalformedRow` if it is negative or more than half of the range, so that
    /// adding to it cannot overflow.
    func counter(_ column: Int32) throws -> Int64 {
        let number = integer(column)
        guard (0...Int64.max / 2).contains(number) else { throw MalformedRow("a counter stands at \(number)") }
        return number
    }

    func optionalInteger(_ column: Int32) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, column)
    }

    func isBlob(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_BLOB }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// The bytes of a blob or text, valid until the next step or reset.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// SQLITE_TRANSIENT, a macro that is not imported: SQLite copies what it is given.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private func check(_ result: Int32) throws {
        guard result == SQLITE_OK else { throw failure() }
    }

    private func failure() -> DatabaseError {
        let connection = sqlite3_db_handle(handle)
        let error = DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
            message: String(cString: sqlite3_errmsg(connection)))
        sqlite3_reset(handle)
        return error
    }
}
