/// How often something is done, as users write it: `12h`, `30d`, `4w`.
enum IntervalText {
    private static let units: [(letter: Character, seconds: Int)] = [("w", 604_800), ("d", 86_400), ("h", 3600)]
    /// From an hour to ten years.
    static let range = 3600...315_360_000

    /// In seconds; nil if the text is not an interval, or not in `range`.
    static func parse(_ text: String) -> Int? {
        guard let letter = text.last, let unit = units.first(where: { $0.letter == letter }),
            text.utf8.count <= 8, text.dropLast().allSatisfy({ ("0"..."9").contains($0) }),
            let count = Int(text.dropLast())
        else { return nil }
        let (seconds, overflows) = count.multipliedReportingOverflow(by: unit.seconds)
        return !overflows && range.contains(seconds) ? seconds : nil
    }

    static func format(_ seconds: Int) -> String {
        let unit = units.dropFirst().first { seconds % $0.seconds == 0 }
        return unit.map { "\(seconds / $0.seconds)\($0.letter)" } ?? "\(max(1, seconds / 3600))h"
    }
}
