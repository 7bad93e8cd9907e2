import BlockExchange
import Cryptography

/// The order in which changes of this disk are announced, so that others see a rename as one.
///
/// Who receives a new file and then, in one message, the deletion of another with the same content renames it on disk
/// and asks for no data.
package struct AnnouncementOrder: Equatable, Sendable {
    /// A change of one name.
    package struct Change: Equatable, Sendable {
        package var previous: LocalVersion?
        package var version: LocalVersion

        package init(previous: LocalVersion?, version: LocalVersion) {
            self.previous = previous
            self.version = version
        }
    }

    package struct Rename: Equatable, Sendable {
        package var from: String
        package var to: String
    }

    /// What is to be announced, in this order: what is there now, each file that has another's content right before the
    /// deletion of that one; then the other deletions.
    package private(set) var versions: [LocalVersion] = []
    /// Which of them are renames, in the same order.
    package private(set) var renames: [Rename] = []

    /// - parameter changes: of one scan, each name once; their order is kept where renames do not change it.
    package init(_ changes: [Change]) {
        var pool = RenameSources()
        for (index, change) in changes.enumerated() where change.version.file.isDeleted && change.version.isValid {
            if let previous = change.previous, previous.isValid { pool.add(previous.file, index) }
        }
        var isAnnounced = changes.map { _ in false }
        for (index, change) in changes.enumerated() where !change.version.file.isDeleted {
            versions.append(change.version)
            isAnnounced[index] = true
            guard change.version.isValid, change.previous.map({ !$0.isLive }) ?? true,
                let source = pool.take(for: change.version.file)
            else { continue }
            versions.append(changes[source].version)
            isAnnounced[source] = true
            renames.append(Rename(from: changes[source].version.file.name, to: change.version.file.name))
        }
        for (index, change) in changes.enumerated() where !isAnnounced[index] { versions.append(change.version) }
    }
}

/// Files that are going away, found by their content.
struct RenameSources {
    private struct Content: Hashable {
        var blocksHash: SHA256Digest
        var size: Int64
    }

    private struct Source {
        var file: FileInfo
        var index: Int
        var isTaken = false
    }

    private var sources: [Content: [Source]] = [:]

    private static func content(of file: FileInfo) -> Content? {
        // There is nothing to be saved in an empty file, and they all look alike.
        guard file.kind == .file, !file.isDeleted, file.size > 0, let hash = file.blocksHash else { return nil }
        return Content(blocksHash: hash, size: file.size)
    }

    /// Offers `file`, known to the caller by `index`.
    mutating func add(_ file: FileInfo, _ index: Int) {
        guard let content = Self.content(of: file) else { return }
        sources[content, default: []].append(Source(file: file, index: index))
    }

    /// The index of a file that can become `file`, which then belongs to it: one of the same last component if there
    /// is any, else the first that was offered.
    mutating func take(for file: FileInfo) -> Int? {
        guard let content = Self.content(of: file), let offered = sources[content] else { return nil }
        let component = PathOrder.lastComponent(of: file.name)
        var choice: Int?
        for (position, source) in offered.enumerated() where !source.isTaken {
            if PathOrder.lastComponent(of: source.file.name).elementsEqual(component) {
                choice = position
                break
            }
            if choice == nil { choice = position }
        }
        guard let choice else { return nil }
        sources[content]?[choice].isTaken = true
        return offered[choice].index
    }
}
