import Phrases

/// Byte counts as people read them, in the language of the task: English in the agent.
package enum ByteText {
    private static let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    /// `999 B`, `1.5 KiB`, `12 MiB`: two figures or more, powers of 1024.
    package static func size(_ bytes: Int64) -> String {
        let count = max(0, bytes)
        guard count >= 1000 else { return "\(count) B" }
        var value = Double(count) / 1024
        var unit = 0
        // 999.5 would be written with four digits: it is of the next unit.
        while value >= 999.5, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        return tenths < 100
            ? "\(tenths / 10)\(Translation.current.decimal)\(tenths % 10) \(units[unit])"
            : "\(Int(value.rounded())) \(units[unit])"
    }
}
