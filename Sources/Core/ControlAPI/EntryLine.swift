/// An `Entry` as a line of NDJSON.
///
/// A listing can have a million of them, so they are written and read by hand: several times as fast as through
/// Codable, which reads whatever the hand-written reader does not (escapes by number, `details`).
package enum EntryLine {
    /// Appends the entry and a line feed. `modified` is there as null where it is unknown.
    package static func append(_ entry: Entry, to line: inout [UInt8]) throws(ControlError) {
        line += #"{"type":""#.utf8
        line += entry.kind.rawValue.utf8
        line += #"","folder":"#.utf8
        appendString(entry.folder, to: &line)
        line += #","path":"#.utf8
        appendString(entry.path, to: &line)
        line += #","size":"#.utf8
        line += String(entry.size).utf8
        line += #","modified":"#.utf8
        if let modified = entry.modified { appendString(modified, to: &line) } else { line += "null".utf8 }
        line += #","state":""#.utf8
        line += entry.state.rawValue.utf8
        line += #"","selected":""#.utf8
        line += entry.selected.rawValue.utf8
        line += #"","holders":["#.utf8
        for (index, holder) in entry.holders.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            appendString(holder, to: &line)
        }
        line.append(UInt8(ascii: "]"))
        if let files = entry.files {
            line += #","files":"#.utf8
            line += String(files).utf8
        }
        if let directories = entry.directories {
            line += #","directories":"#.utf8
            line += String(directories).utf8
        }
        if let count = entry.selectedFiles {
            line += #","selectedFiles":"#.utf8
            line += String(count).utf8
        }
        if let count = entry.selectedBytes {
            line += #","selectedBytes":"#.utf8
            line += String(count).utf8
        }
        if let count = entry.presentFiles {
            line += #","presentFiles":"#.utf8
            line += String(count).utf8
        }
        if let count = entry.presentBytes {
            line += #","presentBytes":"#.utf8
            line += String(count).utf8
        }
        if entry.isSelectedBelow == true { line += #","selectedBelow":true"#.utf8 }
        if entry.isLeftOutBelow == true { line += #","leftOutBelow":true"#.utf8 }
        if let waiting = entry.waiting {
            line += #","waiting":"#.utf8
            appendString(waiting, to: &line)
        }
        if let text = entry.waitingText {
            line += #","waitingText":"#.utf8
            line += try ControlJSON.encode(text)
        }
        if let cause = entry.waitsFor {
            line += #","waitsFor":""#.utf8
            line += cause.rawValue.utf8
            line.append(UInt8(ascii: "\""))
        }
        if let short = entry.short {
            line += #","short":"#.utf8
            line += String(short).utf8
        }
        if let isAvailable = entry.isAvailable {
            line += (isAvailable ? #","available":true"# : #","available":false"#).utf8
        }
        if let other = entry.other {
            line += #","other":"#.utf8
            line += try ControlJSON.encode(other)
        }
        if let choices = entry.choices {
            line += #","choices":"#.utf8
            line += try ControlJSON.encode(choices)
        }
        if let details = entry.details {
            line += #","details":"#.utf8
            line += try ControlJSON.encode(details)
        }
        line += "}\n".utf8
    }

    /// The entry alone, without a line feed.
    package static func json(_ entry: Entry) throws(ControlError) -> [UInt8] {
        var line: [UInt8] = []
        try append(entry, to: &line)
        line.removeLast()
        return line
    }

    /// Reads a line, with or without its line feed. Throws the error that the line is, if it is one, and
    /// `invalidRequest` if it is neither.
    package static func parse(_ line: [UInt8]) throws(ControlError) -> Entry {
        var scanner = EntryScanner(bytes: line)
        if let entry = scanner.entry() { return entry }
        if let error = ControlJSON.error(inLine: line) { throw error }
        return try ControlJSON.decode(Entry.self, from: line)
    }

    private static func appendString(_ text: String, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if isPlain {
            line += text.utf8
        } else {
            appendEscaped(text, to: &line)
        }
        line.append(UInt8(ascii: "\""))
    }

    private static func appendEscaped(_ text: String, to line: inout [UInt8]) {
        let digits = StaticString("0123456789abcdef")
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                line.append(UInt8(ascii: "\\"))
                line.append(byte)
            case 0..<0x20:
                line += #"\u00"#.utf8
                digits.withUTF8Buffer { digits in
                    line.append(digits[Int(byte >> 4)])
                    line.append(digits[Int(byte & 15)])
                }
            default:
                line.append(byte)
            }
        }
    }
}
