import AgentConfiguration
import BlockExchange
import ControlAPI
import FileAccess
import Foundation
import IndexStore
import Reconciliation

/// A conflict that the folder's command is to decide.
enum UndecidedConflict: Hashable, Sendable {
    /// By the copy.
    case content(RelativePath)
    /// A file that was deleted here and is here again, because somebody had changed it.
    case deletion(RelativePath)

    var path: RelativePath {
        switch self {
        case .content(let path), .deletion(let path): path
        }
    }
}

/// Policies of conflicts, where more is to be done than the plan says.
extension FolderEngine {
    /// More than this are left as they are.
    private static let undecidedLimit = 1000

    /// A free name for the loser of a conflict, as the policy has it.
    func loserName(of path: RelativePath, by device: ShortID, in root: RootDirectory) throws -> RelativePath {
        guard rules.conflictPolicy == .both, rules.kind == .sendReceive else {
            return try conflictCopy(of: path, by: device, in: root)
        }
        let own = environment.localDevice
        let name = environment.knownDevices().first { $0.id == own }?.name ?? ""
        return try ordinaryName(for: path, label: name.isEmpty ? own.shortID.description : name, in: root)
    }

    /// A conflict copy was made here.
    func noteUndecided(_ copy: RelativePath) {
        guard rules.conflictPolicy == .command, rules.kind == .sendReceive else { return }
        note(.content(copy))
    }

    /// Remembers the deletions made here among names that are needed because others have changed them.
    func noteContestedDeletions(_ facts: [NameFacts]) {
        guard rules.deletionPolicy == .command, rules.kind == .sendReceive else { return }
        for facts in facts {
            guard let local = facts.local, local.file.isDeleted, local.flags.isEmpty,
                local.file.modifiedBy == rules.device, let global = facts.global, !global.isDeleted,
                global.kind == .file, local.file.version.compare(global.version).isConcurrent
            else { continue }
            state.withLock { $0.contestedDeletions[facts.name] = global.version }
        }
    }

    /// A file was put into its place.
    func noteCameBack(_ file: FileInfo) {
        guard state.withLock({ $0.contestedDeletions.removeValue(forKey: file.name) }) == file.version,
            let path = RelativePath(file.name)
        else { return }
        note(.deletion(path))
    }

    private func note(_ conflict: UndecidedConflict) {
        state.withLock { state in
            if state.undecided.count < Self.undecidedLimit { state.undecided.insert(conflict) }
        }
        decisionWake.notify()
    }

    /// Has the command decide what comes up, one after the other, until cancelled.
    func decideConflicts() async {
        while !Task.isCancelled {
            if await !decideNext() { await decisionWake.wait() }
        }
    }

    /// False if there is nothing to decide. Not to be called within a turn: the folder goes on while the command thinks.
    func decideNext() async -> Bool {
        let next = state.withLock { state in
            let first = state.undecided.min { $0.path < $1.path }
            return first.flatMap { state.undecided.remove($0) }
        }
        guard let next else { return false }
        do {
            try await decide(next)
        } catch is CancellationError {
            return true
        } catch {
            logger.warning("the conflict over \(next.path.text) is left as it is: \(error)")
        }
        return true
    }

    private func decide(_ undecided: UndecidedConflict) async throws {
        let settings = session.configuration.conflicts
        guard !settings.command.isEmpty else { return }
        let command = ConflictCommand(words: settings.command, seconds: settings.commandSeconds)
        let place = try session.place().get()
        // As `scan` of the name: what was made a moment ago is known to the index then.
        try await exclusively { _ = try await self.look(at: [undecided.path], isAsked: true) }
        let found = try await found(undecided, place)
        let before = try await statuses(found, place.root)
        let directory = NSTemporaryDirectory() + "synctrain-merge-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: directory) }
        func side(_ version: Conflict.Version) -> ConflictCommand.Side {
            let path = version.size == nil ? "" : "\(place.root.path)/\(version.path)"
            return ConflictCommand.Side(path: path, device: version.ordinaryLabel)
        }
        let program = command.program(
            folder: folder.rawValue, name: found.original.text, mine: side(found.shown.mine),
            theirs: side(found.shown.theirs), merged: "\(directory)/merged",
            variables: ProcessInfo.processInfo.environment.filter { Self.passedVariables.contains($0.key) })
        let outcome = await program.run(on: environment.fetching.threads)
        try Task.checkCancellation()
        guard let decision = ConflictCommand.decision(outcome) else {
            logger.warning(
                "the command for conflicts has not decided over \(found.original.text), both stay: \(outcome.end)")
            return
        }
        try await exclusively { [self] in
            let place = try await currentPlace()
            guard try await statuses(found, place.root) == before else {
                logger.notice("\(found.original.text) was changed while the command for conflicts ran; both stay")
                return
            }
            try await carryOut(decision, undecided, found, merged: directory, place)
            try await countConflicts(place)
        }
        wakeUp()
    }

