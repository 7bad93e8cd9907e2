import AsyncTools

/// Does what blocks in the task that asks for it.
struct CallingThread: DiskThreads {
    func runIfActive<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try Task.checkCancellation()
        return try body()
    }
}
