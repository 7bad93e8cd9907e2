@testable import Selection

/// Matching by the definition of each element, as slow as it is plain.
enum ReferenceMatcher {
    /// The first pattern of which some glob matches the whole path, in file order.
    static func firstMatch(_ patterns: [IgnorePattern], _ path: String) -> Int? {
        patterns.firstIndex { pattern in
            let scalars = path.scalarValues
            let subject = pattern.foldsCase ? scalars.map(CaseFolding.lowercased) : scalars
            return pattern.globs.contains { matches($0, subject) }
        }
    }

    static func matches(_ glob: Glob, _ subject: [UInt32]) -> Bool {
        ends(of: glob, in: subject, from: 0).contains(subject.count)
    }

    /// All places where a match of the glob that begins at `start` can end.
    private static func ends(of glob: Glob, in subject: [UInt32], from start: Int) -> Set<Int> {
        if let (prefix, suffix) = glob.overlappingEnds {
            return Set(
                (start...subject.count).filter { end in
                    let part = subject[start..<end]
                    return part.starts(with: prefix) && part.reversed().starts(with: suffix.reversed())
                })
        }
        return glob.elements.reduce(into: [start]) { places, element in
            places = places.reduce(into: []) { $0.formUnion(ends(of: element, in: subject, from: $1)) }
        }
    }

    private static func ends(of element: Glob.Element, in subject: [UInt32], from start: Int) -> Set<Int> {
        let rest = subject[start...]
        func one(_ isMatch: (UInt32) -> Bool) -> Set<Int> { rest.first.map(isMatch) == true ? [start + 1] : [] }
        switch element {
        case .text(let text): return rest.starts(with: text) ? [start + text.count] : []
        case .run: return Set(start...(rest.firstIndex(of: 0x2F) ?? subject.count))
        case .deepRun: return Set(start...subject.count)
        case .single: return one { $0 != 0x2F }
        case .set(let members, let isNegated): return one { members.contains($0) != isNegated }
        case .range(let low, let high, let isNegated): return one { ($0 >= low && $0 <= high) != isNegated }
        case .alternatives(let globs):
            return globs.reduce(into: []) { $0.formUnion(ends(of: $1, in: subject, from: start)) }
        }
    }
}
