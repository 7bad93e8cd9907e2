/// A nondeterministic automaton for any set of globs, with a number of states linear in their length.
///
/// A run visits each state at most once per scalar of the path, so no pattern makes it exponential.
struct GlobAutomaton: Sendable {
    fileprivate enum State: Sendable {
        case scalar(UInt32, next: Int32)
        /// Any scalar but `/`.
        case single(next: Int32)
        case anything(next: Int32)
        case set([UInt32], isNegated: Bool, next: Int32)
        case range(UInt32, UInt32, isNegated: Bool, next: Int32)
        /// Goes on in all of these without taking a scalar.
        case split([Int32])
        case accept
    }

    /// How far a run came.
    struct Outcome {
        /// Whether some glob matches the whole path.
        var accepts = false
        /// Whether some glob could still match the path with more behind it.
        var canContinue = false
    }

    private var states: [State] = [.accept]
    private var start: Int32 = 0

    init(_ globs: [Glob]) {
        let starts = globs.map { compile($0, next: 0) }
        start = add(.split(starts))
    }

    private mutating func add(_ state: State) -> Int32 {
        states.append(state)
        // A line's length bounds the states, far below what the index can hold.
        return Int32(truncatingIfNeeded: states.count - 1)
    }

    private mutating func compile(_ glob: Glob, next: Int32) -> Int32 {
        if let (prefix, suffix) = glob.overlappingEnds { return compileOverlapping(prefix, suffix, next: next) }
        var next = next
        for element in glob.elements.reversed() { next = compile(element, next: next) }
        return next
    }

    private mutating func compile(_ element: Glob.Element, next: Int32) -> Int32 {
        switch element {
        case .text(let text): return compile(text, next: next)
        case .single: return add(.single(next: next))
        case .set(let members, let isNegated): return add(.set(members, isNegated: isNegated, next: next))
        case .range(let low, let high, let isNegated): return add(.range(low, high, isNegated: isNegated, next: next))
        case .run, .deepRun:
            let loop = add(.split([]))
            let step = add(element == .run ? .single(next: loop) : .anything(next: loop))
            states[Int(loop)] = .split([step, next])
            return loop
        case .alternatives(let globs):
            let starts = globs.map { compile($0, next: next) }
            return add(.split(starts))
        }
    }

    private mutating func compile(_ text: [UInt32], next: Int32) -> Int32 {
        var next = next
        for scalar in text.reversed() { next = add(.scalar(scalar, next: next)) }
        return next
    }

    /// Prefix and suffix with anything between, and also every string where the two share some scalars: before the
    /// last n of the prefix one may go over to the suffix if those n are also its first.
    private mutating func compileOverlapping(_ prefix: [UInt32], _ suffix: [UInt32], next: Int32) -> Int32 {
        let suffixStart = compile(suffix, next: next)
        let shared = Self.overlaps(of: prefix, with: suffix)
        var state = compile(Glob.Element.deepRun, next: suffixStart)
        for (offset, scalar) in prefix.enumerated().reversed() {
            state = add(.scalar(scalar, next: state))
            if shared.contains(prefix.count - offset) { state = add(.split([state, suffixStart])) }
        }
        return state
    }

    /// All n > 0 for which the last n of `prefix` are the first n of `suffix`.
    private static func overlaps(of prefix: [UInt32], with suffix: [UInt32]) -> Set<Int> {
        // The borders of suffix + separator + prefix; no scalar has the separator's number.
        let text = suffix + [UInt32.max] + prefix
        var border = Array(repeating: 0, count: text.count)
        for index in text.indices.dropFirst() {
            var length = border[index - 1]
            while length > 0, text[index] != text[length] { length = border[length - 1] }
            if text[index] == text[length] { length += 1 }
            border[index] = length
        }
        var result: Set<Int> = []
        var length = border.last ?? 0
        while length > 0 {
            result.insert(length)
            length = border[length - 1]
        }
        return result
    }

    /// Runs over `path`, and a `/` behind it if `thenSlash`; `steps` counts the states looked at.
    func run(_ path: UnsafeBufferPointer<UInt8>, thenSlash: Bool = false, steps: inout Int) -> Outcome {
        var marks = [UInt32](repeating: 0, count: states.count)
        var generation: UInt32 = 0
        var current: [Int32] = []
        var following: [Int32] = []
        var pending: [Int32] = []

        /// Adds a state, or those that a split stands for, once per generation.
        func enter(_ state: Int32, into list: inout [Int32]) {
            pending.append(state)
            while let state = pending.popLast() {
                guard marks[Int(state)] != generation else { continue }
                marks[Int(state)] = generation
                steps += 1
                if case .split(let targets) = states[Int(state)] {
                    pending.append(contentsOf: targets)
                } else {
                    list.append(state)
                }
            }
        }

        func take(_ scalar: UInt32) {
            generation += 1
            following.removeAll(keepingCapacity: true)
            for state in current {
                steps += 1
                if let next = states[Int(state)].next(on: scalar) { enter(next, into: &following) }
            }
            swap(&current, &following)
        }

        generation = 1
        enter(start, into: &current)
        var index = 0
        while index < path.count, !current.isEmpty { take(path.decodeScalar(at: &index)) }
        if thenSlash, !current.isEmpty { take("/".value) }
        var outcome = Outcome()
        for state in current {
            if case .accept = states[Int(state)] { outcome.accepts = true } else { outcome.canContinue = true }
        }
        return outcome
    }
}

extension GlobAutomaton.State {
    fileprivate func next(on scalar: UInt32) -> Int32? {
        switch self {
        case .scalar(let value, let next): scalar == value ? next : nil
        case .single(let next): scalar == "/" ? nil : next
        case .anything(let next): next
        case .set(let members, let isNegated, let next): members.contains(scalar) != isNegated ? next : nil
        case .range(let low, let high, let isNegated, let next): (low...high).contains(scalar) != isNegated ? next : nil
        case .split, .accept: nil
        }
    }
}

extension String {
    /// The number of a text's first scalar; for literals of one character.
    var value: UInt32 { unicodeScalars.first?.value ?? 0 }
}
