/// How much each program may have downloaded by reading, within a window of time: what reads everything, as an index of contents
/// or a backup does, is not to download a library unasked. Pure.
///
/// A program is its process group, which a shell makes for each command line.
package struct ReadBudget: Sendable {
    package static let window = Duration.seconds(600)
    /// The window moves in steps of this.
    private static let step = Duration.seconds(60)
    private static let groupLimit = 1000

    private struct Spent {
        var since: Duration
        var byteCount: Int64
    }

    /// Bytes in one window; nil for as many as there are.
    package private(set) var limit: Int64?
    private var groups: [UInt32: [Spent]] = [:]

    package init(limit: Int64? = nil) { self.limit = limit }

    /// Sets another limit. What was spent until now is forgotten.
    package mutating func setLimit(_ limit: Int64?) {
        self.limit = limit
        groups = [:]
    }

    package mutating func spend(_ byteCount: Int64, by group: UInt32, at now: Duration) {
        guard limit != nil, byteCount > 0 else { return }
        var spent = recent(group, now)
        if let last = spent.last, now - last.since < Self.step {
            let sum = last.byteCount.addingReportingOverflow(byteCount)
            spent[spent.count - 1].byteCount = sum.overflow ? .max : sum.partialValue
        } else {
            spent.append(Spent(since: now, byteCount: byteCount))
        }
        if groups[group] == nil, groups.count >= Self.groupLimit { forgetOldest() }
        groups[group] = spent
    }

    /// Whether the program gets nothing more for now.
    package func isSpent(by group: UInt32, at now: Duration) -> Bool {
        guard let limit else { return false }
        var left = limit
        for spent in recent(group, now) {
            guard spent.byteCount < left else { return true }
            left -= spent.byteCount
        }
        return left <= 0
    }

    private func recent(_ group: UInt32, _ now: Duration) -> [Spent] {
        groups[group, default: []].filter { now - $0.since < Self.window }
    }

    private mutating func forgetOldest() {
        let oldest = groups.min { ($0.value.last?.since ?? .zero) < ($1.value.last?.since ?? .zero) }
        if let oldest { groups[oldest.key] = nil }
    }

    // MARK: as text

    private static let unlimited = "none"

    /// The value of the attribute `budget`: bytes, or `none`.
    package var text: String { limit.map { String($0) } ?? Self.unlimited }

    /// A limit as people and the attribute write it. Nil for what is none.
    package static func limit(parsing text: String) -> Int64?? {
        let text = text.split(separator: "\n").first.map(String.init) ?? ""
        if text == unlimited { return .some(nil) }
        guard let limit = Int64(text), limit > 0 else { return nil }
        return limit
    }
}
