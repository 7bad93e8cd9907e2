import SyncTestKit

/// Globs, lines and paths over so few names that matches are frequent.
enum RandomPatterns {
    static let names = ["a", "b", "ab", "ba", "aa", "b.a", "ü"]

    static func path(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 1...4, using: &random)).map { _ in random.pick(names) }.joined(separator: "/")
    }

    static func glob(_ random: inout SeededGenerator, depth: Int = 0) -> String {
        let count = Int.random(in: 1...5, using: &random)
        return (0..<count).map { _ in element(&random, depth: depth) }.joined()
    }

    private static func element(_ random: inout SeededGenerator, depth: Int) -> String {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<40: return random.pick(names)
        case ..<55: return "*"
        case ..<65: return "**"
        case ..<73: return "?"
        case ..<80: return random.pick(["[ab]", "[!a]", "[a-b]", "[!b-x]", "[a]", "[ü]", "\\a", "[.-/]"])
        case ..<92: return "/"
        default:
            guard depth < 3 else { return "b" }
            let count = Int.random(in: 1...3, using: &random)
            let inside = (0..<count).map { _ in random.chance(10) ? "" : glob(&random, depth: depth + 1) }
            return "{" + inside.joined(separator: ",") + "}"
        }
    }

    /// A line with prefixes, rooted or not; one in two has no wildcards.
    static func line(_ random: inout SeededGenerator) -> String {
        var text = random.chance(50) ? path(&random) : glob(&random)
        if random.chance(40) { text = "/" + text }
        if random.chance(10) { text = "**/" + text }
        if random.chance(15) { text += random.pick(["/", "/**"]) }
        if random.chance(10) { text = random.pick(["*.a", "a*", "/a*", "*", "/*/b", "/", "**/"]) }
        if random.chance(35) { text = "!" + text }
        if random.chance(15) { text = "(?i)" + text.uppercased() }
        if random.chance(15) { text = "(?d)" + text }
        return text
    }
}
