import BlockExchange

/// What is declared of a setting, whatever it is a setting of.
package struct SettingDeclaration: Equatable, Sendable {
    package enum Scope: String, CaseIterable, Sendable { case agent, folder, device }

    /// When a change counts.
    package enum Effect: String, Sendable {
        case atOnce = "at-once"
        /// When the agent is started the next time.
        case restart
    }

    package var scope: Scope
    /// As in the file: `limits.up` is `up` of `[limits]`; of a folder or device the key in its block.
    package var key: String
    package var kind: SettingKind
    /// One line for people.
    package var summary: String
    package var effect = Effect.atOnce
    /// What happens where the setting has no value: "the host name".
    package var without: String?
    /// Whether an empty text is a value of its own, and not the default.
    package var emptyMeans: String?
    /// What changes it instead of `config set`; nil if it can be set.
    package var changedBy: String?
    /// Whether it holds a password, which is not shown.
    package var isSecret = false
    /// The heading that it stands under, for people.
    package var group = ""
    /// Whether few need it: shown behind the others.
    package var isAdvanced = false
    /// Whether it names a program that the agent runs: changed over the socket only, never by a browser (docs/decisions/page.md).
    package var runsProgram = false
}

/// A setting of the agent, a folder or a device: its declaration, and where in the configuration its value is.
package struct Setting<Root: Sendable>: Sendable {
    package var declaration: SettingDeclaration
    package let read: @Sendable (Root) -> SettingValue
    /// False, and without effect, for a value of another shape.
    let write: @Sendable (inout Root, SettingValue) -> Bool

    package var key: String { declaration.key }

    /// How values of one type are written in the file.
    struct Codec<Value>: Sendable {
        var encode: @Sendable (Value) -> SettingValue
        var decode: @Sendable (SettingValue) -> Value?
    }

    init<Value>(
        _ scope: SettingDeclaration.Scope, _ key: String, _ kind: SettingKind,
        _ path: WritableKeyPath<Root, Value> & Sendable, _ codec: Codec<Value>, _ summary: String
    ) {
        declaration = SettingDeclaration(scope: scope, key: key, kind: kind, summary: summary)
        read = { codec.encode($0[keyPath: path]) }
        write = { root, value in
            guard let value = codec.decode(value) else { return false }
            root[keyPath: path] = value
            return true
        }
    }

    /// A setting that more than one property holds.
    init(
        _ scope: SettingDeclaration.Scope, _ key: String, _ kind: SettingKind, _ summary: String,
        read: @escaping @Sendable (Root) -> SettingValue,
        write: @escaping @Sendable (inout Root, SettingValue) -> Bool
    ) {
        declaration = SettingDeclaration(scope: scope, key: key, kind: kind, summary: summary)
        (self.read, self.write) = (read, write)
    }

    /// The same, and what follows from a change of it.
    func then(_ follow: @escaping @Sendable (inout Root) -> Void) -> Setting {
        let write = write
        var setting = Setting(declaration.scope, key, declaration.kind, declaration.summary, read: read) {
            guard write(&$0, $1) else { return false }
            follow(&$0)
            return true
        }
        setting.declaration = declaration
        return setting
    }

    private func with(_ change: (inout SettingDeclaration) -> Void) -> Setting {
        var setting = self
        change(&setting.declaration)
        return setting
    }

    var afterRestart: Setting { with { $0.effect = .restart } }
    var secret: Setting { with { $0.isSecret = true } }
    func without(_ text: String) -> Setting { with { $0.without = text } }
    func empty(_ text: String) -> Setting { with { $0.emptyMeans = text } }
    func changedBy(_ command: String) -> Setting { with { $0.changedBy = command } }
    var advanced: Setting { with { $0.isAdvanced = true } }
    var program: Setting { with { $0.runsProgram = true } }
    func grouped(_ name: String) -> Setting { with { $0.group = name } }
}

// MARK: - Codecs

extension Setting.Codec where Value == Bool {
    static var flag: Self {
        Self(encode: { .flag($0) }, decode: { if case .flag(let isOn) = $0 { isOn } else { nil } })
    }
}

