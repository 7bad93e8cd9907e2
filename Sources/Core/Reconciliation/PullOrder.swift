import BlockExchange
import Selection

/// In which order files are fetched.
package enum PullOrder: String, Hashable, Sendable, CaseIterable {
    case alphabetic
    case smallestFirst
    case newestFirst

    /// Whether `left` comes before `right`; equals come in the order of their names.
    func precedes(_ left: FileInfo, _ right: FileInfo) -> Bool {
        switch self {
        case .alphabetic: break
        case .smallestFirst: if left.size != right.size { return left.size < right.size }
        case .newestFirst:
            if !left.isModified(atTimeOf: right) {
                return (left.modifiedSeconds, left.modifiedNanoseconds)
                    > (right.modifiedSeconds, right.modifiedNanoseconds)
            }
        }
        return PathOrder.precedes(left.name, right.name)
    }
}

/// What is fetched before everything else: patterns as in an ignore file, the first that matches decides.
///
/// A `!` pattern takes names out; prefixes, rooting and wildcards mean what they mean there.
package struct PriorityPatterns: Equatable, Sendable {
    private let selection: Selection

    /// No priorities.
    package static let none = PriorityPatterns()

    private init() { selection = .everything }

    /// - throws: `IgnoreError` with the number of the pattern that is none as the line. `#include` is none.
    package init(_ patterns: [String]) throws(IgnoreError) {
        selection = try Selection(parsing: patterns.joined(separator: "\n"), name: "priority")
    }

    /// Smaller comes first; names that no pattern takes in come last.
    func rank(of name: String) -> Int {
        let decision = selection.decision(for: name)
        return decision.isIgnored ? decision.patternIndex ?? .max : .max
    }
}
