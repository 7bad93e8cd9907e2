/// A value of a setting as the configuration file has it: sizes and rates are texts with a unit.
package enum SettingValue: Equatable, Sendable {
    /// The setting is not in the file and has no default of its own.
    case unset
    case text(String)
    case flag(Bool)
    case number(Int)
    case list([String])

    /// As TOML; nil for `unset`.
    var literal: String? {
        switch self {
        case .unset: nil
        case .text(let text): TOMLText.quoted(text)
        case .flag(let isOn): String(isOn)
        case .number(let number): String(number)
        case .list(let texts): TOMLText.list(texts)
        }
    }

    /// As `config get` prints it and `config set` reads it, except for a list; empty for `unset`.
    package var text: String {
        switch self {
        case .unset: ""
        case .text(let text): text
        case .flag(let isOn): String(isOn)
        case .number(let number): String(number)
        case .list(let texts): TOMLText.list(texts)
        }
    }

    /// The elements of a list; nil for any other value.
    package var elements: [String]? {
        guard case .list(let texts) = self else { return nil }
        return texts
    }
}
