/// Spreads the requests to one device over its links. A value.
///
/// The link with the least under way is asked; the primary only when each of the others has `primaryHandicap` more, so that
/// indexes are not held up behind blocks.
package struct RequestSpread: Sendable {
    package static let primaryHandicap = 512 << 10
    private static let largestRequest = 64 << 20

    /// Bytes that were asked for and have not come, by link.
    private var loads: [LinkNumber: Int] = [:]
    private var primary: LinkNumber?

    package init() {}

    /// The links that may be asked now. What is under way on those that stay counts on.
    package mutating func set(links: [LinkNumber], primary: LinkNumber?) {
        self.primary = primary
        loads = Dictionary(links.map { ($0, loads[$0] ?? 0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The link for a request of `byteCount`; nil if there is none. Report the end of the request with `finished`.
    package mutating func take(byteCount: Int) -> LinkNumber? {
        let chosen = loads.min { (weight($0), $0.key) < (weight($1), $1.key) }?.key
        if let chosen { loads[chosen, default: 0] += Self.counted(byteCount) }
        return chosen
    }

    package mutating func finished(_ link: LinkNumber, byteCount: Int) {
        guard let load = loads[link] else { return }
        loads[link] = max(0, load - Self.counted(byteCount))
    }

    private func weight(_ entry: (key: LinkNumber, value: Int)) -> Int {
        entry.value + (entry.key == primary ? Self.primaryHandicap : 0)
    }

    private static func counted(_ byteCount: Int) -> Int { max(0, min(byteCount, largestRequest)) }
}
