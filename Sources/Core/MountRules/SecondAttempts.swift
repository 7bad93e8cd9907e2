/// Finds programs that read a file themselves after the program that they started for it was refused: file managers that make a
/// thumbnail on their own when the thumbnail program fails, as Nemo does. What was refused to the first is refused to the second. Pure.
package struct SecondAttempts: Sendable {
    /// How soon after the first attempt the second one comes.
    package static let patience: Duration = .seconds(5)
    /// Further ones replace the oldest.
    package static let limit = 256

    private struct Refusal {
        var file: UInt64
        var process: Int32
        var until: Duration
    }

    private var refusals: [Refusal] = []

    package init() {}

    package var isEmpty: Bool { refusals.isEmpty }

    /// A program opens a file that is refused to it.
    ///
    /// - Parameters:
    ///   - process: the one that started it.
    ///   - now: since some fixed moment.
    package mutating func noteScanner(of file: UInt64, startedBy process: Int32, at now: Duration) {
        // Whoever lost its parent was started by nobody that is known.
        guard process > 1 else { return }
        refusals.removeAll { $0.until <= now || ($0.file == file && $0.process == process) }
        if refusals.count >= Self.limit { refusals.removeFirst() }
        refusals.append(Refusal(file: file, process: process, until: now + Self.patience))
    }

    /// Whether a process opens a file because the program that it started for it was refused. Each refusal counts once: who opens
    /// the file again wants it.
    package mutating func take(_ file: UInt64, by process: Int32, at now: Duration) -> Bool {
        refusals.removeAll { $0.until <= now }
        guard let place = refusals.firstIndex(where: { $0.file == file && $0.process == process }) else { return false }
        refusals.remove(at: place)
        return true
    }
}
