import BlockExchange
import FileAccess
import IndexStore
import Reconciliation

/// Has a file that is in the way of a directory give way to it: the file gets the name of a conflict copy.
struct DirectoryClaims {
    let folder: FolderContext

    /// - Parameter path: a file or link on this disk; something is to come below it.
    /// - Returns: whether a directory is there now.
    /// - Throws: `FileAccessError` if the disk refuses; then the file is where it was, or has its other name and the next scan
    ///   finds it.
    func settle(_ path: RelativePath, _ work: inout FolderWork) async throws -> Bool {
        guard let facts = try await folder.index.facts(path.text), let entry = facts.local,
            let expected = FileAccess.FileStatus(entry), expected.type != .regular || expected.changed != nil,
            let claim = DirectoryClaim.decide(
                local: facts.localVersion, global: facts.global,
                announced: try await folder.index.store.standings(in: folder.id, of: path.text).map(\.file),
                rules: folder.rules, unixSeconds: folder.now)
        else { return false }
        let copy = try folder.loserName(of: path, by: claim.winner, at: entry.file.modifiedSeconds)
        let root = folder.root
        let ignoresPermissions = folder.ignoresPermissions(at: path.text)
        let status = try await folder.onDisk { () throws -> FileAccess.FileStatus? in
            try root.rename(path, to: copy, replacing: .nothing, expecting: expected)
            try root.createDirectories(path)
            if !ignoresPermissions {
                try root.setPermissions(claim.directory.file.permissions & 0o777 | 0o700, of: path)
            }
            return try root.status(of: path)
        }
        var file = claim.directory.file
        if let status, !ignoresPermissions { file.permissions = status.permissions & 0o777 }
        try await folder.index.apply(
            [.set(LocalEntry(file: file, status: status.map { IndexedStatus($0) } ?? .unknown))], &work)
        try await folder.conflictCopyMade(copy, of: path, &work)
        work.effects.touchesConflicts = true
        work.log(.conflict, [path.text], folder.index)
        work.effects.problems.clear(path.text)
        folder.logger.notice(
            "\(path.text) is a directory on other devices; the file that was here is \(copy.text) now")
        return true
    }
}
