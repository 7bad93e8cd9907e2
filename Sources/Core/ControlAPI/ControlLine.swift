/// What can be a line of NDJSON.
package protocol ControlLine: Codable, Sendable {
    /// Appends itself and a line feed.
    func append(to bytes: inout [UInt8]) throws(ControlError)
    /// - Throws: the error that the line is, or `invalidRequest` for what is neither.
    static func parse(_ line: [UInt8]) throws(ControlError) -> Self
}

extension ControlLine {
    package func append(to bytes: inout [UInt8]) throws(ControlError) {
        bytes += try ControlJSON.encode(self)
        bytes.append(UInt8(ascii: "\n"))
    }

    package static func parse(_ line: [UInt8]) throws(ControlError) -> Self {
        if let error = ControlJSON.error(inLine: line) { throw error }
        return try ControlJSON.decode(Self.self, from: line)
    }
}

extension Entry: ControlLine {
    package func append(to bytes: inout [UInt8]) throws(ControlError) { try EntryLine.append(self, to: &bytes) }

    package static func parse(_ line: [UInt8]) throws(ControlError) -> Entry { try EntryLine.parse(line) }
}
