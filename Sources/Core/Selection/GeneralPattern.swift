/// A pattern that only an automaton can match.
struct GeneralPattern: Sendable {
    let line: PathTrie.LineIndex
    let isIncluding: Bool
    /// All globs of the line.
    private let globs: GlobAutomaton
    /// Those that take in everything below what they match.
    private let subtreeGlobs: GlobAutomaton
    /// What every matching path begins with: a cheap way to say no.
    private let prefix: [UInt8]

    init(_ pattern: IgnorePattern, line: PathTrie.LineIndex) {
        let globs = pattern.globs
        self.line = line
        isIncluding = !pattern.isIgnoring
        self.globs = GlobAutomaton(globs)
        subtreeGlobs = GlobAutomaton(globs.filter { $0.elements.last == .deepRun && $0.endsBelow })
        if pattern.isRooted, case .text(let text) = globs.first?.elements.first {
            prefix = Array(String(scalars: text).utf8)
        } else {
            prefix = []
        }
    }

    func answers(
        _ question: PatternTable.Question, _ path: UnsafeBufferPointer<UInt8>, steps: inout Int
    ) -> Bool {
        switch question {
        case .itself: path.starts(with: prefix) && globs.run(path, steps: &steps).accepts
        case .everythingBelow: subtreeGlobs.run(path, thenSlash: !path.isEmpty, steps: &steps).accepts
        }
    }

    /// Whether some path below `directory` can match.
    func canMatch(below directory: UnsafeBufferPointer<UInt8>, steps: inout Int) -> Bool {
        globs.run(directory, thenSlash: !directory.isEmpty, steps: &steps).canContinue
    }
}

extension Glob {
    /// Whether the glob ends in `/**`, so that with a directory it matches all that is in it.
    fileprivate var endsBelow: Bool {
        guard elements.count >= 2, elements.last == .deepRun, case .text(let text) = elements[elements.count - 2]
        else { return false }
        return text.last == "/".value
    }
}
