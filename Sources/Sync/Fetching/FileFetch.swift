import AsyncTools
import BlockExchange
import Cryptography
import FileAccess
import NIOCore

/// Where a fetched file is to be.
package struct FetchTarget: Sendable {
    package var root: RootDirectory
    package var path: RelativePath

    package init(root: RootDirectory, path: RelativePath) {
        self.root = root
        self.path = path
    }

    package var absolutePath: String { root.path == "/" ? "/" + path.text : root.path + "/" + path.text }
}

/// Gets one file whole, into a staged file beside its target.
package struct FileFetch: Sendable {
    package enum Outcome: Sendable {
        /// What is at the target already is this version, as it was seen before its bytes were compared.
        case present(FileAccess.FileStatus)
        /// All bytes are staged and verified; committing them puts the file in its place.
        case staged(StagedCommit)
    }

    package let folder: FolderID
    /// With its blocks.
    package let file: FileInfo
    package let holders: [DeviceID]
    package let target: FetchTarget
    package let isForced: Bool
    /// What may be replaced in any case: a former version, as it is on the disk.
    package let former: FileAccess.FileStatus?
    package let environment: FetchEnvironment

    package init(
        folder: FolderID, file: FileInfo, holders: [DeviceID], target: FetchTarget, isForced: Bool,
        former: FileAccess.FileStatus? = nil, environment: FetchEnvironment
    ) {
        self.folder = folder
        self.file = file
        self.holders = holders
        self.target = target
        self.isForced = isForced
        self.former = former
        self.environment = environment
    }

    /// `progress` is told of every block, also of those that were here. Throws `FetchError`, or what the disk says.
    package func run(progress: @Sendable (_ bytes: Int64, _ from: DeviceID?) async -> Void) async throws -> Outcome {
        let existing = try await onDisk { try target.root.status(of: target.path) }
        var replacement = Replacement.nothing
        if let existing {
            if existing.type == .regular, existing.size == file.size, try await isThisVersion() {
                await progress(file.size, nil)
                return .present(existing)
            }
            let isFormer = former.map { existing.isUnchanged(since: $0) } ?? false
            guard isForced || isFormer, existing.type != .directory else {
                throw FetchError.targetExists(
                    path: target.absolutePath, file: file.name, existing.type == .directory ? .directory : .file)
            }
            replacement = .exactly(existing)
        }
        let staged = try await StagedFetch(
            folder: folder, file: file, holders: holders, target: target, environment: environment
        ).run(progress: progress)
        return .staged(
            StagedCommit(
                staged, replacing: replacement, permissions: file.hasNoPermissions ? nil : file.permissions & 0o777,
                modified: FileTime(seconds: file.modifiedSeconds, nanoseconds: file.modifiedNanoseconds)))
    }

    private func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await environment.threads.runIfActive(body)
    }

    /// Whether the file at the target has this version's bytes.
    private func isThisVersion() async throws -> Bool {
        try await onDisk {
            let open = try target.root.open(reading: target.path)
            for block in file.blocks {
                let bytes = try open.read(count: Int(block.size), at: block.offset)
                guard bytes.count == Int(block.size), SHA256.digest(bytes) == block.hash else { return false }
            }
            return true
        }
    }
}
