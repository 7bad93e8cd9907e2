import ControlAPI
import Phrases

/// Sizes, rates and times as people read them.
enum Quantity {
    /// `999 B`, `1.5 KiB`, `12 MiB`: two figures or more, powers of 1024.
    static func size(_ bytes: Int64) -> String { ByteText.size(bytes) }

    static func rate(_ bytesPerSecond: Int64) -> String { size(bytesPerSecond) + "/s" }

    /// How long the rest takes at this rate; `-` if nobody can say.
    static func remaining(_ bytes: Int64, bytesPerSecond: Int64) -> String {
        guard bytes > 0 else { return "0 s" }
        guard bytesPerSecond > 0 else { return "-" }
        let (quotient, remainder) = bytes.quotientAndRemainder(dividingBy: bytesPerSecond)
        return duration(seconds: quotient + (remainder > 0 ? 1 : 0))
    }

    /// `12 s`, `3 min 05 s`, `2 h 10 min`, `4 d 03 h`.
    static func duration(seconds: Int64) -> String {
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        switch seconds {
        case ..<60: return "\(max(0, seconds)) s"
        case ..<3600: return "\(seconds / 60) min \(two(seconds % 60)) s"
        case ..<86400: return "\(seconds / 3600) h \(two(seconds % 3600 / 60)) min"
        default: return translated("\(seconds / 86400) d \(two(seconds % 86400 / 3600)) h")
        }
    }

    /// `0.3 s`, `12 s`, `3 min 05 s`.
    static func time(_ seconds: Double) -> String {
        guard seconds.isFinite, (10..<1e15).contains(seconds) else {
            let tenths = Int((max(0, min(10, seconds.isFinite ? seconds : 0)) * 10).rounded())
            return "\(tenths / 10)\(Translation.current.decimal)\(tenths % 10) s"
        }
        return duration(seconds: Int64(seconds))
    }

    /// `2 files, 10 B, 3 deletions`; `nothing`.
    static func need(_ totals: FolderStatus.Totals) -> String {
        var parts: [String] = []
        if totals.files > 0 || totals.bytes > 0 { parts += [files(totals.files), size(totals.bytes)] }
        if totals.directories > 0, parts.isEmpty { parts.append(directories(totals.directories)) }
        if let deletions = totals.deletions, deletions > 0 { parts.append(self.deletions(deletions)) }
        return parts.isEmpty ? translated("nothing") : parts.joined(separator: ", ")
    }

    /// Percent done, 100 only when all is.
    static func percent(_ done: Int64, of total: Int64) -> Int64 {
        guard total > 0, done > 0 else { return total == 0 ? 100 : 0 }
        guard done < total else { return 100 }
        return min(99, Int64(Double(done) / Double(total) * 100))
    }
}

/// `1 file`, `2 files`.
extension Quantity {
    static func files(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) file", many: "\(number) files")
    }

    static func blocks(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) block", many: "\(number) blocks")
    }

    static func names(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) name", many: "\(number) names")
    }

    static func changes(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) change", many: "\(number) changes")
    }

    static func selectedPaths(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) selected path", many: "\(number) selected paths")
    }

    static func devices(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) device", many: "\(number) devices")
    }

    static func errors(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) error", many: "\(number) errors")
    }

    static func problems(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) problem", many: "\(number) problems")
    }

    static func warnings(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) warning", many: "\(number) warnings")
    }

    static func notes(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) note", many: "\(number) notes")
    }

    static func conflicts(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) conflict", many: "\(number) conflicts")
    }

    static func damagedFiles(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) damaged file", many: "\(number) damaged files")
    }

    static func extraneousFiles(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) extraneous file", many: "\(number) extraneous files")
    }

    static func moreChecks(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) more check", many: "\(number) more checks")
    }

    static func connections(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) connection", many: "\(number) connections")
    }

    static func addresses(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) address", many: "\(number) addresses")
    }

    static func deletions(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) deletion", many: "\(number) deletions")
    }

    /// With its preposition, by which other languages inflect the noun.
    static func inDirectories(_ number: some BinaryInteger) -> String {
        translated(number, one: "in \(number) directory", many: "in \(number) directories")
    }

    static func directories(_ number: some BinaryInteger) -> String {
        translated(number, one: "\(number) directory", many: "\(number) directories")
    }
}
