import FileAccess
import FolderScanner
import Synchronization

/// What a first scan found, for the second to compare with.
final class MemoryIndex: KnownEntries {
    /// By directory; a first scan delivers names in order.
    private let directories = Mutex<[String: [KnownEntry]]>([:])

    func children(of directory: String) async throws -> [KnownEntry] { directories.withLock { $0[directory] ?? [] } }

    func children(of directory: String, named names: [String]) async throws -> [KnownEntry] {
        let wanted = Set(names.map { directory.isEmpty ? $0 : "\(directory)/\($0)" })
        return directories.withLock { ($0[directory] ?? []).filter { wanted.contains($0.name) } }
    }

    func apply(_ batch: ScanBatch) {
        directories.withLock { directories in
            for case .changed(let entry) in batch.findings {
                var known = KnownEntry(name: entry.name, status: entry.status)
                switch entry.contents {
                case .file(let contents):
                    known.blocksHash = contents.blocksHash
                    known.blockSize = contents.blockSize
                case .symlink(let target):
                    known.symlinkTarget = target
                    known.hasPermissions = false
                case .directory: break
                }
                directories[Self.parent(of: entry.name), default: []].append(known)
            }
        }
    }

    private static func parent(of name: String) -> String {
        guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(name[..<slash])
    }
}
