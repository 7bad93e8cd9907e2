/// What a test waited for did not come true.
package struct NeverTrue: Error, CustomStringConvertible {
    package let description: String

    package init(turnCount: Int, fileID: String, line: Int) {
        description = "the condition at \(fileID):\(line) was not true within \(turnCount) turns"
    }
}

/// Yields until something is so. It counts yields, not seconds: far more than any test needs, also where other threads work.
///
/// - Throws: `NeverTrue`, or what `condition` throws.
package func yields(
    atMost limit: Int = 5_000_000, fileID: String = #fileID, line: Int = #line,
    until condition: () async throws -> Bool
) async throws {
    for _ in 0..<limit {
        if try await condition() { return }
        try Task.checkCancellation()
        await Task.yield()
    }
    throw NeverTrue(turnCount: limit, fileID: fileID, line: line)
}
