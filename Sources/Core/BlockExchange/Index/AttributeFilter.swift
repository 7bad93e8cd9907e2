/// Which extended attributes a folder syncs, and how large they may be (Syncthing's xattr filter).
///
/// What it does not permit is neither read from the disk nor written to it, and goes on as its author announced it.
public struct AttributeFilter: Hashable, Sendable {
    /// One line of the filter.
    public struct Rule: Hashable, Sendable {
        /// `*` stands for any characters, `?` for one, `\` takes the next as it is.
        public var pattern: String
        public var permits: Bool

        public init(pattern: String, permits: Bool) {
            self.pattern = pattern
            self.permits = permits
        }
    }

    /// What belongs to the user: their own attributes and access control lists. `security.` and `trusted.` belong to the
    /// machine.
    public static let defaultPatterns = ["user.*", "system.posix_acl_access", "system.posix_acl_default"]
    public static let defaultEntryByteLimit = 1024
    public static let defaultTotalByteLimit = 4096
    static let patternLimit = 100
    static let patternByteLimit = 255

    /// The first whose pattern matches a name decides about it; a name that none matches is not permitted.
    public var rules: [Rule]
    /// Bytes of name and value of one attribute, and of all of a file; 0 for no limit.
    public var entryByteLimit: Int
    public var totalByteLimit: Int

    public init(
        rules: [Rule], entryByteLimit: Int = defaultEntryByteLimit, totalByteLimit: Int = defaultTotalByteLimit
    ) {
        self.rules = rules
        self.entryByteLimit = entryByteLimit
        self.totalByteLimit = totalByteLimit
    }

    /// - Parameter patterns: as `["!user.cache.*", "user.*"]`; one after `!` is not permitted.
    public init(
        patterns: [String] = defaultPatterns, entryByteLimit: Int = defaultEntryByteLimit,
        totalByteLimit: Int = defaultTotalByteLimit
    ) {
        let rules = patterns.map { text in
            text.hasPrefix("!")
                ? Rule(pattern: String(text.dropFirst()), permits: false) : Rule(pattern: text, permits: true)
        }
        self.init(rules: rules, entryByteLimit: entryByteLimit, totalByteLimit: totalByteLimit)
    }

    /// Why `patterns` are no filter; nil if they are one.
    public static func problem(with patterns: [String]) -> String? {
        guard patterns.count <= patternLimit else {
            return "at most \(patternLimit) patterns for extended attributes are allowed; remove some"
        }
        for text in patterns {
            let pattern = text.hasPrefix("!") ? String(text.dropFirst()) : text
            guard !pattern.isEmpty, pattern.utf8.count <= patternByteLimit,
                !pattern.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }),
                !pattern.hasSuffix("\\") || pattern.hasSuffix("\\\\")
            else {
                return "`\(text.prefix(80))` is not a pattern for extended attributes; "
                    + "write one such as `user.*`, or `!user.cache.*` to exclude"
            }
        }
        return nil
    }

    public func permits(_ name: String) -> Bool {
        rules.first { Self.matches($0.pattern, name) }?.permits ?? false
    }

    /// What of `attributes`, which are ordered by name, is permitted: what exceeds a limit is left out, and what comes after it
    /// is not.
    public func permitted(_ attributes: [ExtendedAttribute]) -> [ExtendedAttribute] {
        var total = 0
        return attributes.filter { attribute in
            guard permits(attribute.name), entryByteLimit <= 0 || attribute.byteCount <= entryByteLimit else {
                return false
            }
            // bounded: each is at most 64 KiB and 255 bytes, and there are at most 4096
            guard totalByteLimit <= 0 || total + attribute.byteCount <= totalByteLimit else { return false }
            total += attribute.byteCount
            return true
        }
    }

    static func matches(_ pattern: String, _ name: String) -> Bool {
        let (pattern, name) = (Array(pattern.unicodeScalars), Array(name.unicodeScalars))
        var (place, position) = (0, 0)
        // Where the last `*` is, and how far it reaches.
        var star: (place: Int, position: Int)?
        while position < name.count {
            if place < pattern.count, pattern[place] == "*" {
                star = (place, position)
                place += 1
                continue
            }
            let isEscape = place + 1 < pattern.count && pattern[place] == "\\"
            if place < pattern.count,
                isEscape
                    ? pattern[place + 1] == name[position] : (pattern[place] == "?" || pattern[place] == name[position])
            {
                place += isEscape ? 2 : 1
                position += 1
            } else if let last = star {
                star = (last.place, last.position + 1)
                (place, position) = (last.place + 1, last.position + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == "*" }
    }
}
