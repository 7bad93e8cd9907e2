import FoundationEssentials

/// JSON as the control API writes it: slashes as they are, keys in alphabetical order, one line.
package enum ControlJSON {
    package static func encode(_ value: some Encodable) throws(ControlError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            return [UInt8](try encoder.encode(value))
        } catch {
            throw ControlError(.failed, "An answer could not be written as JSON: \(error). This is a bug; report it.")
        }
    }

    /// Throws `invalidRequest` with the reason.
    package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws(ControlError) -> Value
    {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw ControlError(.invalidRequest, "This is not the JSON of a \(type): \(reason(error)).")
        } catch {
            throw ControlError(.invalidRequest, "This is not the JSON of a \(type): \(error).")
        }
    }

    private static func reason(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "\(key.stringValue) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            (context.codingPath.last.map { "\($0.stringValue): " } ?? "") + context.debugDescription
        @unknown default: "\(error)"
        }
    }

    /// The error in a line of NDJSON whose `type` is `error`; nil for any other line.
    package static func error(inLine line: [UInt8]) -> ControlError? {
        struct Kind: Decodable { var type: String? }
        // Nearly every line is ruled out by the cheap look.
        guard line.contains(sequence: Array("\"error\"".utf8)),
            let kind = try? JSONDecoder().decode(Kind.self, from: Data(line)), kind.type == "error"
        else { return nil }
        return try? JSONDecoder().decode(ControlError.self, from: Data(line))
    }
}

extension Array<UInt8> {
    fileprivate func contains(sequence needle: [UInt8]) -> Bool {
        guard let first = needle.first, count >= needle.count else { return false }
        for start in 0...(count - needle.count)
        where self[start] == first && self[start..<(start + needle.count)].elementsEqual(needle) {
            return true
        }
        return false
    }
}
