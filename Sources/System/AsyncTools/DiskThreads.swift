import NIOPosix

/// Where work is done that blocks its thread, away from the threads that carry tasks.
package protocol DiskThreads: Sendable {
    /// - Throws: what `body` throws; `CancellationError` if the task was cancelled before it began.
    func runIfActive<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result
}

extension NIOThreadPool: DiskThreads {}

extension DiskThreads where Self == NIOThreadPool {
    /// The threads that all of the program shares.
    package static var singleton: NIOThreadPool { NIOThreadPool.singleton }
}
