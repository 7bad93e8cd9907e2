import Trimming

/// An element of a small XML document from an untrusted sender, with its text and its children.
///
/// A parser of our own, for three reasons: it has no document types, entities or attributes to be attacked by; memory and
/// time are bounded by `Limits` before anything is built; and sloppy text that routers are known to send (a bare `&`, bytes
/// that are no UTF-8) does not make a router unusable. See docs/decisions/port-mapping.md.
package struct XMLElement: Equatable, Sendable {
    /// Without the prefix of its namespace.
    package var name: String
    /// The text directly inside, entities resolved, without white space at both ends.
    package var text: String
    package var children: [XMLElement]

    package struct Limits: Sendable {
        package var byteCount = 256 * 1024
        package var depth = 24
        package var elementCount = 2000
        package var nameByteCount = 128
        /// Of one element. What is longer is cut off.
        package var textByteCount = 4096

        package init() {}
    }

    /// Reads a document.
    /// - Throws: `tooLarge` beyond `limits`; `malformed` for a document type, elements that do not close each other in order,
    ///   or no element at all.
    package init(parsing bytes: [UInt8], limits: Limits = Limits()) throws(PortMappingError) {
        guard bytes.count <= limits.byteCount else {
            throw PortMappingError(.tooLarge, "its answer is longer than \(limits.byteCount) bytes")
        }
        var parser = XMLParser(bytes: bytes[...], limits: limits)
        self = try parser.document()
    }

    init(name: String) {
        self.name = name
        text = ""
        children = []
    }

    /// The first child called `name`.
    package func child(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// The first element called `name` below this one, in the document's order.
    package func descendant(_ name: String) -> XMLElement? {
        for child in children {
            if child.name == name { return child }
            if let found = child.descendant(name) { return found }
        }
        return nil
    }
}

/// Goes through the bytes once. The elements that are open are on a stack, so nothing recurses.
private struct XMLParser {
    private struct Open {
        var element: XMLElement
        var text: [UInt8] = []
    }

    private var rest: ArraySlice<UInt8>
    private let limits: XMLElement.Limits
    private var open: [Open] = []
    private var elementCount = 0

    init(bytes: ArraySlice<UInt8>, limits: XMLElement.Limits) {
        rest = bytes
        self.limits = limits
    }

    mutating func document() throws(PortMappingError) -> XMLElement {
        while !rest.isEmpty {
            if let root = try step() { return root }
        }
        throw .malformed("its XML ends in the middle")
    }

    /// Takes one piece of markup or text; gives the root once it has closed. What follows it is not looked at.
    private mutating func step() throws(PortMappingError) -> XMLElement? {
        guard rest.first == UInt8(ascii: "<") else {
            let end = rest.firstIndex(of: UInt8(ascii: "<")) ?? rest.endIndex
            append(XMLText.resolved(rest[..<end]))
            rest = rest[end...]
            return nil
        }
        if rest.starts(with: "<!--".utf8) {
            try skip(past: "-->")
        } else if rest.starts(with: "<![CDATA[".utf8) {
            rest = rest.dropFirst(9)
            append(try skip(past: "]]>"))
        } else if rest.starts(with: "<?".utf8) {
            try skip(past: "?>")
        } else if rest.starts(with: "<!".utf8) {
            throw .malformed("its XML has a document type, which is not read")
        } else if rest.starts(with: "</".utf8) {
            rest = rest.dropFirst(2)
            return try close(name: try name(ofTag: try skip(past: ">")))
        } else {
            rest = rest.dropFirst()
            return try start()
        }
        return nil
    }

    /// A tag up to its `>`. That character may stand in an attribute's quotes.
    private mutating func start() throws(PortMappingError) -> XMLElement? {
        var quote: UInt8?
        var end = rest.startIndex
        search: while end < rest.endIndex {
            let byte = rest[end]
            switch (quote, byte) {
            case (nil, UInt8(ascii: ">")): break search
            case (nil, UInt8(ascii: "\"")), (nil, UInt8(ascii: "'")): quote = byte
            case (byte, _): quote = nil
            default: break
            }
            end += 1
        }
        guard end < rest.endIndex else { throw .malformed("its XML ends in the middle of a tag") }
        let tag = rest[..<end]
        rest = rest[(end + 1)...]
        guard open.count < limits.depth else { throw PortMappingError(.tooLarge, "its XML is nested too deeply") }
        guard elementCount < limits.elementCount else {
            throw PortMappingError(.tooLarge, "its XML has more than \(limits.elementCount) elements")
        }
        elementCount += 1
        let name = try name(ofTag: tag)
        open.append(Open(element: XMLElement(name: name)))
        return tag.last == UInt8(ascii: "/") ? try close(name: name) : nil
    }

    private mutating func close(name: String) throws(PortMappingError) -> XMLElement? {
        guard var last = open.popLast(), last.element.name == name else {
            throw .malformed("its XML closes an element that is not open")
        }
        last.element.text = XMLText.trimmed(last.text)
        guard var parent = open.popLast() else { return last.element }
        parent.element.children.append(last.element)
        open.append(parent)
        return nil
    }

    private func name(ofTag tag: ArraySlice<UInt8>) throws(PortMappingError) -> String {
        let full = tag.prefix { !XMLText.isSpace($0) && $0 != UInt8(ascii: "/") }
        guard !full.isEmpty, full.count <= limits.nameByteCount else {
            throw .malformed("its XML has an element without a usable name")
        }
        let local = full.lastIndex(of: UInt8(ascii: ":")).map { full[($0 + 1)...] } ?? full
        return String(decoding: local, as: UTF8.self)
    }

    private mutating func append(_ text: some Collection<UInt8>) {
        guard var last = open.popLast() else { return }
        last.text += text.prefix(max(0, limits.textByteCount - last.text.count))
        open.append(last)
    }

    @discardableResult
    private mutating func skip(past mark: String) throws(PortMappingError) -> ArraySlice<UInt8> {
        let mark = Array(mark.utf8)
        guard let found = rest.firstRange(of: mark) else { throw .malformed("its XML ends in the middle") }
        let before = rest[..<found.lowerBound]
        rest = rest[found.upperBound...]
        return before
    }
}

/// The characters of XML text.
enum XMLText {
    private static let entities: [(name: [UInt8], byte: UInt8)] = [
        (Array("amp".utf8), UInt8(ascii: "&")), (Array("lt".utf8), UInt8(ascii: "<")),
        (Array("gt".utf8), UInt8(ascii: ">")), (Array("quot".utf8), UInt8(ascii: "\"")),
        (Array("apos".utf8), UInt8(ascii: "'")),
    ]

    /// `text` as it stands in an element.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }

    /// The five entities of XML and numbers of characters become what they stand for; any other `&` stays as it is.
    static func resolved(_ text: ArraySlice<UInt8>) -> [UInt8] {
        guard text.contains(UInt8(ascii: "&")) else { return Array(text) }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "&"), let end = rest.prefix(10).firstIndex(of: UInt8(ascii: ";")),
                let meaning = meaning(of: rest[..<end])
            else {
                result.append(byte)
                continue
            }
            result += meaning
            rest = rest[(end + 1)...]
        }
        return result
    }

    private static func meaning(of name: ArraySlice<UInt8>) -> [UInt8]? {
        if let entity = entities.first(where: { name.elementsEqual($0.name) }) { return [entity.byte] }
        guard name.first == UInt8(ascii: "#") else { return nil }
        let digits = String(decoding: name.dropFirst(), as: UTF8.self)
        let number = digits.lowercased().hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        guard let number, let scalar = Unicode.Scalar(number), number != 0 else { return nil }
        return Array(String(scalar).utf8)
    }

    static func trimmed(_ text: [UInt8]) -> String {
        String(decoding: text.trimming(while: isSpace), as: UTF8.self)
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
