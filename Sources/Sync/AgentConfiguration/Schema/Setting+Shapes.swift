import BlockExchange

/// What has settings: the agent, a folder, a device.
package protocol SettingsRoot: Sendable {
    static var scope: SettingDeclaration.Scope { get }
    /// With every setting at its default.
    static var usual: Self { get }
}

extension Configuration: SettingsRoot {
    package static var scope: SettingDeclaration.Scope { .agent }
    package static var usual: Configuration { Configuration(name: "") }
}

extension FolderConfiguration: SettingsRoot {
    package static var scope: SettingDeclaration.Scope { .folder }
    package static var usual: FolderConfiguration { FolderConfiguration(id: FolderID(""), path: "") }
}

extension DeviceConfiguration: SettingsRoot {
    package static var scope: SettingDeclaration.Scope { .device }
    package static var usual: DeviceConfiguration { DeviceConfiguration(id: DeviceID(certificateDER: [])) }
}

extension Setting where Root: SettingsRoot {
    typealias Path<Value> = WritableKeyPath<Root, Value> & Sendable

    /// The value where nobody has set another.
    package var usual: SettingValue { read(.usual) }

    static func flag(_ key: String, _ path: Path<Bool>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .flag, path, .flag, summary)
    }

    static func number(
        _ key: String, _ range: ClosedRange<Int>, also: Int? = nil, _ path: Path<Int>, _ summary: String
    ) -> Setting {
        Setting(Root.scope, key, .number(range, also: also), path, .number, summary)
    }

    /// A number that may be missing.
    static func optionalNumber(
        _ key: String, _ range: ClosedRange<Int>, _ path: Path<Int?>, _ summary: String
    ) -> Setting {
        Setting(Root.scope, key, .number(range), path, .number, summary)
    }

    /// A number where nil stands for `none`.
    static func number(
        _ key: String, _ range: ClosedRange<Int>, none: Int, _ path: Path<Int?>, _ summary: String
    ) -> Setting {
        Setting(Root.scope, key, .number(range, also: none), path, .number(nil: none), summary)
    }

    static func text(_ key: String, _ path: Path<String>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .text, path, .text, summary)
    }

    static func optionalText(_ key: String, _ path: Path<String?>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .text, path, .text, summary)
    }

    static func path(_ key: String, _ path: Path<String?>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .path, path, .text, summary)
    }

    static func texts(_ key: String, _ path: Path<[String]>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .texts, path, .texts, summary)
    }

    static func devices(_ key: String, _ path: Path<[DeviceID]>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .devices, path, .devices, summary)
    }

    /// - Parameter words: those of the type that the setting may be; nil for all.
    static func choice<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _ key: String, _ path: Path<Choice>, except: [Choice] = [], _ summary: String
    ) -> Setting {
        let words = Choice.allCases.map(\.rawValue).filter { word in !except.contains { $0.rawValue == word } }
        return Setting(Root.scope, key, .choice(words), path, .choice, summary)
    }

    static func size(_ key: String, _ path: Path<Int64>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .size, path, .size, summary)
    }

    static func rate(_ key: String, _ path: Path<Int64?>, _ summary: String) -> Setting {
        Setting(Root.scope, key, .rate, path, .rate, summary)
    }

    static func pausedUntil(_ path: Path<Int64?>) -> Setting {
        Setting(
            Root.scope, "paused-until", .moment, "End of the pause.",
            read: { $0[keyPath: path].map { .text(MomentText.format($0)) } ?? .unset },
            write: { root, value in
                guard value != .unset else {
                    root[keyPath: path] = nil
                    return true
                }
                guard case .text(let text) = value, let moment = MomentText.parse(text) else { return false }
                root[keyPath: path] = moment
                return true
            }
        ).without("until resumed").changedBy("synctrain pause --for")
    }
}