    private static let passedVariables: Set = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER"]

    private func statuses(_ found: FoundConflict, _ root: RootDirectory) async throws -> [FileAccess.FileStatus?] {
        let paths = found.original == found.copy ? [found.original] : [found.original, found.copy]
        return try await onDisk {
            try paths.map { path in
                let status = try root.status(of: path)
                // What `isUnchanged` compares.
                return status.map {
                    FileAccess.FileStatus(type: $0.type, size: $0.size, modified: $0.modified, inode: $0.inode)
                }
            }
        }
    }

    private func found(_ undecided: UndecidedConflict, _ place: FolderPlace) async throws -> FoundConflict {
        switch undecided {
        case .content(let copy): return try await conflict(copy, place)
        case .deletion(let path):
            let facts = try await facts([path.text])
            let author = facts.first?.local?.file.modifiedBy.description ?? ""
            let status = try await onDisk { try place.root.status(of: path) }
            let theirs = version(path, by: author, status)
            let mine = version(path, by: environment.localDevice.shortID.description, nil)
            return FoundConflict(
                original: path, copy: path, mine: .copy,
                shown: Conflict(
                    folder: folder.rawValue, path: path.text, copy: path.text, mine: mine, theirs: theirs))
        }
    }

    private func carryOut(
        _ decision: ConflictCommand.Decision, _ undecided: UndecidedConflict, _ found: FoundConflict, merged: String,
        _ place: FolderPlace
    ) async throws {
        let root = place.root
        switch (undecided, decision) {
        case (.content, .mine), (.content, .theirs), (.content, .both):
            let keep: ConflictResolution.Keep = decision == .mine ? .mine : decision == .theirs ? .theirs : .both
            var outcome = ConflictAnswer.Outcome(conflict: found.shown, keep: keep)
            try await resolve(found, keep: keep, place, &outcome)
        case (.deletion(let path), .mine):
            guard let status = try await onDisk({ try root.status(of: path) }) else { return }
            _ = try await onDisk { try self.archiveOrRemove(path, expecting: status, in: root) }
            _ = try await look(at: [path], isAsked: true)
        case (.deletion, .theirs), (.deletion, .both): break
        case (_, .merged):
            let path = found.original
            try await onDisk { try self.take(merged, to: path, in: root) }
            if case .content(let copy) = undecided, let status = try await onDisk({ try root.status(of: copy) }) {
                _ = try await onDisk { try self.archiveOrRemove(copy, expecting: status, in: root) }
            }
            _ = try await look(at: [path, undecided.path], isAsked: true)
        }
    }

    /// Puts the file `merged` in a directory of this machine into a place; what is there goes to the archive.
    private func take(_ directory: String, to path: RelativePath, in root: RootDirectory) throws {
        let source = try RootDirectory(path: directory)
        let name = try RelativePath(parsing: "merged")
        guard let status = try source.status(of: name), status.type == .regular else {
            throw ControlError(.failed, "the command for conflicts said that it has merged, and there is no file")
        }
        let present = try root.status(of: path)
        let archive = try archive(in: root)
        let staged = try source.stageCopy(of: name, for: path, in: root, expecting: status)
        try archive.replacing(path, present, by: staged, permissions: nil, modified: nil)
    }
}

extension ConflictPolicy {
    init(_ policy: FolderConflicts.Policy) {
        self =
            switch policy {
            case .newest: .newest
            case .mine: .mine
            case .theirs: .theirs
            case .both: .both
            case .command: .command
            }
    }
}
