import Phrases

/// Which files of a folder belong together. Of several patterns that take a name, the first decides; bytes are compared,
/// so that case counts.
public struct GroupPatterns: Hashable, Sendable {
    private let patterns: [GroupPattern]

    /// No groups.
    public static let none = GroupPatterns()

    private init() { patterns = [] }

    /// - throws: `GroupPatternError` of the first pattern that is none.
    public init(_ texts: [String]) throws(GroupPatternError) {
        guard texts.count <= GroupLimits.patternCount else {
            throw GroupPatternError(
                text: Phrase("there can be \(GroupLimits.patternCount) patterns for groups at most; remove some"))
        }
        var patterns: [GroupPattern] = []
        for text in texts { patterns.append(try GroupPattern(text)) }
        self.patterns = patterns
    }

    public var isEmpty: Bool { patterns.isEmpty }

    private struct Key: Hashable {
        var pattern: Int
        var stem: [UInt8]
    }

    /// The group that a file of this name is in; nil if there is none.
    public func group(of path: String) -> FileGroup? {
        guard !patterns.isEmpty else { return nil }
        var directory = path.components(omittingEmpty: false)
        guard let name = directory.popLast(), let key = key(directory, name) else { return nil }
        let parent = Substring(path.utf8.dropLast(name.utf8.count))
        // Another pattern, or another stem, may have a better claim on one of the names.
        let names = patterns[key.pattern].names(ofStem: key.stem).filter { self.key(directory, $0[...]) == key }
        guard names.count > 1 else { return nil }
        return FileGroup(names: names.map { parent + $0 }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    private func key(_ directory: [Substring], _ name: Substring) -> Key? {
        for (number, pattern) in patterns.enumerated() {
            if let stem = pattern.stem(directory: directory, name: name) { return Key(pattern: number, stem: stem) }
        }
        return nil
    }
}
