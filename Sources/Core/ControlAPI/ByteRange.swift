// bounded-names: size last: greater than zero here, and the positions are from zero on

/// Part of a file as asked for.
package enum ByteRange: Equatable, Sendable {
    /// From the first byte to the last, both included; nil for the file's end.
    case bytes(from: Int64, through: Int64?)
    /// The last so many bytes.
    case suffix(Int64)

    /// Reads `A-B`, `A-` or `-N`: decimal digits without sign, `A` not beyond `B`. Nil for anything else.
    package init?(text: some StringProtocol) {
        guard let dash = text.firstIndex(of: "-") else { return nil }
        let before = text[..<dash]
        let after = text[text.index(after: dash)...]
        func number(_ digits: some StringProtocol) -> Int64? {
            digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(digits) : nil
        }
        if before.isEmpty {
            guard let count = number(after) else { return nil }
            self = .suffix(count)
            return
        }
        guard let from = number(before) else { return nil }
        if after.isEmpty {
            self = .bytes(from: from, through: nil)
            return
        }
        guard let through = number(after), through >= from else { return nil }
        self = .bytes(from: from, through: through)
    }

    /// `A-B`, `A-` or `-N`.
    package var text: String {
        switch self {
        case .bytes(let from, let through): "\(from)-\(through.map { String($0) } ?? "")"
        case .suffix(let count): "-\(count)"
        }
    }

    /// The bytes of a file of `size` that are meant; nil if there are none.
    package func resolved(size: Int64) -> ClosedRange<Int64>? {
        switch self {
        case .bytes(let from, let through):
            guard from >= 0, from < size else { return nil }
            let last = min(through ?? size - 1, size - 1)
            return last >= from ? from...last : nil
        case .suffix(let count):
            guard count > 0, size > 0 else { return nil }
            return max(0, size - count)...size - 1
        }
    }
}
