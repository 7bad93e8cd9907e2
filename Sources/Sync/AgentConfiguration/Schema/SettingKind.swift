import Phrases
import TOML
import Trimming

/// What a setting's value may be.
package enum SettingKind: Equatable, Sendable {
    case flag
    /// A whole number in the range, or `also`.
    case number(ClosedRange<Int>, also: Int? = nil)
    case text
    /// A directory or file of this device, absolute or below `~`.
    case path
    case choice([String])
    /// Bytes, with a unit.
    case size
    /// Bytes with a unit, or a part of the disk.
    case space
    /// Bytes per second, with a unit; 0 for no limit.
    case rate
    /// How often, as `12h`, `30d` or `4w`.
    case interval
    /// A time in UTC.
    case moment
    case texts
    /// Ids or names of devices.
    case devices
    /// Times of day with limits of their own, one text each.
    case schedule

    /// The word for it in the control API.
    package var name: String {
        switch self {
        case .flag: "flag"
        case .number: "number"
        case .text: "text"
        case .path: "path"
        case .choice: "choice"
        case .size: "size"
        case .space: "space"
        case .rate: "rate"
        case .interval: "interval"
        case .moment: "moment"
        case .texts: "texts"
        case .devices: "devices"
        case .schedule: "schedule"
        }
    }

    /// The words that a value may be; empty where it is not one of a few.
    package var words: [String] {
        switch self {
        case .flag: ["true", "false"]
        case .choice(let words): words
        default: []
        }
    }

    package var isList: Bool {
        switch self {
        case .texts, .devices, .schedule: true
        default: false
        }
    }

    /// What may be written, for messages and help: "true or false", "a size such as 512MiB".
    package var allowedText: Phrase {
        switch self {
        case .flag: Phrase("true or false")
        case .number(let range, let also):
            also.map { Phrase("\($0), or a number from \(range.lowerBound) to \(range.upperBound)") }
                ?? Phrase("a number from \(range.lowerBound) to \(range.upperBound)")
        case .text: Phrase("a text")
        case .path: Phrase("a full path, for example /home/me/Library")
        case .choice(let words): Phrase("one of \(words.joined(separator: ", "))")
        case .size: Phrase("a size, for example 512MiB")
        case .space: Phrase("a size or a part of the disk, for example 10GiB or 5%")
        case .rate: Phrase("a rate, for example 2MiB/s; 0 for no limit")
        case .interval: Phrase("an interval from an hour to ten years, for example 12h, 30d or 4w")
        case .moment: Phrase("a time in UTC, for example 2026-11-21T23:00:00Z")
        case .texts: Phrase("a list, for example a,b or [\"a\", \"b\"]")
        case .devices: Phrase("a list of device ids or names, separated by commas")
        case .schedule: Phrase("a list of times with limits, for example \"mon-fri 08:00-18:00 up=500KiB/s\"")
        }
    }

    /// The same in English, for the control API.
    package var allowed: String { allowedText.english }

    /// Longest text that is read, in bytes: a list of devices of a large cluster fits.
    static let byteLimit = 65_536

    /// Reads what a user wrote, not empty; nil for what is not allowed. Paths and devices are taken as written.
    func value(_ text: String) -> SettingValue? {
        guard text.utf8.count <= Self.byteLimit else { return nil }
        switch self {
        case .flag:
            switch text.lowercased() {
            case "true", "yes", "on": return .flag(true)
            case "false", "no", "off": return .flag(false)
            default: return nil
            }
        case .number(let range, let also):
            guard let number = Int(text), range.contains(number) || number == also else { return nil }
            return .number(number)
        case .text, .path: return .text(text)
        case .choice(let words): return words.contains(text) ? .text(text) : nil
        case .size: return ByteCountText.parse(text).map(Self.size)
        case .space:
            return MinimumFree(text: text).map { $0 == .byteCount(0) ? .number(0) : .text($0.text) }
        case .rate: return Self.parsedRate(text).map(Self.rate)
        case .interval: return IntervalText.parse(text).map { .text(IntervalText.format($0)) }
        case .moment: return MomentText.parse(text).map { .text(MomentText.format($0)) }
        case .texts, .devices, .schedule: return Self.elements(text).flatMap { value($0) }
        }
    }

    /// Reads the elements of a list; nil if one is not allowed or the setting has a single value.
    func value(_ elements: [String]) -> SettingValue? {
        switch self {
        case .texts, .devices: return .list(elements)
        case .schedule:
            let windows = elements.compactMap { TransferLimits.Window(text: $0) }
            return windows.count == elements.count ? .list(windows.map(\.text)) : nil
        default: return nil
        }
    }

    static func size(_ byteCount: Int64) -> SettingValue {
        byteCount == 0 ? .number(0) : .text(ByteCountText.format(byteCount))
    }

    static func rate(_ byteCount: Int64?) -> SettingValue {
        guard let byteCount, byteCount != 0 else { return .number(0) }
        return .text(ByteCountText.format(byteCount) + "/s")
    }

    static func parsedRate(_ text: String) -> Int64? {
        ByteCountText.parse(text.hasSuffix("/s") ? String(text.dropLast(2)) : text)
    }

    /// `a,b` or `["a", "b"]`, which JSON and TOML write alike; a comma in braces does not separate: `*.{jpg,txt}`.
    static func elements(_ text: String) -> [String]? {
        if text.hasPrefix("[") && text.hasSuffix("]") {
            let limits = TOMLLimits(byteCount: byteLimit + 10, depth: 4, itemCount: 10_000, allowsNull: false)
            let bytes = Array("x = \(text)".utf8)
            guard let root = try? TOMLDocument(parsing: bytes, limits: limits).root, root.entries.count == 1,
                case .array(let nodes)? = root["x"]?.node.value
            else { return nil }
            var texts: [String] = []
            for node in nodes {
                guard case .string(let text) = node.value else { return nil }
                texts.append(text)
            }
            return texts
        }
        var elements: [String] = []
        var element = ""
        var depth = 0
        for character in text {
            switch character {
            case "{": depth += 1
            case "}": depth = max(0, depth - 1)
            default: break
            }
            if character == ",", depth == 0 {
                elements.append(element)
                element = ""
            } else {
                element.append(character)
            }
        }
        elements.append(element)
        return elements.map { String($0.trimming { $0 == " " }) }.filter { !$0.isEmpty }
    }
}
