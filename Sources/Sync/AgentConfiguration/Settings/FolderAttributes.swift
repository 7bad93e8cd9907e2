import BlockExchange

/// What a folder does with extended attributes and with owner and group of its files, as Syncthing's settings say it.
package struct FolderAttributes: Equatable, Sendable {
    /// Extended attributes of others are applied here; those of this disk are announced.
    package var syncsXattrs = false
    /// Those of this disk are announced.
    package var sendsXattrs = false
    package var syncsOwnership = false
    package var sendsOwnership = false
    /// Names of extended attributes as `user.*`; after `!` what is left alone. The first that matches decides.
    package var patterns = AttributeFilter.defaultPatterns
    /// Bytes of name and value of one attribute, and of all of a file; 0 for no limit.
    package var entryByteLimit = AttributeFilter.defaultEntryByteLimit
    package var totalByteLimit = AttributeFilter.defaultTotalByteLimit

    package init() {}

    package var filter: AttributeFilter {
        AttributeFilter(patterns: patterns, entryByteLimit: entryByteLimit, totalByteLimit: totalByteLimit)
    }

    func problem() -> (key: String, problem: SettingProblem)? {
        if let message = AttributeFilter.problem(with: patterns) {
            return ("xattr-filter", SettingProblem(.invalidValue, "\(message)"))
        }
        for (key, limit) in [("xattr-max-entry-size", entryByteLimit), ("xattr-max-total-size", totalByteLimit)]
        where !(0...1_000_000).contains(limit) {
            return (
                key,
                SettingProblem(
                    .invalidValue, "the size of extended attributes must be between 0 and 1000000 bytes; 0 for no limit"
                )
            )
        }
        return nil
    }
}
