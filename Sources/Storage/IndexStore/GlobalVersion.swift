import BlockExchange

/// Which of the announcements of one name is the folder's global version.
enum GlobalVersion {
    /// The index of the winner among `candidates`, nil if there is none.
    ///
    /// `FileInfo.wins(over:)` compares two; over three and more it can go round in a circle (a seen-all version with the
    /// oldest mtime against two concurrent ones). So what another valid candidate's version has seen all of is left out
    /// first, and the rule decides among the rest, where it is an order. Equal versions keep the earlier candidate: with
    /// candidates in an order of their own the result does not depend on which announcement came first.
    static func winner(among candidates: [FileInfo]) -> Int? {
        guard candidates.count > 1 else { return candidates.isEmpty ? nil : 0 }
        var best = 0
        for index in candidates.indices.dropFirst() where candidates[index].wins(over: candidates[best]) {
            best = index
        }
        let isBeaten = candidates.indices.contains { index in
            candidates[index].wins(over: candidates[best])
                || (index < best && candidates[index].version == candidates[best].version)
        }
        if !isBeaten { return best }

        let hasValid = candidates.contains { !$0.isInvalid }
        let eligible = candidates.indices.filter { candidates[$0].isInvalid != hasValid }
        let latest = eligible.filter { index in
            !eligible.contains { other in
                switch candidates[other].version.compare(candidates[index].version) {
                case .greater: true
                case .equal: other < index
                case .lesser, .concurrentGreater, .concurrentLesser: false
                }
            }
        }
        return latest.reduce(nil) { best, index in
            guard let best else { return index }
            return candidates[index].wins(over: candidates[best]) ? index : best
        }
    }
}
