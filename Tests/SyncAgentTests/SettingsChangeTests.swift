import AgentConfiguration
import BlockExchange
import ControlAPI
import SyncTestKit
import Testing

@testable import SyncAgent

@Suite struct SettingsChangeTests {
    private static var base: Configuration {
        var configuration = Configuration(name: "laptop")
        configuration.network.proxy = "socks5://anna:secret@proxy.test:1080"
        configuration.folders = [FolderConfiguration(id: FolderID("f"), path: "/f")]
        configuration.devices = [DeviceConfiguration(id: DeviceID(certificateDER: [1]), name: "nas")]
        return configuration
    }

    private static let shown = "socks5://anna:…@proxy.test:1080"

    private func changed(_ configuration: Configuration, _ change: SettingsChange) throws -> Configuration {
        try configuration.edits(applying: change, userHome: "/home/anna")
            .reduce(configuration) { try $1.applied(to: $0) }
    }

    private func proxy(_ value: String?) -> SettingsChange {
        SettingsChange(settings: [SettingInput(key: "network.proxy", value: value)])
    }

    @Test func aPasswordIsNotShownAndStays() throws {
        let state = try #require(Self.base.settingsDocument.agent.first { $0.key == "network.proxy" })
        #expect(state.value == Self.shown)
        #expect(state.hidesPassword == true)
        // What was shown and is sent back is no change.
        #expect(try changed(Self.base, proxy(Self.shown)).network.proxy == Self.base.network.proxy)
        #expect(
            try changed(Self.base, proxy("socks5://anna:new@proxy.test:1080")).network.proxy?.contains("new") == true)
        #expect(try changed(Self.base, proxy(nil)).network.proxy == nil)
    }

    /// Else the password would go to any host that somebody names.
    @Test(arguments: [
        "socks5://anna:…@other.test:1080", "socks5://anna:…@proxy.test:1081", "socks5://eve:…@proxy.test:1080",
    ])
    func aPasswordGoesToNoOtherHost(_ value: String) throws {
        let error = #expect(throws: ControlError.self) { try changed(Self.base, proxy(value)) }
        #expect(error?.message.contains("enter the password again") == true)
    }

    @Test func oldVersionsDoNotGoIntoADirectoryInUse() throws {
        let directory = try TemporaryDirectory()
        try directory.write("mine", to: "letter~20200101-120000.txt")
        func check(_ configuration: Configuration, _ settings: [(key: String, value: String)]) throws {
            let change = SettingsChange(
                folder: "f", settings: settings.map { SettingInput(key: $0.key, value: $0.value) })
            try configuration.checkArchive(configuration.edits(applying: change, userHome: nil), of: change)
        }
        let error = #expect(throws: ControlError.self) {
            try check(Self.base, [("versions", "simple"), ("versions-path", directory.path)])
        }
        #expect(error?.path == "versions-path")
        try check(Self.base, [("versions", "simple"), ("versions-path", directory.path + "/new")])
        // What is set already goes on working.
        var configured = Self.base
        configured.folders[0].versions = FolderVersions(kind: .simple, path: directory.path)
        try check(configured, [("versions-keep", "3")])
        configured.folders[0].versions.kind = .none
        #expect(throws: ControlError.self) { try check(configured, [("versions", "simple")]) }
    }

    /// Nor does a password of which only the mark is there become one.
    @Test func theMarkIsNoPassword() {
        var configuration = Self.base
        configuration.network.proxy = nil
        #expect(throws: ControlError.self) { try changed(configuration, proxy(Self.shown)) }
    }

    @Test func itSaysWhatWaitsForARestart() throws {
        let start = Self.base
        var now = start
        now.name = "other"
        now.log.level = .debug
        now.network.proxy = "socks5://anna:changed@proxy.test:1080"
        let waiting = now.settingsDocument(since: start).agent.filter { $0.running != nil }
        // Of two passwords neither is seen.
        #expect(
            waiting.map { [$0.key, $0.value, $0.running ?? ""] } == [
                ["network.proxy", Self.shown, Self.shown], ["log.level", "debug", start.log.level.rawValue],
            ])
        #expect(now.settingsDocument.agent.allSatisfy { $0.running == nil })
        let answer = try start.answer(to: proxy("x"), in: now, since: start)
        #expect(answer.settings.map(\.needsRestart) == [true])
        #expect(try start.answer(to: proxy("x"), in: now, since: now).settings.map(\.needsRestart) == [false])
    }

    @Test(arguments: [
        (SettingsChange(folder: "f", settings: [SettingInput(key: "conflicts-command", values: ["/bin/sh"])]), true),
        (SettingsChange(folder: "f", settings: [SettingInput(key: "conflicts-command")]), true),
        (
            SettingsChange(
                folder: "f", settings: [SettingInput(key: "label", value: "x"), SettingInput(key: "conflicts-command")]),
            true
        ),
        (SettingsChange(folder: "f", settings: [SettingInput(key: "conflicts", value: "mine")]), false),
        (SettingsChange(device: "nas", settings: [SettingInput(key: "name", value: "x")]), false),
        (SettingsChange(settings: [SettingInput(key: "http.listen", value: "127.0.0.1:1")]), false),
    ])
    func aBrowserNamesNoProgram(_ change: SettingsChange, _ isRefused: Bool) throws {
        guard isRefused else { return try Configuration.checkBrowser(change) }
        let error = #expect(throws: ControlError.self) { try Configuration.checkBrowser(change) }
        #expect(error?.code == .noPermission)
        #expect(error?.message.contains("synctrain folder set f conflicts-command=") == true)
    }

    /// Shared again, the folder would be sent unencrypted to who said only once that it keeps it encrypted.
    @Test func whoKeepsAFolderEncryptedIsNotForgotten() throws {
        var configuration = Self.base
        let (folder, vault) = (configuration.folders[0].id, configuration.devices[0])
        (configuration.folders[0].devices, configuration.folders[0].untrusted) = ([vault.id], [vault.id])
        func changed(_ isShared: Bool, isUnencrypted: Bool? = nil) throws {
            let change = FolderSharingChange(
                folder: folder.rawValue, device: vault.name, isShared: isShared, isUnencrypted: isUnencrypted)
            configuration = try configuration.edits(applying: change).reduce(configuration) { try $1.applied(to: $0) }
        }
        try changed(true)
        #expect(configuration.folders[0].untrusted == [vault.id], "it is shared already")
        try changed(false)
        #expect(configuration.folders[0].devices == [] && configuration.folders[0].untrusted == [vault.id])
        let refusal = #expect(throws: ControlError.self) { try changed(true) }
        #expect(refusal?.code == .confirmationNeeded && refusal?.message.contains("--unencrypted") == true)
        configuration = try ConfigurationEdit.removeDevice(vault.id).applied(to: configuration)
        configuration = try ConfigurationEdit.addDevice(vault).applied(to: configuration)
        #expect(throws: ControlError.self) { try changed(true) }
        try changed(true, isUnencrypted: true)
        #expect(configuration.folders[0].devices == [vault.id] && configuration.folders[0].untrusted == [])
    }

    /// A setting that takes a program has to say so: the rule for browsers hangs on it.
    @Test func everyCommandIsDeclaredAsOne() {
        let declared = Set(SettingsSchema.declarations.filter(\.runsProgram).map(\.key))
        let named = SettingsSchema.declarations.map(\.key).filter { $0.contains("command") && !$0.contains("seconds") }
        #expect(declared == Set(named))
        #expect(SettingsSchema.declarations.allSatisfy { !$0.group.isEmpty })
    }
}
