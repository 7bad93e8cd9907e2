import AgentConfiguration
import AgentContext
import BlockExchange
import Cryptography
import FileAccess
import IndexStore
import SessionTestKit
import SyncTestKit
import Synchronization

@testable import FolderSync

/// A folder on a real directory in which nothing runs but the steps that a test performs, one at a time.
final class StepScene {
    static let nas = DeviceID(certificateDER: Array("nas".utf8))
    static let me = DeviceID(certificateDER: Array("me".utf8))
    static let id = FolderID("docs")

    let tree: TemporaryTree
    private let home: TemporaryDirectory
    let index: IndexStore
    private let folder: FolderSync.Folder
    /// Where disks are mounted below the root, as the system says.
    final class Mounts: Sendable { let names = Mutex<Set<String>>([]) }
    let mounts = Mounts()
    private var memory = FolderMemory()

    init(
        ignoring patterns: String? = nil, mode: FolderConfiguration.Mode = .full,
        interposer: (any DiskInterposer)? = nil,
        _ change: (inout FolderConfiguration) -> Void = { _ in }
    ) async throws {
        tree = try TemporaryTree()
        home = try TemporaryDirectory()
        try tree.makeDirectory(".stfolder")
        if let patterns { try tree.write(patterns, to: ".stignore") }
        index = try IndexStore.open(path: home.path + "/index.sqlite")
        try await index.addFolder(Self.id, newIndexID: IndexID(rawValue: 1))
        var configuration = FolderConfiguration(
            id: Self.id, path: tree.root.path, mode: mode, devices: [Self.nas])
        change(&configuration)
        let mounts = self.mounts
        folder = FolderSync.Folder(idle: configuration, of: Self.me, index: index, interposer: interposer) { tools in
            // No reading is so soon after a change that the disk's clock could not tell.
            tools.diskTime = { FileTime(seconds: WallTime.now.seconds + 60, nanoseconds: 0) }
            // However long a busy machine takes, all happens at the same moment.
            tools.time.monotonic = { .zero }
            tools.mountNames = { _ in mounts.names.withLock { $0 } }
        }
    }

    /// Runs a step as the runner does; what it says, and what is to follow.
    func run<Step: FolderStep>(_ step: Step) async throws -> (output: Step.Output, effects: FolderEffects) {
        folder.boards.places.refresh()
        let context = try folder.runner.reading()
        var work = FolderWork(memory: memory)
        try await context.applySelection(&work)
        let output = try await step.run(context, &work)
        memory = work.memory
        return (output, work.effects)
    }

    /// What the readings read, which need no turn.
    func reading() throws -> FolderContext {
        folder.boards.places.refresh()
        return try folder.runner.reading()
    }

    /// Gives the folder other settings.
    func configure(_ change: (inout FolderConfiguration) -> Void) {
        var configuration = folder.configuration
        change(&configuration)
        folder.configure(configuration)
    }

    /// The folder has halted, or goes on.
    func halt(_ halt: FolderHalt?) { folder.boards.status.set(halt: halt) }

    /// What steps remember is gone, as after a restart.
    func forget() { memory = FolderMemory() }

    /// What the folder would scan now; it is off the agenda then.
    func takeNextScan() -> FolderAgenda.Look { folder.boards.inbox.nextScan(at: .zero) }

    func scan() async throws { _ = try await run(ScanStep(isRequested: true)) }

    /// The other device announces files of one block that holds their text, or that they are deleted.
    func announce(
        _ files: [(name: String, text: String?)], counter: UInt64, after seen: VersionVector = VersionVector()
    ) async throws {
        let version = VersionVector(seen.counters + [.init(id: Self.nas.shortID, value: counter)])
        let infos = files.enumerated().map { position, file in
            let bytes = Array((file.text ?? "").utf8)
            let block = BlockInfo(offset: 0, size: Int32(bytes.count), hash: SHA256.digest(bytes))
            return FileInfo(
                name: file.name, size: Int64(bytes.count), permissions: 0o644, modifiedSeconds: 1_700_000_000,
                modifiedNanoseconds: 5, isDeleted: file.text == nil, version: version,
                sequence: Int64(counter) * 100 + Int64(position), modifiedBy: Self.nas.shortID,
                blockSize: 131_072, blocks: file.text == nil ? [] : [block])
        }
        let selection = try folder.runner.reading().selection
        try await index.applyIndex(
            of: Self.id, device: Self.nas, files: infos, replacesAll: false
        ) {
            selection.isLeftOut($0)
        }
    }

    /// This disk has the files as `announce` describes them.
    func write(_ files: [(name: String, text: String)]) throws {
        for (name, text) in files {
            try tree.write(text, to: name)
            try tree.setPermissions(0o644, name)
            try tree.setModified(1_700_000_000, name)
        }
    }

    /// The other device announces a directory, or that it is deleted.
    func announce(directory name: String, isDeleted: Bool = false, counter: UInt64) async throws {
        let version = VersionVector([.init(id: Self.nas.shortID, value: counter)])
        let info = FileInfo(
            name: name, kind: .directory, permissions: 0o755, modifiedSeconds: 1_700_000_000, isDeleted: isDeleted,
            version: version, sequence: Int64(counter) * 100 + 99, modifiedBy: Self.nas.shortID)
        let selection = try folder.runner.reading().selection
        try await index.applyIndex(of: Self.id, device: Self.nas, files: [info], replacesAll: false) {
            selection.isLeftOut($0)
        }
    }

    /// What this device announces of a name.
    func own(_ name: String) async throws -> FileInfo? { try await index.local(Self.id, name)?.file }
}
