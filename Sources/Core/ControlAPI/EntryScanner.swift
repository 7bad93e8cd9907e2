/// Reads the plain form of an entry's line and gives up, with nil, at anything else: numbers that are not whole,
/// escapes by number, nested objects, words that it does not know.
struct EntryScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func entry() -> Entry? {
        var kind: Entry.Kind?
        var folder: String?
        var path: String?
        var size: Int64?
        var modified: String?
        var state: Entry.State?
        var selected: Entry.Selected?
        var holders: [String]?
        var files: Int64?
        var directories: Int64?
        var (selectedFiles, selectedBytes, presentFiles, presentBytes): (Int64?, Int64?, Int64?, Int64?)
        var waiting: String?
        var (waitsFor, short, isAvailable): (Entry.Cause?, Int64?, Bool?)
        guard bytes.withUnsafeBufferPointer({ String(validating: $0, as: UTF8.self) }) != nil,
            take(UInt8(ascii: "{"))
        else { return nil }
        repeat {
            guard let key = string(), take(UInt8(ascii: ":")) else { return nil }
            switch key {
            case "type":
                kind = string().flatMap(Entry.Kind.init)
                guard kind != nil else { return nil }
            case "folder": folder = string()
            case "path": path = string()
            case "size": size = integer()
            case "modified":
                if takeNull() { continue }
                modified = string()
                guard modified != nil else { return nil }
            case "state": state = string().flatMap(Entry.State.init)
            case "selected": selected = string().flatMap(Entry.Selected.init)
            case "holders": holders = strings()
            case "files":
                files = integer()
                guard files != nil else { return nil }
            case "directories":
                directories = integer()
                guard directories != nil else { return nil }
            case "selectedFiles":
                selectedFiles = integer()
                guard selectedFiles != nil else { return nil }
            case "selectedBytes":
                selectedBytes = integer()
                guard selectedBytes != nil else { return nil }
            case "presentFiles":
                presentFiles = integer()
                guard presentFiles != nil else { return nil }
            case "presentBytes":
                presentBytes = integer()
                guard presentBytes != nil else { return nil }
            case "waiting":
                waiting = string()
                guard waiting != nil else { return nil }
            case "waitsFor":
                waitsFor = string().flatMap(Entry.Cause.init)
                guard waitsFor != nil else { return nil }
            case "short":
                short = integer()
                guard short != nil else { return nil }
            case "available":
                isAvailable = takeWord("true") ? true : takeWord("false") ? false : nil
                guard isAvailable != nil else { return nil }
            default: return nil
            }
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")), isAtEnd, let kind, let folder, let path, let size, let state, let selected,
            let holders
        else { return nil }
        var entry = Entry(
            kind: kind, folder: folder, path: path, size: size, modified: modified, state: state, selected: selected,
            holders: holders, files: files, directories: directories, waiting: waiting)
        (entry.selectedFiles, entry.selectedBytes) = (selectedFiles, selectedBytes)
        (entry.presentFiles, entry.presentBytes) = (presentFiles, presentBytes)
        (entry.waitsFor, entry.short, entry.isAvailable) = (waitsFor, short, isAvailable)
        return entry
    }

    private var isAtEnd: Bool {
        position == bytes.count || (position == bytes.count - 1 && bytes[position] == UInt8(ascii: "\n"))
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func takeNull() -> Bool { takeWord("null") }

    private mutating func takeWord(_ word: StaticString) -> Bool {
        guard bytes.count - position >= word.utf8CodeUnitCount,
            word.withUTF8Buffer({ bytes[position..<position + $0.count].elementsEqual($0) })
        else { return false }
        position += word.utf8CodeUnitCount
        return true
    }

    private mutating func string() -> String? {
        guard let range = quoted() else { return nil }
        // Cut at quotation marks, so it is UTF-8 as the whole line is.
        return bytes.withUnsafeBufferPointer {
            String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self)
        }
    }

    /// What lies between two quotation marks.
    private mutating func quoted() -> Range<Int>? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = position
        let end = bytes.withUnsafeBufferPointer { bytes -> Int? in
            var index = start
            while index < bytes.count {
                let byte = bytes[index]
                if byte == UInt8(ascii: "\"") { return index }
                if byte < 0x20 || byte == UInt8(ascii: "\\") { break }
                index += 1
            }
            return nil
        }
        guard let end else { return nil }
        position = end + 1
        return start..<end
    }

    private mutating func strings() -> [String]? {
        guard take(UInt8(ascii: "[")) else { return nil }
        if take(UInt8(ascii: "]")) { return [] }
        var strings: [String] = []
        repeat {
            guard let text = string() else { return nil }
            strings.append(text)
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? strings : nil
    }

    private mutating func integer() -> Int64? {
        let isNegative = take(UInt8(ascii: "-"))
        let start = position
        var value: Int64 = 0
        while position < bytes.count, case UInt8(ascii: "0")...UInt8(ascii: "9") = bytes[position] {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(bytes[position] - UInt8(ascii: "0"))
            let (sum, carry) = product.subtractingReportingOverflow(digit)
            guard !overflow, !carry else { return nil }
            value = sum
            position += 1
        }
        // Counted downwards, so that the least number fits.
        guard position > start else { return nil }
        if isNegative { return value }
        let (positive, overflow) = Int64(0).subtractingReportingOverflow(value)
        return overflow ? nil : positive
    }
}
