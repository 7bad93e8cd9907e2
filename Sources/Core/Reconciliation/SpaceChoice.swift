import Arithmetic
import BlockExchange
import Names

/// A file that could go to free its space.
package struct SpaceCandidate: Equatable, Sendable {
    package var name: String
    /// Bytes.
    package var size: Int64
    /// When it was read or changed last, as far as the disk knows: seconds since 1970.
    package var lastUsed: Int64

    package init(name: String, size: Int64, lastUsed: Int64) {
        self.name = name
        self.size = size
        self.lastUsed = lastUsed
    }
}

/// Which files go when space is short.
package enum SpaceChoice {
    /// As many as it takes to free `byteCount` bytes, or all if that is less: those first of which size times the time since
    /// they were used is greatest, and none of them that is not needed once the others went.
    ///
    /// - parameter unusedFor: only files that nobody has used for so many seconds; nil for all.
    package static func choose(
        _ candidates: [SpaceCandidate], toFree byteCount: Int64, unusedFor: Int64? = nil, now: Int64
    ) -> [SpaceCandidate] {
        guard byteCount > 0 else { return [] }
        // An hour at least, so that among files in use size decides, and clocks that are wrong do no harm.
        func age(_ candidate: SpaceCandidate) -> Int64 {
            let (age, overflow) = now.subtractingReportingOverflow(candidate.lastUsed)
            return overflow ? 3600 : max(3600, age)
        }
        func weight(_ candidate: SpaceCandidate) -> Double { Double(candidate.size) * Double(age(candidate)) }
        let eligible = candidates.filter { candidate in
            guard candidate.size > 0 else { return false }
            guard let unusedFor else { return true }
            let (age, overflow) = now.subtractingReportingOverflow(candidate.lastUsed)
            return !overflow && age >= unusedFor
        }.sorted { left, right in
            let (first, second) = (weight(left), weight(right))
            if first != second { return first > second }
            return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }
        var chosen: [SpaceCandidate] = []
        var sum: Int64 = 0
        for candidate in eligible where sum < byteCount {
            chosen.append(candidate)
            sum.addClamped(candidate.size)
        }
        // The last large one may have made smaller ones unnecessary.
        var spared: Set<NameKey> = []
        for candidate in chosen.sorted(by: { ($0.size, $1.name) < ($1.size, $0.name) })
        // bounded: sizes are from zero on, and the sum holds this one
        where sum < .max && sum - candidate.size >= byteCount {
            // bounded: sizes are from zero on, and the sum holds this one
            sum -= candidate.size
            spared.insert(candidate.name)
        }
        return chosen.filter { !spared.contains($0.name) }
    }
}
