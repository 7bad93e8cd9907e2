/// Runs `body` to its end, also if the calling task is cancelled before or meanwhile: for what must not be done by half, whoever
/// asked for it. The caller waits for it either way.
///
/// `body` runs in a task of its own, which does not keep to the executor of the calling one: where simulations decide who goes on, it
/// is not for what they simulate.
///
/// - Throws: what `body` throws.
package func uncancelled<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await Task { try await body() }.value
}
