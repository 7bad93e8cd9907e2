/// Counts which lines of an ignore file decide about names, and what would differ from the lines that hold now. Pure.
///
/// Memory: a count for each line, and of `nameLimit` names each for the lines and the two differences.
public struct PatternTally: Sendable {
    /// Files, and the first names among them.
    public struct Count: Sendable, Equatable {
        public internal(set) var files = 0
        public internal(set) var byteCount: Int64 = 0
        public internal(set) var names: [String] = []
    }

    public let selection: Selection
    /// The lines that hold now.
    private let current: Selection
    private let nameLimit: Int

    /// What each of `selection.patterns` is the first line to match.
    public private(set) var lines: [Count]
    /// All that was added.
    public private(set) var all = Count()
    public private(set) var ignored = Count()
    /// Kept now, and ignored with `selection`.
    public private(set) var newlyIgnored = Count()
    /// Ignored now, and kept with `selection`.
    public private(set) var newlyKept = Count()

    public init(_ selection: Selection, instead current: Selection, nameLimit: Int = 5) {
        (self.selection, self.current, self.nameLimit) = (selection, current, nameLimit)
        lines = Array(repeating: Count(), count: selection.patterns.count)
    }

    /// Adds a file by its path in the folder, with its size in bytes.
    public mutating func add(_ path: String, byteCount: Int64) {
        let decision = selection.decision(for: path)
        if let index = decision.patternIndex { count(path, byteCount, in: &lines[index]) }
        count(nil, byteCount, in: &all)
        if decision.isIgnored { count(path, byteCount, in: &ignored) }
        guard decision.isIgnored != current.isIgnored(path) else { return }
        if decision.isIgnored {
            count(path, byteCount, in: &newlyIgnored)
        } else {
            count(path, byteCount, in: &newlyKept)
        }
    }

    private func count(_ path: String?, _ byteCount: Int64, in count: inout Count) {
        count.files += 1
        let (sum, isTooLarge) = count.byteCount.addingReportingOverflow(byteCount)
        count.byteCount = isTooLarge ? .max : sum
        if let path, count.names.count < nameLimit { count.names.append(path) }
    }
}
