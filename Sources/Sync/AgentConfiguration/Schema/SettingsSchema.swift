import Phrases
import Spelling

/// Every setting of `config.toml`, declared once. The reader of the file, its commented text, the command line, the control
/// API and the page are held against it by tests, or derive from it.
package enum SettingsSchema {
    /// All of them: the agent's, those of a folder, those of a device.
    package static let declarations: [SettingDeclaration] =
        agent.map(\.declaration) + folder.map(\.declaration) + device.map(\.declaration)

    package static func declarations(_ scope: SettingDeclaration.Scope) -> [SettingDeclaration] {
        declarations.filter { $0.scope == scope }
    }

    /// Settings under headings, in this order.
    static func groups<Root>(_ groups: [(name: String, settings: [Setting<Root>])]) -> [Setting<Root>] {
        groups.flatMap { group in group.settings.map { $0.grouped(group.name) } }
    }

    /// The setting that `key` names.
    ///
    /// - Throws: `unknownKey` with the nearest key.
    package static func declaration(
        _ scope: SettingDeclaration.Scope, _ key: String
    ) throws(ConfigurationError) -> SettingDeclaration {
        let all = declarations(scope)
        if let found = all.first(where: { $0.key == key }) { return found }
        throw ConfigurationError(.unknownKey, "Unknown setting \"\(key.prefix(80))\". \(advice(scope, key, all))")
    }

    private static func advice(
        _ scope: SettingDeclaration.Scope, _ key: String, _ all: [SettingDeclaration]
    ) -> Phrase {
        // `up` is likely to mean `limits.up`.
        if let whole = all.first(where: { $0.key.hasSuffix("." + key) }) {
            return Phrase("Did you mean `\(whole.key)`?")
        }
        if let word = NearestWord.find(key, in: all.map(\.key)) { return Phrase("Did you mean `\(word)`?") }
        for other in SettingDeclaration.Scope.allCases
        where other != scope && declarations(other).contains(where: { $0.key == key }) {
            return switch other {
            case .agent: Phrase("It is a setting of the agent; use `synctrain config set \(key) VALUE`.")
            case .folder: Phrase("It is a setting of the folder; use `synctrain folder set ID \(key)=VALUE`.")
            case .device: Phrase("It is a setting of the device; use `synctrain device set DEVICE \(key)=VALUE`.")
            }
        }
        return switch scope {
        case .agent: Phrase("`synctrain config list` shows all settings.")
        case .folder: Phrase("`synctrain folder get ID` shows all settings of a folder.")
        case .device: Phrase("`synctrain device get DEVICE` shows all settings of a device.")
        }
    }
}

extension TransferLimits.Window {
    /// `mon-fri 08:00-18:00 up=500KiB/s down=1MiB/s`: days or ranges of days, the time, the limits; without days every day.
    init?(text: String) {
        var days: Set<TransferLimits.Day> = []
        var times: (from: Int, to: Int)?
        var rates = TransferLimits.Rates()
        for word in text.split(separator: " ").map(String.init) {
            if let equals = word.firstIndex(of: "=") {
                guard let rate = SettingKind.parsedRate(String(word[word.index(after: equals)...])) else { return nil }
                switch word[..<equals] {
                case "up": rates.up = rate == 0 ? nil : rate
                case "down": rates.down = rate == 0 ? nil : rate
                default: return nil
                }
                continue
            }
            let ends = word.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            if let first = TransferLimits.Day(rawValue: ends[0]) {
                guard ends.count <= 2, let last = TransferLimits.Day(rawValue: ends[ends.count - 1]) else { return nil }
                days.formUnion(Self.days(from: first, to: last))
            } else if ends.count == 2, times == nil, let from = TransferLimits.minuteOfDay(ends[0]),
                let to = TransferLimits.minuteOfDay(ends[1])
            {
                times = (from, to)
            } else {
                return nil
            }
        }
        guard let times else { return nil }
        self.init(days: days, from: times.from, to: times.to, rates: rates)
    }

    private static func days(from first: TransferLimits.Day, to last: TransferLimits.Day) -> [TransferLimits.Day] {
        let all = TransferLimits.Day.allCases
        guard let start = all.firstIndex(of: first), let end = all.firstIndex(of: last) else { return [] }
        return start <= end ? Array(all[start...end]) : Array(all[start...] + all[...end])
    }

    /// As `init(text:)` reads it.
    var text: String {
        let all = TransferLimits.Day.allCases
        var words: [String] = []
        var index = 0
        while index < all.count {
            guard days.contains(all[index]) else {
                index += 1
                continue
            }
            var end = index
            while end + 1 < all.count, days.contains(all[end + 1]) { end += 1 }
            words.append(index == end ? all[index].rawValue : "\(all[index].rawValue)-\(all[end].rawValue)")
            index = end + 1
        }
        words.append("\(Self.clock(from))-\(Self.clock(to))")
        for (key, rate) in [("up", rates.up), ("down", rates.down)] {
            if let rate { words.append("\(key)=\(ByteCountText.format(rate).filter { $0 != " " })/s") }
        }
        return words.joined(separator: " ")
    }

    /// As an inline table of TOML.
    var literal: String {
        var parts: [String] = []
        let days = TransferLimits.Day.allCases.filter(days.contains).map(\.rawValue)
        if !days.isEmpty { parts.append("days = \(TOMLText.list(days))") }
        parts.append("from = \"\(Self.clock(from))\"")
        parts.append("to = \"\(Self.clock(to))\"")
        for (key, rate) in [("up", rates.up), ("down", rates.down)] {
            if let rate { parts.append("\(key) = \(TOMLText.quoted(ByteCountText.format(rate) + "/s"))") }
        }
        return "{ " + parts.joined(separator: ", ") + " }"
    }

    private static func clock(_ minute: Int) -> String {
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
        return "\(padded(minute / 60)):\(padded(minute % 60))"
    }
}
