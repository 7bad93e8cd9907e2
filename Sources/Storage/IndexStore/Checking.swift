import GRDB

/// What a person wants to know of the index's file.
extension IndexStore {
    package struct Extent: Equatable, Sendable {
        /// Bytes of the database, without its log.
        package var bytes: Int64
        /// The last migration that was applied.
        package var schema: String
    }

    /// How much the index takes, and which schema it has.
    ///
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func extent() async throws -> Extent {
        try await read { database in
            func number(_ pragma: String) throws -> Int64 {
                try RawStatement(database, "PRAGMA \(pragma)").first { $0.integer(0) } ?? 0
            }
            let (bytes, overflows) = try number("page_count").multipliedReportingOverflow(by: try number("page_size"))
            return Extent(
                bytes: overflows ? .max : bytes,
                schema: try Schema.migrator.completedMigrations(database).last ?? "none")
        }
    }

    /// Reads the whole file beside other readers and looks for damage: some milliseconds for each megabyte. Cancelling the task
    /// ends it at once.
    ///
    /// - Returns: what is wrong, a line each, at most three; empty if nothing is.
    /// - Throws: `IndexStoreError`; `CancellationError`.
    package func damage() async throws -> [String] {
        try await read { database in
            // One row `ok`, or a row for each fault.
            try String.fetchAll(database, sql: "PRAGMA quick_check(3)").filter { $0 != "ok" }
        }
    }
}