extension Setting.Codec where Value == Int {
    static var number: Self {
        Self(encode: { .number($0) }, decode: { if case .number(let number) = $0 { number } else { nil } })
    }
}

extension Setting.Codec where Value == Int? {
    static var number: Self {
        Self(
            encode: { $0.map { .number($0) } ?? .unset },
            decode: { value in
                switch value {
                case .number(let number): .some(number)
                case .unset: .some(nil)
                default: nil
                }
            })
    }

    /// Where nil stands for a number of its own.
    static func number(nil none: Int) -> Self {
        Self(
            encode: { .number($0 ?? none) },
            decode: { if case .number(let number) = $0 { .some(number == none ? nil : number) } else { nil } })
    }

    static var interval: Self {
        Self(
            encode: { $0.map { .text(IntervalText.format($0)) } ?? .unset },
            decode: { value in
                switch value {
                case .text(let text): IntervalText.parse(text).map { .some($0) }
                case .unset: .some(nil)
                default: nil
                }
            })
    }
}

extension Setting.Codec where Value == Int64 {
    static var size: Self {
        Self(
            encode: { SettingKind.size($0) },
            decode: { value in
                switch value {
                case .text(let text): ByteCountText.parse(text)
                case .number(let number): Int64(number)
                default: nil
                }
            })
    }

    /// A rate that cannot be without limit.
    static var rate: Self {
        Self(
            encode: { SettingKind.rate($0) },
            decode: { value in
                switch value {
                case .text(let text): SettingKind.parsedRate(text)
                case .number(let number): Int64(number)
                default: nil
                }
            })
    }
}

extension Setting.Codec where Value == Int64? {
    static var rate: Self {
        Self(
            encode: { SettingKind.rate($0) },
            decode: { value -> Int64?? in
                let none = Int64??.some(.none)
                switch value {
                case .text(let text):
                    guard let rate = SettingKind.parsedRate(text) else { return .none }
                    return rate == 0 ? none : .some(.some(rate))
                case .number(let number): return number == 0 ? none : .some(.some(Int64(number)))
                case .unset: return none
                default: return .none
                }
            })
    }
}

extension Setting.Codec where Value == String {
    static var text: Self {
        Self(encode: { .text($0) }, decode: { if case .text(let text) = $0 { text } else { nil } })
    }
}

extension Setting.Codec where Value == String? {
    static var text: Self {
        Self(
            encode: { $0.map { .text($0) } ?? .unset },
            decode: { value in
                switch value {
                case .text(let text): .some(text)
                case .unset: .some(nil)
                default: nil
                }
            })
    }
}

extension Setting.Codec where Value == [String] {
    static var texts: Self {
        Self(encode: { .list($0) }, decode: { if case .list(let texts) = $0 { texts } else { nil } })
    }
}

extension Setting.Codec where Value == [DeviceID] {
    static var devices: Self {
        Self(
            encode: { .list($0.map(\.description)) },
            decode: { value in
                guard case .list(let texts) = value else { return nil }
                let ids = texts.compactMap { try? DeviceID(parsing: $0) }
                return ids.count == texts.count ? ids : nil
            })
    }
}

extension Setting.Codec where Value == MinimumFree {
    static var space: Self {
        Self(encode: { $0.value }, decode: { MinimumFree(value: $0) })
    }
}

extension Setting.Codec where Value == MinimumFree? {
    static var space: Self {
        Self(
            encode: { $0?.value ?? .unset },
            decode: { $0 == .unset ? .some(nil) : MinimumFree(value: $0).map { .some($0) } })
    }
}

extension MinimumFree {
    fileprivate var value: SettingValue { self == .byteCount(0) ? .number(0) : .text(text) }

    fileprivate init?(value: SettingValue) {
        switch value {
        case .text(let text): self.init(text: text)
        case .number(let number): self = .byteCount(Int64(number))
        default: return nil
        }
    }
}

extension Setting.Codec where Value: RawRepresentable<String> & SendableMetatype {
    static var choice: Self {
        Self(
            encode: { .text($0.rawValue) },
            decode: { if case .text(let text) = $0 { Value(rawValue: text) } else { nil } })
    }
}
