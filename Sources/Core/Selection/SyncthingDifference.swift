import Phrases

/// A line of an ignore file that some devices with Syncthing read differently.
package struct PatternDifference: Hashable, Sendable {
    /// The file, as its reader or the `#include` line named it.
    package let file: String
    /// From 1.
    package let line: Int
    /// The line as it stands in the file, without the white space around it.
    package let text: String

    /// A sentence that names the line, where it differs and what to do.
    package var message: Phrase {
        Phrase(
            "\(file) line \(line) (`\(text)`) matches differently on Syncthing before 1.20.3. "
                + "Debian's Syncthing 1.29 does so, too. The names concerned have characters beyond ASCII, such as ü. "
                + "If such a device shares the folder, write `*` for `?` and `[…]`.")
    }
}

extension Selection {
    /// The first lines that may decide otherwise on a Syncthing whose library counts the bytes of a character as
    /// characters (syncthing#8386), in their order.
    package func differences(limit: Int) -> [PatternDifference] {
        var differences: [PatternDifference] = []
        for pattern in patterns where differences.count < limit && pattern.mayDifferOnSyncthing {
            differences.append(PatternDifference(file: pattern.file, line: pattern.line, text: pattern.text))
        }
        return differences
    }
}

extension IgnorePattern {
    /// Whether the line may match other names on a Syncthing before 1.20.3: where `?` or `[…]` stands right beside other
    /// characters, without `*` between them, and what matches there can have characters beyond ASCII. Measured with 1.19.2,
    /// Debian's 1.29.5, and 2.1.3.
    var mayDifferOnSyncthing: Bool {
        guard body.contains(where: { $0 == "?" || $0 == "[" }) else { return false }
        return globs.contains(where: \.mayDifferOnSyncthing)
    }
}

extension Glob {
    /// What stands between two runs, which the library measures in characters in one place and in bytes in another.
    private struct Row {
        var elementCount = 0
        var hasWildcard = false
        var reachesBeyondASCII = false

        var mayDiffer: Bool { elementCount > 1 && hasWildcard && reachesBeyondASCII }
    }

    fileprivate var mayDifferOnSyncthing: Bool {
        var row = Row()
        for element in elements {
            switch element {
            case .run, .deepRun:
                if row.mayDiffer { return true }
                row = Row()
            default: Self.add(element, to: &row)
            }
        }
        return row.mayDiffer
    }

    private static func add(_ element: Element, to row: inout Row) {
        row.elementCount += 1
        switch element {
        case .text(let text): row.reachesBeyondASCII = row.reachesBeyondASCII || text.contains { $0 >= 0x80 }
        // They end a row only in some of the strings that an alternative matches.
        case .run, .deepRun: break
        case .single: (row.hasWildcard, row.reachesBeyondASCII) = (true, true)
        case .set(let members, let isNegated):
            row.hasWildcard = true
            row.reachesBeyondASCII = row.reachesBeyondASCII || isNegated || members.contains { $0 >= 0x80 }
        case .range(_, let high, let isNegated):
            row.hasWildcard = true
            row.reachesBeyondASCII = row.reachesBeyondASCII || isNegated || high >= 0x80
        case .alternatives(let globs):
            for element in globs.flatMap(\.elements) { add(element, to: &row) }
        }
    }
}
