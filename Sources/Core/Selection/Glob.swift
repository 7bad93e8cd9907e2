import Phrases

/// A glob as Syncthing's library reads it, with `/` as the separator: its elements in order.
struct Glob: Equatable, Sendable {
    enum Element: Equatable, Sendable {
        /// Scalars that stand for themselves; escapes are resolved.
        case text([UInt32])
        /// `*`: any run without `/`.
        case run
        /// `**`: any run.
        case deepRun
        /// `?`: one scalar that is not `/`.
        case single
        /// `[abc]` or `[!abc]`; the negated form matches `/` too.
        case set([UInt32], isNegated: Bool)
        /// `[a-z]` or `[!a-z]`; the negated form matches `/` too.
        case range(UInt32, UInt32, isNegated: Bool)
        /// `{a,b}`.
        case alternatives([Glob])
    }

    var elements: [Element]

    /// What the glob spells when it can match one string only.
    var literal: [UInt32]? {
        var scalars: [UInt32] = []
        for element in elements {
            switch element {
            case .text(let text): scalars += text
            case .set(let members, isNegated: false) where members.count == 1: scalars += members
            case .range(let low, let high, isNegated: false) where low == high: scalars.append(low)
            default: return nil
            }
        }
        return scalars
    }

    /// The text on both sides when the glob is exactly text, `**`, text.
    ///
    /// Syncthing's library asks such a glob only whether the path has that prefix and that suffix, so the two may
    /// overlap: `a/**/x` matches `a/x`. Its own peers act on it, so this matcher does too. The shapes that the library
    /// takes for text are a class of one scalar and braces around a single alternative; runs of `**` count as one.
    var overlappingEnds: (prefix: [UInt32], suffix: [UInt32])? {
        var reduced: [Element] = []
        for element in elements {
            let plain = Glob.reduced(element)
            if plain == .deepRun, reduced.last == .deepRun { continue }
            guard reduced.count < 3 else { return nil }
            reduced.append(plain)
        }
        guard reduced.count == 3, reduced[1] == .deepRun, case .text(let prefix) = reduced[0],
            case .text(let suffix) = reduced[2]
        else { return nil }
        return (prefix, suffix)
    }

    private static func reduced(_ element: Element) -> Element {
        switch element {
        case .set(let members, isNegated: false) where members.count == 1: .text(members)
        case .alternatives(let globs) where globs.count == 1 && globs[0].elements.count == 1:
            reduced(globs[0].elements[0])
        default: element
        }
    }
}

/// What is wrong with a glob, and at which of its scalars (from 0).
struct GlobError: Error, Equatable {
    let code: IgnoreError.Code
    let text: Phrase
    let offset: Int

    init(_ code: IgnoreError.Code, _ text: Phrase, offset: Int) {
        self.code = code
        self.text = text
        self.offset = offset
    }
}

/// Reads a glob by the rules, and with the oddities, of the library that Syncthing uses.
struct GlobParser {
    private let scalars: [UInt32]
    private var position = 0
    private var alternativeCount = 0

    private init(_ scalars: [UInt32]) { self.scalars = scalars }

    static func parse(_ scalars: [UInt32]) throws(GlobError) -> Glob {
        for (offset, scalar) in scalars.enumerated() where scalar == 0 || scalar == 0xFFFD {
            throw GlobError(
                .invalidText,
                "the line contains a character that is not allowed in a pattern; save the file as UTF-8 and retype it here",
                offset: offset)
        }
        var parser = GlobParser(scalars)
        return try parser.sequence(depth: 0)
    }

    /// Reads up to the end, or inside braces up to the `,` or `}` that ends this alternative.
    private mutating func sequence(depth: Int) throws(GlobError) -> Glob {
        var elements: [Glob.Element] = []
        while position < scalars.count {
            switch scalars[position] {
            case "," where depth > 0, "}" where depth > 0:
                return Glob(elements: elements)
            case "{":
                elements.append(try alternatives(depth: depth + 1))
            case "[":
                elements.append(try characterClass())
            case "?":
                position += 1
                elements.append(.single)
            case "*":
                position += 1
                if position < scalars.count, scalars[position] == "*" {
                    position += 1
                    elements.append(.deepRun)
                } else {
                    elements.append(.run)
                }
            default:
                let text = self.text { scalar in
                    scalar == "?" || scalar == "*" || scalar == "[" || scalar == "{"
                        || depth > 0 && (scalar == "}" || scalar == ",")
                }
                if !text.isEmpty { elements.append(.text(text)) }
            }
        }
        return Glob(elements: elements)
    }

    private mutating func alternatives(depth: Int) throws(GlobError) -> Glob.Element {
        let start = position
        guard depth <= IgnoreLimits.braceDepth else {
            throw GlobError(
                .tooLarge, "braces are nested more than \(IgnoreLimits.braceDepth) deep; write several lines instead",
                offset: start)
        }
        position += 1
        var globs: [Glob] = []
        while true {
            globs.append(try sequence(depth: depth))
            alternativeCount += 1
            guard alternativeCount <= IgnoreLimits.alternativeCount else {
                throw GlobError(
                    .tooLarge, "more than \(IgnoreLimits.alternativeCount) alternatives; write several lines instead",
                    offset: start)
            }
            guard position < scalars.count else {
                throw GlobError(
                    .invalidPattern, "this { is never closed; add the }, or write \\{ for the character itself",
                    offset: start)
            }
            position += 1
            if scalars[position - 1] == "}" { return .alternatives(globs) }
        }
    }

    /// One range, or members up to the first `]` that is not escaped; in neither form is `^` special.
    private mutating func characterClass() throws(GlobError) -> Glob.Element {
        let start = position
        let unclosed = GlobError(
            .invalidPattern, "this [ is never closed; add the ], or write \\[ for the character itself", offset: start)
        position += 1
        let isNegated = position < scalars.count && scalars[position] == "!"
        if isNegated { position += 1 }
        guard position < scalars.count else { throw unclosed }
        if position + 1 < scalars.count, scalars[position + 1] == "-" {
            guard position + 3 < scalars.count else { throw unclosed }
            let (low, high) = (scalars[position], scalars[position + 2])
            guard scalars[position + 3] == "]" else {
                throw GlobError(
                    .invalidPattern, "a class holds one range or single characters, not both; write {[a-z],x} for more",
                    offset: position + 3)
            }
            guard low <= high else {
                throw GlobError(.invalidPattern, "the range runs backwards; swap its ends", offset: position)
            }
            position += 4
            return .range(low, high, isNegated: isNegated)
        }
        let members = text { $0 == "]" }
        guard position < scalars.count else { throw unclosed }
        guard !members.isEmpty else {
            throw GlobError(
                .invalidPattern, "the class is empty; name its characters, or write \\[ for the character itself",
                offset: start)
        }
        position += 1
        return .set(members, isNegated: isNegated)
    }

    /// Reads scalars up to one that `ends` the text and is not escaped; a lone `\` at the very end is dropped.
    private mutating func text(until ends: (UInt32) -> Bool) -> [UInt32] {
        var text: [UInt32] = []
        while position < scalars.count {
            var scalar = scalars[position]
            if scalar == "\\" {
                position += 1
                guard position < scalars.count else { break }
                scalar = scalars[position]
            } else if ends(scalar) {
                break
            }
            text.append(scalar)
            position += 1
        }
        return text
    }
}

/// Lets a scalar's number be compared with, and switched over, the character that it stands for.
func == (number: UInt32, scalar: Unicode.Scalar) -> Bool { number == scalar.value }
func ~= (scalar: Unicode.Scalar, number: UInt32) -> Bool { number == scalar.value }
