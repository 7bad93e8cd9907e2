import BlockExchange

extension LocalChanges {
    /// What can be done so that devices which may only read take back what they changed.
    package enum Reversal: Equatable, Sendable {
        /// This is to be announced.
        case announce(LocalVersion)
        /// This device has not what counts, and so has nothing to give back.
        case notHere
        /// Nobody has what was deleted.
        case lost
        /// Something is on this disk that the folder does not have.
        case inTheWay
    }

    /// What to announce so that what counts is later than the `refused` versions of the same name: what is here, if it is
    /// what counts, else a deletion where nothing does.
    ///
    /// - parameters:
    ///   - refused: all of them are overruled; never empty.
    ///   - global: what counts, by the versions that are not refused.
    package static func reverting(
        _ refused: [FileInfo], local: LocalVersion?, global: FileInfo?, rules: FolderRules, unixSeconds: Int64
    ) -> Reversal {
        let seen = refused.reduce(VersionVector()) { $0.merged(with: $1.version) }
        guard let global, !global.isDeleted else {
            guard let first = refused.first(where: { !$0.isDeleted }) else { return .lost }
            if local?.isOnDisk == true { return .inTheWay }
            let version = [global?.version, local?.file.version].reduce(seen) { merged, version in
                version.map(merged.merged) ?? merged
            }.changed(by: rules.author, besides: [], unixSeconds: unixSeconds)
            return .announce(
                LocalVersion(
                    file: first.deleted(by: rules.device, unixSeconds: unixSeconds, version: version), isOnDisk: false))
        }
        guard let local, local.isValid, local.isLive, local.file.version == global.version, !global.isInvalid else {
            return .notHere
        }
        var overruled = global
        overruled.version = seen
        return .announce(keeping(local, over: overruled, flags: [], rules: rules, unixSeconds: unixSeconds))
    }
}
