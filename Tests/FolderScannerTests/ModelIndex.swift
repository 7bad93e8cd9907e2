import BlockExchange
import Cryptography
import FileAccess
import Selection
import SyncTestKit
import Synchronization
import Testing

@testable import FolderScanner

/// An index in memory that findings are applied to, as the engine applies them to the real one.
final class ModelIndex: KnownEntries {
    private struct State {
        var entries: [String: KnownEntry] = [:]
        /// Called before the children of a directory are given.
        var hook: (@Sendable (String) -> Void)?
        var asked: [String] = []
    }
    private let state = Mutex(State())

    var entries: [String: KnownEntry] { state.withLock { $0.entries } }

    /// The directories whose children were asked for.
    var asked: [String] { state.withLock { $0.asked } }

    func beforeChildren(_ hook: @escaping @Sendable (String) -> Void) { state.withLock { $0.hook = hook } }

    func children(of directory: String) async throws -> [KnownEntry] {
        let hook = state.withLock { state in
            state.asked.append(directory)
            return state.hook
        }
        hook?(directory)
        return state.withLock { state in
            state.entries.values.filter { entry in
                let name = entry.name.lastComponent
                let parentCount = entry.name.utf8.count - name.utf8.count
                return parentCount == 0
                    ? directory.isEmpty
                    : !directory.isEmpty && entry.name.utf8.prefix(parentCount - 1).elementsEqual(directory.utf8)
            }.sorted { $0.name[...].order(to: $1.name[...]) < 0 }
        }
    }

    func children(of directory: String, named names: [String]) async throws -> [KnownEntry] {
        state.withLock { state in names.compactMap { state.entries[directory.appendingComponent($0)] } }
    }

    subscript(name: String) -> KnownEntry? {
        get { state.withLock { $0.entries[name] } }
        set { state.withLock { $0.entries[name] = newValue } }
    }

    func apply(_ findings: [Finding]) {
        state.withLock { state in
            for finding in findings {
                switch finding {
                case .changed(let entry): state.entries[entry.name] = KnownEntry(entry)
                case .metadata(var known, let status, let attributes):
                    known.status = status
                    known.attributes = attributes ?? known.attributes
                    state.entries[known.name] = known
                case .status(var known, let status):
                    known.status = status
                    state.entries[known.name] = known
                case .gone(let known): state.entries[known.name] = nil
                case .unkept(var known, let presence):
                    known.isIgnored = true
                    state.entries[known.name] = presence == .absent ? nil : known
                case .problem, .temporary: break
                }
            }
        }
    }

    /// What other devices are told: everything that is not ignored.
    var announced: [String: Announced] {
        entries.filter { !$0.value.isIgnored }.mapValues(Announced.init)
    }
}

/// What an entry says to others, without what it is recognised by on this disk.
struct Announced: Hashable {
    let type: FileType
    let permissions: UInt32
    let modified: FileTime?
    let size: Int64
    let blocksHash: SHA256Digest?
    let target: [UInt8]

    init(_ entry: KnownEntry) {
        type = entry.status.type
        permissions = entry.hasPermissions ? entry.status.permissions & 0o777 : 0
        modified = type == .regular ? entry.status.modified : nil
        size = type == .regular ? entry.status.size : 0
        blocksHash = entry.blocksHash
        target = entry.symlinkTarget
    }
}

extension KnownEntry {
    init(_ entry: ScannedEntry) {
        self.init(name: entry.name, status: entry.status, attributes: entry.attributes)
        switch entry.contents {
        case .directory: break
        case .symlink(let target):
            symlinkTarget = target
            hasPermissions = false
        case .file(let contents):
            blockSize = contents.blockSize
            blocksHash = contents.blocksHash
        }
    }
}

/// Findings as they were delivered.
final class Collected: Sendable {
    private let batches = Mutex<[ScanBatch]>([])

    var all: [ScanBatch] { batches.withLock { $0 } }
    var findings: [Finding] { all.flatMap(\.findings) }

    func add(_ batch: ScanBatch) { batches.withLock { $0.append(batch) } }
}

extension ScanOptions {
    /// In the calling task, by a clock long after every file was written.
    static var plain: ScanOptions {
        var options = ScanOptions()
        options.workers = .callingTask
        options.now = { FileTime(seconds: 10_000_000_000) }
        return options
    }
}

extension TemporaryTree {
    /// Scans and gives the findings, without applying them.
    func findings(
        _ index: ModelIndex, selection: Selection = .everything, _ subtrees: [String]? = nil,
        options: ScanOptions = .plain
    ) async throws -> [Finding] {
        try await scan(index, selection: selection, subtrees, options: options).findings
    }

    func scan(
        _ index: ModelIndex, selection: Selection = .everything, _ subtrees: [String]? = nil,
        options: ScanOptions = .plain
    ) async throws -> (findings: [Finding], report: ScanReport) {
        let collected = Collected()
        let scanner = FolderScanner(root: root, selection: selection, known: index, options: options)
        let report = try await scanner.scan(subtrees?.map(relative)) { collected.add($0) }
        return (collected.findings, report)
    }

    /// An index that knows what is on the disk.
    func scanned(selection: Selection = .everything, options: ScanOptions = .plain) async throws -> ModelIndex {
        let index = ModelIndex()
        index.apply(try await findings(index, selection: selection, options: options))
        return index
    }
}

extension Finding {
    /// A short form for comparisons: what was found and the name.
    var summary: String {
        switch self {
        case .changed(let entry):
            switch entry.contents {
            case .file: "file \(name)"
            case .directory: "directory \(name)"
            case .symlink(let target): "link \(name) -> \(String(decoding: target, as: UTF8.self))"
            }
        case .metadata: "metadata \(name)"
        case .status: "status \(name)"
        case .gone: "gone \(name)"
        case .unkept(_, let presence): "unkept \(name) \(presence.rawValue)"
        case .temporary: "temporary \(name)"
        case .problem(let problem): "\(problem.code.rawValue) \(name)"
        }
    }
}
