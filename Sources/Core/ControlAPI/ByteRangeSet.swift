import Trimming

/// What a `Range` header asks for: one range of bytes or several, in the order given.
package struct ByteRangeSet: Equatable, Sendable {
    /// More ranges in one header are not answered as such.
    package static let limit = 16

    /// At least one.
    package let ranges: [ByteRange]

    /// What of a file is sent.
    package enum Answer: Equatable, Sendable {
        /// All of it, as if nothing had been asked for.
        case whole
        /// None of the ranges has a byte of the file.
        case unsatisfiable
        /// At least one, in the order asked for, those without a byte left out.
        case parts([ClosedRange<Int64>])
    }

    /// Nil when the header is to be ignored, and the whole file answered: no header, another unit than bytes, bad syntax
    /// or more than `limit` ranges (RFC 9110, 14.2).
    package init?(header: String?) {
        guard let header else { return nil }
        let halves = header.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return nil }
        var ranges: [ByteRange] = []
        for part in halves[1].split(separator: ",", omittingEmptySubsequences: false) {
            let text = part.withoutOuterBlanks
            // A list may have empty elements (RFC 9110, 5.6.1).
            if text.isEmpty { continue }
            guard ranges.count < Self.limit, let range = ByteRange(text: text) else { return nil }
            ranges.append(range)
        }
        guard !ranges.isEmpty else { return nil }
        self.ranges = ranges
    }

    /// What is sent of a file of `size` bytes. Ranges that together ask for more than the file has get it once.
    package func answer(size: Int64) -> Answer {
        let parts = ranges.compactMap { $0.resolved(size: size) }
        guard !parts.isEmpty else { return .unsatisfiable }
        var total: Int64 = 0
        for part in parts {
            // A size is what somebody said.
            let (sum, isOver) = total.addingReportingOverflow(part.upperBound - part.lowerBound + 1)
            guard !isOver else { return .whole }
            total = sum
        }
        return parts.count > 1 && (total > size || total > .max / 2) ? .whole : .parts(parts)
    }
}
