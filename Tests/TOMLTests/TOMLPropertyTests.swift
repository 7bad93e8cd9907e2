import SyncTestKit
import Testing

@testable import TOML

/// A value without places: what is written and read back.
private indirect enum Tree: Equatable {
    case leaf(TOMLValue)
    case list([Tree])
    case table([(key: String, value: Tree)])

    static func == (left: Tree, right: Tree) -> Bool {
        switch (left, right) {
        case (.leaf(let left), .leaf(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        case (.table(let left), .table(let right)):
            left.count == right.count
                && left.allSatisfy { entry in right.contains { $0.key == entry.key && $0.value == entry.value } }
        default: false
        }
    }

    init(_ value: TOMLValue) {
        switch value {
        case .array(let nodes): self = .list(nodes.map { Tree($0.value) })
        case .table(let table): self = .table(table.entries.map { ($0.key.text, Tree($0.node.value)) })
        default: self = .leaf(value)
        }
    }
}

/// Random trees, and random spellings of a tree.
private struct Writer {
    var random: SeededGenerator

    // MARK: - Trees

    mutating func table(depth: Int) -> Tree {
        var entries: [(key: String, value: Tree)] = []
        for _ in 0..<random.int(0...5) {
            let key = random.pick(["a", "b", "c-d", "9", "", "é", "x y", "\"q\"", "a.b", "\t", "\n", "😀"])
            guard !entries.contains(where: { $0.key == key }) else { continue }
            entries.append((key, tree(depth: depth)))
        }
        return .table(entries)
    }

    private mutating func tree(depth: Int) -> Tree {
        switch random.int(0...(depth > 0 ? 9 : 5)) {
        case 6: return table(depth: depth - 1)
        case 7: return .list((0..<random.int(0...3)).map { _ in table(depth: depth - 1) })
        case 8...: return .list((0..<random.int(0...4)).map { _ in tree(depth: depth - 1) })
        default: return .leaf(leaf())
        }
    }

    private mutating func leaf() -> TOMLValue {
        switch random.int(0...5) {
        case 0: return .integer(random.pick([0, 1, -1, .max, .min, Int64(truncatingIfNeeded: random.next())]))
        case 1:
            let number = Double(bitPattern: random.next())
            return .float(number.isNaN ? 0.1 : number)
        case 2: return .boolean(random.isOne(in: 2))
        case 3: return .dateTime(dateTime())
        default:
            let pieces = [
                "a", " ", "\"", "\"\"\"", "'", "'''", "\\", "\n", "\r\n", "\t", "\0", "\u{7F}", "é", "😀", "#", "]", "=",
            ]
            return .string((0..<random.int(0...6)).map { _ in random.pick(pieces) }.joined())
        }
    }

    private mutating func dateTime() -> TOMLDateTime {
        let day = TOMLDateTime.Day(year: random.int(0...9999), month: random.int(1...12), day: random.int(1...28))
        let time = TOMLDateTime.Time(
            hour: random.int(0...23), minute: random.int(0...59), second: random.int(0...60),
            nanosecond: random.isOne(in: 2) ? 0 : random.int(0...999_999_999))
        switch random.int(0...3) {
        case 0: return .day(day)
        case 1: return .time(time)
        case 2: return .local(day, time)
        default: return .instant(day, time, offsetMinutes: random.int(-1439...1439))
        }
    }

    // MARK: - Texts

    /// The table as a document: entries first, then what has a header of its own.
    mutating func document(_ tree: Tree, path: [String] = []) -> String {
        guard case .table(let entries) = tree else { return "" }
        var text = ""
        var below = ""
        for (key, value) in entries {
            switch value {
            case .table where random.isOne(in: 2):
                below += header(path + [key], "[", "]") + document(value, path: path + [key])
            case .list(let elements) where !elements.isEmpty && elements.allSatisfy(\.isTable) && random.isOne(in: 2):
                for element in elements {
                    below += header(path + [key], "[[", "]]") + document(element, path: path + [key])
                }
            case .table(let inner) where !inner.isEmpty && random.isOne(in: 2):
                for entry in inner {
                    text += line("\(self.key(key))\(blank()).\(blank())\(self.key(entry.key))", entry.value)
                }
            default: text += line(self.key(key), value)
            }
        }
        return text + below
    }

    private mutating func line(_ key: String, _ value: Tree) -> String {
        "\(blank())\(key)\(blank())=\(blank())\(inline(value))\(end())"
    }

    private mutating func header(_ path: [String], _ open: String, _ close: String) -> String {
        blank() + open + blank() + path.map { key($0) }.joined(separator: blank() + ".") + blank() + close + end()
    }

    private mutating func blank() -> String { random.pick(["", "", " ", "\t "]) }
    private mutating func end() -> String { blank() + random.pick(["\n", "\r\n", "# c\n", "\n\n# [x]\n"]) }

    private mutating func key(_ key: String) -> String {
        let isBare = !key.isEmpty && key.utf8.allSatisfy(\.isBareKey)
        if isBare, !random.isOne(in: 4) { return key }
        return basic(key, isMultiline: false)
    }

    private mutating func inline(_ tree: Tree) -> String {
        switch tree {
        case .leaf(let value): return leaf(value)
        case .list(let elements):
            let gaps = ["", " ", "\n", " # c ]\n\t", "\r\n"]
            var text = "[" + random.pick(gaps)
            for (index, element) in elements.enumerated() {
                let isLast = index == elements.count - 1
                text +=
                    inline(element) + random.pick(gaps) + (isLast && random.isOne(in: 2) ? "" : ",") + random.pick(gaps)
            }
            return text + "]"
        case .table(let entries):
            let texts = entries.map { "\(blank())\(key($0.key))\(blank())=\(blank())\(inline($0.value))\(blank())" }
            return "{" + blank() + texts.joined(separator: ",") + "}"
        }
    }

    private mutating func leaf(_ value: TOMLValue) -> String {
        switch value {
        case .integer(let number):
            guard number >= 0 else { return "\(number)" }
            switch random.int(0...4) {
            case 0: return "0x" + String(number, radix: 16, uppercase: random.isOne(in: 2))
            case 1: return "0o" + String(number, radix: 8)
            case 2: return "0b" + String(number, radix: 2)
            case 3: return "+\(number)"
            default: return "\(number)".map { String($0) }.joined(separator: random.pick(["", "_"]))
            }
        case .float(let number): return number.isInfinite ? (number < 0 ? "-inf" : "+inf") : "\(number)"
        case .boolean(let bool): return "\(bool)"
        case .string(let text): return string(text)
        case .dateTime(let dateTime): return self.dateTime(dateTime)
        case .array, .table: return ""
        }
    }

    private mutating func string(_ text: String) -> String {
        let hasControl = text.utf8.contains { $0.isControl && $0 != .tab }
        if !hasControl, !text.contains("'"), random.isOne(in: 2) { return "'\(text)'" }
        let isPlain = !text.utf8.contains { $0.isControl && $0 != .tab && $0 != .newline }
        if isPlain, !text.contains("'''"), !text.hasSuffix("'"), random.isOne(in: 3) { return "'''\n\(text)'''" }
        return basic(text, isMultiline: random.isOne(in: 3))
    }

    private mutating func basic(_ text: String, isMultiline: Bool) -> String {
        var content = ""
        // Blanks and line ends after a joined line would be skipped.
        var isAfterJoin = false
        for scalar in text.unicodeScalars {
            defer {
                isAfterJoin = isMultiline && random.isOne(in: 8)
                if isAfterJoin { content += "\\ \n \n\t" }
            }
            switch scalar {
            case "\"": content += "\\\""
            case "\\": content += "\\\\"
            case "\n" where isMultiline && !isAfterJoin && random.isOne(in: 2): content += "\n"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F || isAfterJoin || random.isOne(in: 8):
                let digits = String(scalar.value, radix: 16)
                let count = scalar.value > 0xFFFF || random.isOne(in: 2) ? 8 : 4
                content += (count == 8 ? "\\U" : "\\u") + String(repeating: "0", count: count - digits.count) + digits
            default: content.unicodeScalars.append(scalar)
            }
        }
        return isMultiline ? "\"\"\"\n\(content)\"\"\"" : "\"\(content)\""
    }

    private mutating func dateTime(_ dateTime: TOMLDateTime) -> String {
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: count - text.utf8.count) + text
        }
        func text(_ day: TOMLDateTime.Day) -> String {
            "\(digits(day.year, 4))-\(digits(day.month, 2))-\(digits(day.day, 2))"
        }
        func text(_ time: TOMLDateTime.Time) -> String {
            "\(digits(time.hour, 2)):\(digits(time.minute, 2)):\(digits(time.second, 2))"
                + (time.nanosecond == 0 ? "" : "." + digits(time.nanosecond, 9))
        }
        let separator = random.pick(["T", "t", " "])
        switch dateTime {
        case .day(let day): return text(day)
        case .time(let time): return text(time)
        case .local(let day, let time): return text(day) + separator + text(time)
        case .instant(let day, let time, let offset):
            let zone = (offset < 0 ? "-" : "+") + digits(abs(offset) / 60, 2) + ":" + digits(abs(offset) % 60, 2)
            return text(day) + separator + text(time) + (offset == 0 ? random.pick(["Z", "z", zone]) : zone)
        }
    }
}

