/// The word that a person may have meant by one that is not known.
package enum NearestWord {
    /// Bytes of a word that are compared; what a person types by hand is shorter.
    private static let byteLimit = 40

    /// How many bytes are inserted, removed or replaced, or neighbours exchanged, to make one short word of the other (the
    /// distance of optimal string alignment).
    package static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.utf8.prefix(byteLimit)), right = Array(right.utf8.prefix(byteLimit))
        var before: [Int] = []
        var last = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var least = min(last[j] + (a == b ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a == right[j - 1], left[i - 1] == b { least = min(least, before[j - 1] + 1) }
                row.append(least)
            }
            (before, last) = (last, row)
        }
        return last[right.count]
    }

    /// The word of `words` that is nearest to `word`, whatever its case; the first of several. Nil if none is near: at most
    /// `1/share` of the shorter word's characters may differ, but always one may.
    package static func find(_ word: String, in words: [String], share: Int = 3) -> String? {
        let typed = word.lowercased()
        let nearest = words.map { ($0, distance(typed, $0.lowercased())) }.min { $0.1 < $1.1 }
        guard let (found, distance) = nearest, distance < max(word.count, found.count),
            distance <= max(1, min(word.count, found.count) / max(1, share))
        else { return nil }
        return found
    }
}
