import ControlAPI
import Phrases
import Synchronization

/// A line on standard error that shows how far a fetch is, drawn over itself at most ten times a second.
final class ProgressLine: Sendable {
    private struct State {
        var lastDrawn: ContinuousClock.Instant?
        var isVisible = false
    }

    private static let interval = Duration.milliseconds(100)

    private let errors: Output
    private let isShown: Bool
    private let width: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    init(
        errors: Output, isShown: Bool, width: Int,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }
    ) {
        self.errors = errors
        self.isShown = isShown
        self.width = width
        self.now = now
    }

    func show(path: String, done: Int64, total: Int64, bytesPerSecond: Int64, holders: [String]) throws {
        let origin = holders.isEmpty ? nil : translated("from \(EscapedName.escape(holders.joined(separator: ", ")))")
        try show(path: path, done: done, total: total, bytesPerSecond: bytesPerSecond, peer: origin)
    }

    /// - Parameter peer: where it comes from or goes to, as it is shown.
    func show(path: String, done: Int64, total: Int64, bytesPerSecond: Int64, peer: String?) throws {
        try show {
            Self.text(
                path: path, done: done, total: total, bytesPerSecond: bytesPerSecond, peer: peer, width: width)
        }
    }

    /// Shows any text, cut to the width.
    func show(text: String) throws {
        try show { DisplayWidth.cut(text, to: max(20, width - 1)) }
    }

    private func show(_ text: () -> String) throws {
        guard isShown else { return }
        let now = now()
        let isDue = state.withLock { state in
            if let last = state.lastDrawn, now - last < Self.interval { return false }
            state.lastDrawn = now
            state.isVisible = true
            return true
        }
        guard isDue else { return }
        try errors.write("\r\u{1b}[K\(text())")
    }

    /// Takes the line away, so that something else can be printed.
    func clear() throws {
        let wasVisible = state.withLock { state in
            defer { state.isVisible = false }
            return state.isVisible
        }
        if wasVisible { try errors.write("\r\u{1b}[K") }
    }

    /// ` 12%  3.4 MiB of 28 MiB  1.2 MiB/s  21 s left  from NAS  photos/x.jpg`, cut to the width.
    static func text(
        path: String, done: Int64, total: Int64, bytesPerSecond: Int64, peer: String?, width: Int
    ) -> String {
        var parts = [
            Table.pad("\(Quantity.percent(done, of: total))%", to: 4, .right),
            translated("\(Quantity.size(done)) of \(Quantity.size(total))"), Quantity.rate(bytesPerSecond),
            translated("\(Quantity.remaining(total - done, bytesPerSecond: bytesPerSecond)) left"),
        ]
        if let peer { parts.append(peer) }
        parts.append(EscapedName.escape(path))
        return String(parts.joined(separator: "  ").prefix(max(20, width - 1)))
    }
}