extension Tree {
    fileprivate var isTable: Bool { if case .table = self { true } else { false } }
}

@Suite struct TOMLPropertyTests {
    @Test(arguments: 0..<400) func whatIsWrittenIsReadBack(_ seed: Int) throws {
        var writer = Writer(random: SeededGenerator(seed: UInt64(seed)))
        for _ in 0..<5 {
            let tree = writer.table(depth: 3)
            let text = writer.document(tree)
            do {
                let document = try TOMLDocument(parsing: Array(text.utf8))
                #expect(Tree(.table(document.root)) == tree, "seed \(seed):\n\(text)")
            } catch {
                Issue.record("seed \(seed): \(error)\n\(text)")
            }
        }
    }

    /// The same checks as the fuzzer, on damaged texts: nothing traps, and every place lies in the text.
    @Test(arguments: 0..<40) func damagedTextsAreAnswered(_ seed: Int) {
        var writer = Writer(random: SeededGenerator(seed: UInt64(seed)))
        var refused = 0
        for _ in 0..<50 {
            var bytes = Array(writer.document(writer.table(depth: 2)).utf8) + Array("a = 1".utf8)
            for _ in 0..<writer.random.int(1...3) {
                let offset = writer.random.int(0...bytes.count - 1)
                switch writer.random.int(0...2) {
                case 0: bytes[offset] = UInt8(writer.random.int(0...255))
                case 1: bytes.removeLast(min(bytes.count - 1, bytes.count - offset))
                default: bytes.insert(writer.random.pick(Array("[]{}\"'\\=.,#\n".utf8)), at: offset)
                }
            }
            do throws(TOMLError) {
                let document = try TOMLDocument(parsing: bytes)
                #expect(
                    document.sections.allSatisfy { $0.start <= $0.header.lowerBound && $0.contentEnd <= bytes.count })
            } catch {
                refused += 1
                let lines = bytes.split(separator: .newline, omittingEmptySubsequences: false)
                #expect(lines.indices.contains(error.position.line - 1), "\(error)")
                let line = lines[max(0, min(lines.count, error.position.line) - 1)]
                #expect((1...line.count + 1).contains(error.position.column), "\(error)")
            }
        }
        #expect(refused > 5)
    }
}
