/// How much of the disk that a folder is on stays free: nothing is fetched that would take it.
package enum MinimumFree: Equatable, Sendable {
    case byteCount(Int64)
    /// Hundredths of a percent of the disk, from 0 to 10,000.
    case basisPoints(Int)

    /// Reads a size as `ByteCountText` does, or `1 %`, `0.5%`: up to 100, with at most two decimals. Nil for any other text.
    init?(text: String) {
        guard text.hasSuffix("%") else {
            guard let byteCount = ByteCountText.parse(text) else { return nil }
            self = .byteCount(byteCount)
            return
        }
        var number = text.dropLast()
        if number.hasSuffix(" ") { number.removeLast() }
        let parts = number.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { part in
            (1...3).contains(part.count)
                && part.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard areDigits, (1...2).contains(parts.count), let whole = Int(Substring(parts[0])) else { return nil }
        var hundredths = whole * 100
        if parts.count == 2 {
            guard parts[1].count <= 2, let fraction = Int(Substring(parts[1])) else { return nil }
            hundredths += parts[1].count == 1 ? fraction * 10 : fraction
        }
        guard hundredths <= 10_000 else { return nil }
        self = .basisPoints(hundredths)
    }

    /// As the configuration file has it.
    var text: String {
        switch self {
        case .byteCount(let byteCount): return ByteCountText.format(byteCount)
        case .basisPoints(let hundredths):
            let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
            let fraction = rest == 0 ? "" : rest % 10 == 0 ? ".\(rest / 10)" : rest < 10 ? ".0\(rest)" : ".\(rest)"
            return "\(whole)\(fraction) %"
        }
    }

    /// The bytes that stay free on a disk of this size.
    package func byteCount(ofDisk size: Int64) -> Int64 {
        switch self {
        case .byteCount(let byteCount): return byteCount
        // The product of the two need not fit.
        case .basisPoints(let hundredths):
            let (whole, rest) = max(0, size).quotientAndRemainder(dividingBy: 10_000)
            return whole * Int64(hundredths) + rest * Int64(hundredths) / 10_000
        }
    }
}
