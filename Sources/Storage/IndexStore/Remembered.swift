import BlockExchange
import Synchronization

/// How often the index was written, counted when each transaction is over: who reads the count and then the index has read nothing older.
final class WriteCount: Sendable {
    private let count = Atomic<UInt64>(0)

    var value: UInt64 { count.load(ordering: .sequentiallyConsistent) }

    func add() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}

/// Names that were found by reading all of a folder, for as long as nothing is written: a scan that finds nothing new does not read
/// the whole index again. Only short lists are remembered.
final class RememberedNames: Sendable {
    private let writes: WriteCount
    private let countLimit: Int
    private let names = Mutex<[FolderID: (writes: UInt64, names: [String])]>([:])

    init(_ writes: WriteCount, countLimit: Int) { (self.writes, self.countLimit) = (writes, countLimit) }

    /// The names that were read last, if they still hold, else what `read` gives.
    ///
    /// - Throws: what `read` throws.
    func names(of folder: FolderID, _ read: () async throws -> [String]) async throws -> [String] {
        let count = writes.value
        if let known = names.withLock({ $0[folder] }), known.writes == count { return known.names }
        let found = try await read()
        names.withLock { $0[folder] = found.count <= countLimit ? (count, found) : nil }
        return found
    }
}
