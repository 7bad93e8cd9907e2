import BlockExchange
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct SettingsSchemaTests {
    static let blocks = """
        [[device]]
        id = "\(testDevice(1))"   # mine

        [[folder]]
        id = "f"   # also mine
        path = "/f"
        """

    /// The reader says which keys it knows when it meets one that it does not.
    private func known(_ text: String) throws -> Set<String> {
        let message = try #require(failure { _ = try parse(text) }).message
        let list = try #require(message.split(separator: "known are ").last)
        return Set(list.split(separator: ", ").map { $0.filter { $0 != "`" } })
    }

    @Test func declaresWhatTheReaderKnows() throws {
        let nonsense = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq = 1"
        let top = try known(nonsense).subtracting(["device", "folder"])
        var agent: Set<String> = []
        for name in top {
            let declared = SettingsSchema.agent.contains { $0.key == name }
            agent.formUnion(declared ? [name] : try known("[\(name)]\n\(nonsense)").map { "\(name).\($0)" })
        }
        #expect(Set(SettingsSchema.agent.map(\.key)) == agent)
        #expect(Set(SettingsSchema.device.map(\.key)) == (try known("[[device]]\n\(nonsense)")))
        #expect(Set(SettingsSchema.folder.map(\.key)) == (try known("[[folder]]\n\(nonsense)")))
    }

    @Test func theAnnotatedTextNamesEverySetting() {
        let text = DefaultConfiguration.text()
        for setting in SettingsSchema.declarations where setting.key != "limits.schedule" {
            let word = String(setting.key.split(separator: ".").last ?? "")
            #expect(text.contains("\(word) = ") || text.contains("# \(word):"), "\(setting.key)")
        }
    }

    /// A value other than the default for each kind, and where the kind does not say, for the key.
    private func other(_ setting: SettingDeclaration, than usual: SettingValue) -> String? {
        let special = [
            "listen": "tcp://:22001", "discovery.servers": "https://192.0.2.9/", "http.listen": "127.0.0.1:8384",
            "relays.servers": "relay://192.0.2.9:22067/", "network.proxy": "socks5://127.0.0.1:9050",
            "fetch.window": "32MiB", "fetch.window-per-device": "17MiB", "bluetooth.scan-interval": "90",
            "addresses": "tcp://192.0.2.1:1", "allowed-networks": "10.0.0.0/8", "path": "/g", "versions-path": "/v",
            "conflicts-command": "/bin/true", "groups": "*.{jpg,txt}", "conflicts": "mine", "conflicts-deleted": "mine",
            "limits.schedule": "mon-fri sun 22:00-06:00 up=500KiB/s", "readers": "", "admins": "",
            "devices": testDevice(1).description, "ignored.devices": testDevice(7).description,
        ]
        if let text = special[setting.key] { return text.isEmpty ? nil : text }
        switch setting.kind {
        case .flag: return usual == .flag(true) ? "false" : "true"
        case .number(let range, _):
            return usual == .number(range.upperBound) ? "\(range.lowerBound)" : "\(range.upperBound)"
        case .choice(let words): return words.first { .text($0) != usual }
        case .size: return "3MiB"
        case .space: return "7%"
        case .rate: return "9MiB/s"
        case .interval: return "12h"
        case .path: return "/somewhere"
        case .text: return "other"
        case .texts: return "a,b"
        case .devices, .schedule, .moment: return nil
        }
    }

    private func change(
        _ file: ConfigurationText, _ target: SettingTarget, _ key: String, _ text: String?
    ) throws -> ConfigurationText {
        let assignments = try file.configuration.assignments(
            target.scope, [SettingText(key, text: text)], userHome: "/home/anna")
        return try file.applying(.set(target, assignments))
    }

    @Test(arguments: ["", DefaultConfiguration.text()])
    func eachSettingIsSetInTheFileAndTakenOutAgain(_ start: String) throws {
        let base = try ConfigurationText(Array((start + "\n" + Self.blocks + "\n").utf8), reader: testReader)
        let targets: [SettingTarget] = [.agent, .folder(FolderID("f")), .device(testDevice(1))]
        for target in targets {
            for setting in SettingsSchema.declarations(target.scope) where setting.changedBy == nil {
                let usual = value(setting.key, target, base.configuration)
                guard let text = other(setting, than: usual) else { continue }
                let changed = try change(base, target, setting.key, text)
                #expect(value(setting.key, target, changed.configuration) != usual, "\(setting.key)")
                #expect(changed.configuration != base.configuration, "\(setting.key)")
                let written = String(decoding: changed.bytes, as: UTF8.self)
                #expect(written.contains("# mine") && written.contains("# also mine"))
                guard setting.key != "path" else { continue }
                let back = try change(changed, target, setting.key, nil)
                #expect(value(setting.key, target, back.configuration) == usual, "\(setting.key)")
                #expect(back.configuration == base.configuration, "\(setting.key)")
            }
        }
    }

    private func value(_ key: String, _ target: SettingTarget, _ configuration: Configuration) -> SettingValue {
        switch target {
        case .agent: SettingsSchema.agent.first { $0.key == key }?.read(configuration) ?? .unset
        case .folder: SettingsSchema.folder.first { $0.key == key }?.read(configuration.folders[0]) ?? .unset
        case .device: SettingsSchema.device.first { $0.key == key }?.read(configuration.devices[0]) ?? .unset
        }
    }

    @Test(arguments: [
        ("limits.upp", "1", "Did you mean `limits.up`?"), ("rescan-interval", "1", "setting of the folder"),
        ("limits.up", "fast", "Use a rate"), ("limits.up", "10", "at least 1 KiB/s"),
        ("bluetooth.scan-window", "61", "a number from 1 to 60"), ("log.level", "loud", "one of trace, debug"),
        ("limits.schedule", "noon up=1MiB/s", "a list of times"), ("listen", "nonsense", "listen"),
        ("policies.on-battery", "limit", "one of nothing, on-demand-only, pause"),
    ])
    func refuses(_ key: String, _ text: String, _ words: String) throws {
        let base = try ConfigurationText([], reader: testReader)
        let error = try #require(failure { _ = try change(base, .agent, key, text) })
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test func readsLists() {
        #expect(SettingKind.elements("a, *.{jpg,txt} ,b") == ["a", "*.{jpg,txt}", "b"])
        #expect(SettingKind.elements(#"["a,b", "c"]"#) == ["a,b", "c"])
        #expect(SettingKind.elements("[]") == [])
        #expect(SettingKind.elements("[1]") == nil)
        #expect(
            TransferLimits.Window(text: "mon wed-fri 08:00-18:00 down=1MiB/s")?.text
                == "mon wed-fri 08:00-18:00 down=1 MiB/s".replacing("1 MiB", with: "1MiB"))
    }

    /// What is taken out leaves its comments.
    @Test func keepsCommentsOfWhatIsTakenOut() throws {
        let text = "name = \"a\"   # why\n[limits]\nup = 2048   # on trains\ndown = 0\n"
        let file = try ConfigurationText(Array(text.utf8), reader: testReader)
        let back = try change(try change(file, .agent, "limits.up", nil), .agent, "name", nil)
        #expect(String(decoding: back.bytes, as: UTF8.self) == "# why\n[limits]\n# on trains\ndown = 0\n")
        #expect(back.configuration.name == "host")
    }
}
