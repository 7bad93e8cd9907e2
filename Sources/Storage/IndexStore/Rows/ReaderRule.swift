import BlockExchange

/// Which announcements of devices that may only read are candidates for the global version.
///
/// A version is let in when a device that may write, or this one, announces it too with the same content, and stays in
/// for as long as the device announces no other: so what a reader alone still holds is not lost from sight when the others
/// free it. A version without its content is no proof: what is announced as invalid lets in no file.
enum ReaderRule {
    /// What becomes of an entry that nobody else ever announced.
    static func alone(_ file: FileInfo) -> Refusal {
        file.isInvalid || file.isDeleted || file.version.isEmpty ? .superseded : .open
    }

    /// What a reader's new announcement begins with, before the others are looked at.
    ///
    /// - parameters:
    ///   - old: what it said before.
    ///   - isSameContent: whether that was of the same content.
    static func first(_ new: FileInfo, after old: Announcement?, isSameContent: Bool) -> Refusal {
        guard let old else { return alone(new) }
        // To take a version back changes nothing of what it is.
        let isSame = old.file.version == new.version && (isSameContent || new.isInvalid)
        if isSame, old.refusal == .none { return .none }
        // A deletion of what only it had is to be seen; one of what never counted is nothing to anybody.
        return new.isDeleted && (old.file.isDeleted || old.refusal != .none) ? .superseded : .open
    }

    /// What each of the announcements of one name counts, from what it counted so far.
    ///
    /// - parameter isSameContent: see `BlockListReader.isSameContent`.
    static func judge(
        _ rows: [Announcement], isReader: (Announcement) -> Bool,
        isSameContent: (Announcement, Announcement) throws -> Bool
    ) rethrows -> [Refusal] {
        let isRefused = try rows.map { row in
            try row.refusal != .none && isReader(row)
                && !rows.contains { other in
                    guard other.file.version == row.file.version, other.announcer != row.announcer else { return false }
                    // Of two readers, neither may say what the version is.
                    return try (!isReader(other) || other.refusal == .none)
                        && (row.file.isInvalid || isSameContent(other, row))
                }
        }
        let candidates = zip(rows, isRefused).filter { !$0.1 }.map(\.0.file)
        return zip(rows, isRefused).map { row, isRefused in
            guard isRefused else { return .none }
            guard !row.file.isInvalid, !row.file.version.isEmpty else { return .superseded }
            let isSeen = candidates.contains {
                !$0.isInvalid && $0.version.compare(row.file.version) == .greater
            }
            if isSeen { return .superseded }
            let isNews = !row.file.isDeleted || row.refusal == .open || candidates.contains { !$0.isDeleted }
            return isNews ? .open : .superseded
        }
    }
}
