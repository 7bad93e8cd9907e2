import ControlAPI
import FileAccess
import Foundation
import Reconciliation

/// Has a conflict scanned and described, for the command that is to decide it.
struct DescribeConflictStep: FolderStep {
    let undecided: UndecidedConflict

    struct Description: Sendable {
        var folder: FolderContext
        var found: FoundConflict
        /// What was in the places.
        var statuses: [FileAccess.FileStatus?]
    }

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> Description {
        // What was made a moment ago is known to the index then.
        _ = try await ScanStep(paths: [undecided.path], isRequested: true).run(folder, &work)
        let found = try await found(folder)
        return Description(folder: folder, found: found, statuses: try await folder.statuses(of: found))
    }

    private func found(_ folder: FolderContext) async throws -> FoundConflict {
        let reading = ConflictReading(folder: folder)
        switch undecided {
        case .content(let copy): return try await reading.conflict(copy)
        case .deletion(let path):
            let facts = try await folder.index.facts(path.text)
            let author = facts?.local?.file.modifiedBy.description ?? ""
            let root = folder.root
            let status = try await folder.onDisk { try root.status(of: path) }
            let theirs = reading.version(path, by: author, status)
            let mine = reading.version(path, by: folder.tools.localDevice.shortID.description, nil)
            return FoundConflict(
                original: path, copy: path, mine: .copy,
                shown: Conflict(
                    folder: folder.id.rawValue, path: path.text, copy: path.text, mine: mine, theirs: theirs))
        }
    }
}

/// Does what the command has decided, if nothing was changed meanwhile.
struct DecideConflictStep: FolderStep {
    let undecided: UndecidedConflict
    let description: DescribeConflictStep.Description
    let decision: ConflictCommand.Decision
    /// The directory in which the command may have put a file `merged`.
    let directory: String

    func run(_ folder: FolderContext, _ work: inout FolderWork) async throws {
        let found = description.found
        guard try await folder.statuses(of: found) == description.statuses else {
            folder.logger.notice(
                "\(found.original.text) changed while the conflict command ran; both versions are kept")
            return
        }
        try await carryOut(found, folder, &work)
        work.effects.touchesConflicts = true
    }

    private func carryOut(_ found: FoundConflict, _ folder: FolderContext, _ work: inout FolderWork) async throws {
        let (root, settling) = (folder.root, ConflictSettling(folder: folder))
        switch (undecided, decision) {
        case (.content, .mine), (.content, .theirs), (.content, .both):
            let keep: ConflictResolution.Keep = decision == .mine ? .mine : decision == .theirs ? .theirs : .both
            _ = try await settling.resolve(found, keep: keep, &work)
        case (.deletion(let path), .mine):
            guard let status = try await folder.onDisk({ try root.status(of: path) }) else { return }
            _ = try await settling.remove(path, status)
            try await settling.scan([path], &work)
        case (.deletion, .theirs), (.deletion, .both): break
        case (_, .merged):
            try await takeMerged(to: found.original, folder, &work)
            if case .content(let copy) = undecided,
                let status = try await folder.onDisk({ try root.status(of: copy) })
            {
                _ = try await settling.remove(copy, status)
            }
            try await settling.scan([found.original, undecided.path], &work)
        }
    }

    private func takeMerged(
        to path: RelativePath, _ folder: FolderContext, _ work: inout FolderWork
    ) async throws {
        let directory = directory
        let name = try RelativePath(parsing: "merged")
        let (source, status) = try await folder.onDisk {
            let source = try RootDirectory(path: directory)
            guard let status = try source.status(of: name), status.type == .regular else {
                throw FolderError.nothingMerged
            }
            return (source, status)
        }
        _ = try await folder.placeCopy(
            of: name, in: source, expecting: status, at: path, permissions: nil, modified: nil, &work)
    }
}

extension FolderContext {
    /// What is in the places of a conflict, as `isUnchanged` compares it.
    fileprivate func statuses(of found: FoundConflict) async throws -> [FileAccess.FileStatus?] {
        let paths = found.original == found.copy ? [found.original] : [found.original, found.copy]
        let root = root
        return try await onDisk {
            try paths.map { path in
                try root.status(of: path).map {
                    FileAccess.FileStatus(type: $0.type, size: $0.size, modified: $0.modified, inode: $0.inode)
                }
            }
        }
    }
}

extension ConflictCommand {
    private static let passedVariables: Set = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER"]

    /// Runs the command over a conflict; nil if it has not decided. Holds one of the folder's threads meanwhile, and not its
    /// turn.
    ///
    /// - parameter directory: a directory of this machine, where it may put a file `merged`.
    func decide(
        _ description: DescribeConflictStep.Description, mergingInto directory: String
    ) async throws -> Decision? {
        let (folder, found) = (description.folder, description.found)
        func side(_ version: Conflict.Version) -> Side {
            let path = version.size == nil ? "" : "\(folder.root.path)/\(version.path)"
            return Side(path: path, device: version.ordinaryLabel)
        }
        let program = program(
            folder: folder.id.rawValue, name: found.original.text, mine: side(found.shown.mine),
            theirs: side(found.shown.theirs), merged: "\(directory)/merged",
            variables: ProcessInfo.processInfo.environment.filter { Self.passedVariables.contains($0.key) })
        let outcome = await program.run(on: folder.tools.threads)
        try Task.checkCancellation()
        if let decision = Self.decision(outcome) { return decision }
        folder.logger.warning(
            "the conflict command did not decide on \(found.original.text); both versions are kept: \(outcome.end)")
        return nil
    }
}
