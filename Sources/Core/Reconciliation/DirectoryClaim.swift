import BlockExchange

/// A file, or a symbolic link, in whose place other devices have a directory that something is needed in: it gives way, since many
/// files may be below the directory, and both survive. Such a place cannot be settled by versions alone: a file that wins over
/// the directory stays an obstacle to all that is below it.
package struct DirectoryClaim: Equatable, Sendable {
    /// What to announce of the name once the file has another.
    package var directory: LocalVersion
    /// Who made the directory, for the name of the file's copy.
    package var winner: ShortID

    /// Nil if the file stays: only a device that has it can keep it, and of these only one that knows what it was made over.
    /// That is where another device announces the directory and has not seen the file, or where the file was made here. Anybody else
    /// may be about to hear that what is below was deleted.
    ///
    /// - Parameters:
    ///   - local: what is here in the place.
    ///   - global: the winner in the place.
    ///   - announced: what other devices say of it.
    package static func decide(
        local: LocalVersion?, global: FileInfo?, announced: [FileInfo], rules: FolderRules, unixSeconds: Int64
    ) -> DirectoryClaim? {
        guard rules.kind == .sendReceive, rules.conflictLimit != 0, let local, local.isValid, local.isLive,
            local.flags.isEmpty, local.file.kind != .directory, global?.version == local.file.version
        else { return nil }
        let rivals = announced.filter { file in
            file.kind == .directory && !file.isDeleted && !file.isInvalid
                && file.version.compare(local.file.version).isConcurrent
        }
        guard !rivals.isEmpty || local.file.modifiedBy == rules.device else { return nil }
        let winner = rivals.map(\.modifiedBy).min { $0.rawValue < $1.rawValue } ?? rules.device
        // Not of another file there: that is to give way where it is.
        let directories = announced.filter { $0.kind == .directory && !$0.isInvalid }
        let seen = directories.reduce(local.file.version) { $0.merged(with: $1.version) }
        let directory = FileInfo(
            name: local.file.name, kind: .directory, permissions: rivals.first?.permissions ?? 0o755,
            modifiedSeconds: unixSeconds, hasNoPermissions: rules.ignoresPermissions(at: local.file.name),
            version: seen.changed(by: rules.author, besides: [], unixSeconds: unixSeconds), modifiedBy: rules.device)
        return DirectoryClaim(directory: LocalVersion(file: directory, isOnDisk: true), winner: winner)
    }
}
