import BlockExchange
import IndexStore
import Names

/// Makes what people are told of the versions before and after something came into the index. Pure.
enum ChangeNotes {
    /// More names than this at once are noted as a number.
    static let nameLimit = 200

    /// What became of names: `before` and `after` are the winners of the same names; nil where there was none. A name that comes twice,
    /// as in messages that were taken in together, counts once.
    static func changes(
        _ names: [(name: String, before: FileInfo?, after: FileInfo?)], time: Int64
    ) -> [RecordedChange] {
        var changes: [RecordedChange] = []
        var gone: [Int] = []
        var come: [Int] = []
        var seen: Set<NameKey> = []
        for (name, before, after) in names where seen.insert(name) {
            let was = isThere(before)
            guard let after, !after.isInvalid, before?.version != after.version || was == after.isDeleted,
                was || !after.isDeleted
            else { continue }
            let kind: RecordedChange.Kind = after.isDeleted ? .deleted : was ? .changed : .added
            if kind == .deleted { gone.append(changes.count) }
            if kind == .added { come.append(changes.count) }
            changes.append(RecordedChange(time: time, kind: kind, name: name, device: maker(of: after)))
        }
        // The blocks of what is deleted are not known any more: a file that went and one that came in the same moment by
        // the same device, of the same size and with the same time to the nanosecond, are one, if there are no others.
        let files = Dictionary(names.map { (NameKey($0.name), $0) }, uniquingKeysWith: { first, _ in first })
        var renamed: Set<Int> = []
        let old = Dictionary(grouping: gone) { files[changes[$0].name]?.before.flatMap { Likeness($0) } }
        let new = Dictionary(grouping: come) { files[changes[$0].name]?.after.flatMap { Likeness($0) } }
        for case (let likeness?, let places) in old {
            guard places.count == 1, let from = places.first, let to = new[likeness], to.count == 1, let to = to.first,
                changes[from].device == changes[to].device
            else { continue }
            changes[to].kind = .renamed
            changes[to].oldName = changes[from].name
            renamed.insert(from)
        }
        return changes.indices.filter { !renamed.contains($0) }.map { changes[$0] }
    }

    private struct Likeness: Hashable {
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int32

        /// Nil for what is too common to be known by this.
        init?(_ file: FileInfo) {
            guard file.kind == .file, file.size > 0, file.modifiedNanoseconds != 0 else { return nil }
            (size, seconds, nanoseconds) = (file.size, file.modifiedSeconds, file.modifiedNanoseconds)
        }
    }

    private static func isThere(_ file: FileInfo?) -> Bool { file.map { !$0.isDeleted && !$0.isInvalid } ?? false }

    private static func maker(of file: FileInfo) -> ShortID? {
        file.modifiedBy.rawValue == 0 ? nil : file.modifiedBy
    }
}

/// Up to where each device's announcements are its first index, of which nothing is noted. Pure.
struct FirstIndexes: Sendable {
    private var firsts: [DeviceID: (index: IndexID, end: Int64)] = [:]

    /// The links' talk of indexes says which one the device has, what is known of it, and how far it goes.
    mutating func exchange(with device: DeviceID, index: IndexID, known: Int64, announced: Int64) {
        // The rest of a first index whose link broke still belongs to it.
        if let first = firsts[device], first.index == index, known > 0, known < first.end { return }
        firsts[device] = (index, known == 0 ? announced : 0)
    }

    /// Whether a batch tells what has happened, and not what there is.
    func isNews(_ batch: IndexBatch, from device: DeviceID) -> Bool {
        guard !batch.isFullIndex, let end = firsts[device]?.end, let first = batch.files.first else { return false }
        return first.sequence > end
    }
}

extension ChangeNotes {
    /// Runs `body`, which brings `names` into the index, and gives what it changed of them; of no names, nothing.
    ///
    /// - Parameter time: seconds since 1970.
    /// - Throws: what `body` does, and `IndexStoreError` before it runs: what it has done is always returned.
    static func noting(
        _ names: [String], in index: IndexStore, _ folder: FolderID, at time: Int64,
        _ body: () async throws -> ApplyResult
    ) async throws -> (result: ApplyResult, changes: [RecordedChange]) {
        guard !names.isEmpty else { return (try await body(), []) }
        let isMany = names.count > nameLimit
        let before = isMany ? [] : try await index.facts(in: folder, names: names)
        let result = try await body()
        guard result.changedCount > 0 else { return (result, []) }
        // The index has them by now: the caller is to hear of that, even if it was cancelled meanwhile.
        guard !isMany, let after = try? await index.factsRegardless(in: folder, names: names) else {
            let count = Int64(result.changedCount)
            return (result, [RecordedChange(time: time, kind: .many, name: "", device: nil, count: count)])
        }
        let named = zip(before, after).map { (name: $0.name, before: $0.global, after: $1.global) }
        return (result, changes(named, time: time))
    }
}
