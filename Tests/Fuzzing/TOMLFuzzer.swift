// Built together with the sources of TOML into one program by `Tests/Fuzzing/run`.

/// Parses a text and stops the process where the parser breaks a promise: every place lies in the text, an error names a
/// line that there is, and the bytes of a value say the same on their own.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTOML(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let document: TOMLDocument
    do throws(TOMLError) {
        document = try TOMLDocument(parsing: bytes)
    } catch {
        let lineCount = bytes.count { $0 == UInt8(ascii: "\n") } + 1
        precondition((1...lineCount).contains(error.position.line) && error.position.column >= 1, "\(error)")
        precondition(!error.cause.english.isEmpty && !error.remedy.english.isEmpty)
        return 0
    }
    var end = 0
    for section in document.sections {
        precondition(section.start >= end && section.start <= section.header.lowerBound, "sections overlap")
        end = section.header.upperBound
        for entry in section.entries {
            guard let name = entry.keys.first else { fatalError("an entry without a key") }
            precondition(name.range.lowerBound >= end && entry.node.range.upperBound <= bytes.count, "entries overlap")
            end = entry.node.range.upperBound
            precondition(
                entry.comments.allSatisfy {
                    entry.node.range.contains($0.lowerBound) && bytes[$0].first == UInt8(ascii: "#")
                },
                "a comment outside of its value")
            let alone = try? TOMLDocument(parsing: Array("a = ".utf8) + bytes[entry.node.range]).root["a"]?.node
            precondition(alone.map { isSame($0.value, entry.node.value) } == true, "a value says something else alone")
        }
    }
    check(document.root)
    return 0
}

private func check(_ table: TOMLTable) {
    for entry in table.entries {
        guard let found = table[entry.key.text] else { fatalError("a key is not found") }
        precondition(found.key.range == entry.key.range, "two entries with one key")
        if case .table(let inner) = entry.node.value { check(inner) }
    }
}

/// Equal but for their places; a value that is not a number equals itself.
private func isSame(_ left: TOMLValue, _ right: TOMLValue) -> Bool {
    switch (left, right) {
    case (.float(let left), .float(let right)): left == right || left.isNaN && right.isNaN
    case (.array(let left), .array(let right)):
        left.count == right.count && zip(left, right).allSatisfy { isSame($0.value, $1.value) }
    case (.table(let left), .table(let right)):
        left.entries.count == right.entries.count
            && zip(left.entries, right.entries).allSatisfy {
                $0.key.text == $1.key.text && isSame($0.node.value, $1.node.value)
            }
    default: left == right
    }
}
