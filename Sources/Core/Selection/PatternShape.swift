/// What a pattern comes down to, from cheapest to match to dearest.
enum PatternShape: Sendable {
    /// Every path.
    case everything
    /// Whole components in a row: from the root if the pattern is rooted, else anywhere.
    case literal([[UInt8]])
    /// One component, anywhere, that begins so.
    case prefix([UInt8])
    /// One component, anywhere, that ends so.
    case suffix([UInt8])
    /// One component: the first if the pattern is rooted, else anywhere.
    case component(ComponentGlob)
    /// Anything else.
    case general

    /// Finds the shape of a pattern from its body, whose globs are known to parse.
    ///
    /// All shapes but the last say the same as the globs that the line expands to, for paths without empty components.
    init(body: [UInt32], globs: [Glob]) {
        var core = body[...]
        if core.suffix(3) == "/**".scalarValues[...] {
            core = core.dropLast(3)
        } else if core.last == "/".value {
            core = core.dropLast()
        }
        let matchesContentOnly = core.count < body.count
        if globs.contains(where: { $0.elements == [.deepRun] }) {
            self = .everything
            return
        }
        let isRooted = core.first == "/".value
        if isRooted {
            core = core.dropFirst()
        } else if core.starts(with: "**/".scalarValues) {
            core = core.dropFirst(3)
        }
        guard !core.isEmpty, let glob = try? GlobParser.parse(Array(core)) else {
            self = .general
            return
        }
        if glob.elements == [.run], !matchesContentOnly {
            self = .everything
            return
        }
        if let literal = glob.literal {
            let components = Array(String(scalars: literal).utf8)
                .split(separator: PathBytes.slash, omittingEmptySubsequences: false).map(Array.init)
            self = components.contains([]) ? .general : .literal(components)
            return
        }
        guard let tokens = ComponentGlob(glob) else {
            self = .general
            return
        }
        switch (isRooted, glob.elements.count, glob.elements.first, glob.elements.last) {
        case (false, 2, .text(let text), .run): self = .prefix(Array(String(scalars: text).utf8))
        case (false, 2, .run, .text(let text)): self = .suffix(Array(String(scalars: text).utf8))
        default: self = .component(tokens)
        }
    }
}

/// A glob that can match one component of a path only, since nothing in it can match `/`.
struct ComponentGlob: Sendable {
    private enum Token: Sendable {
        case text([UInt8])
        case run
        case single
        case set([UInt32])
        case range(UInt32, UInt32)
    }

    private let tokens: [Token]

    /// Nil if something in the glob can match `/`, or needs more than going back to the last `*`.
    init?(_ glob: Glob) {
        var tokens: [Token] = []
        for element in glob.elements {
            switch element {
            case .text(let text) where !text.contains("/".value):
                tokens.append(.text(Array(String(scalars: text).utf8)))
            case .run: tokens.append(.run)
            case .single: tokens.append(.single)
            case .set(let members, isNegated: false) where !members.contains("/".value): tokens.append(.set(members))
            case .range(let low, let high, isNegated: false) where !(low...high).contains("/".value):
                tokens.append(.range(low, high))
            default: return nil
            }
        }
        self.tokens = tokens
    }

    /// Whether the whole component matches; tries at most (bytes + 1) × tokens steps, which `steps` counts.
    func matches(_ component: UnsafeBufferPointer<UInt8>, steps: inout Int) -> Bool {
        var token = 0
        var index = 0
        // Where the last `*` stands and up to where it has taken bytes: a later `*` makes earlier ones final.
        var run: (token: Int, index: Int)?
        while true {
            steps += 1
            if token == tokens.count {
                if index == component.count { return true }
            } else if case .run = tokens[token] {
                run = (token, index)
                token += 1
                continue
            } else if let next = match(tokens[token], component, at: index) {
                index = next
                token += 1
                continue
            }
            guard var again = run, again.index < component.count else { return false }
            _ = component.decodeScalar(at: &again.index)
            run = again
            token = again.token + 1
            index = again.index
        }
    }

    private func match(_ token: Token, _ component: UnsafeBufferPointer<UInt8>, at start: Int) -> Int? {
        var index = start
        switch token {
        case .text(let text):
            guard component.count - index >= text.count else { return nil }
            for byte in text {
                guard component[index] == byte else { return nil }
                index += 1
            }
            return index
        case .run: return index
        case .single:
            guard index < component.count else { return nil }
            _ = component.decodeScalar(at: &index)
            return index
        case .set(let members):
            guard index < component.count else { return nil }
            return members.contains(component.decodeScalar(at: &index)) ? index : nil
        case .range(let low, let high):
            guard index < component.count else { return nil }
            return (low...high).contains(component.decodeScalar(at: &index)) ? index : nil
        }
    }
}
