import BlockExchange
import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct ConfigurationFileTests {
    let directory: TemporaryDirectory
    let file: ConfigurationFile

    init() throws {
        directory = try TemporaryDirectory()
        file = ConfigurationFile(try directory.places(), hostName: "host")
    }

    @Test func createsTheAnnotatedFile() throws {
        let created = try file.create(
            name: "a\"b", listen: ["tcp://127.0.0.1:0"],
            discovery: .init(local: false, servers: ["https://192.0.2.9/?id=\(testDevice(3))"]),
            relays: .init(isEnabled: false), mapsPorts: false,
            edits: [
                .addDevice(DeviceConfiguration(id: testDevice(1), name: "nas")),
                .addFolder(FolderConfiguration(id: FolderID("f"), path: "/srv/f", devices: [testDevice(1)])),
            ])
        #expect(try file.load() == created)
        var expected = Configuration(
            name: "a\"b", listen: ["tcp://127.0.0.1:0"],
            discovery: .init(local: false, servers: ["https://192.0.2.9/?id=\(testDevice(3))"]),
            devices: [DeviceConfiguration(id: testDevice(1), name: "nas")],
            folders: [FolderConfiguration(id: FolderID("f"), path: "/srv/f", devices: [testDevice(1)])])
        expected.relays.isEnabled = false
        expected.network.mapsPorts = false
        #expect(created == expected)
        #expect(try directory.mode("config.toml") == 0o600)
        #expect(try directory.text("config.toml").contains("# Addresses to listen on:"))
        #expect(try directory.names() == ["config.toml", "config.toml.lock"])
    }

    @Test func createdWithoutWishesItSaysTheDefaults() throws {
        #expect(try file.create() == Configuration(name: "host"))
    }

    @Test func neverReplacesAFile() throws {
        try directory.write("name = \"mine\"\n", to: "config.toml")
        #expect(failure { try file.create(name: "x") }?.code == .alreadyExists)
        #expect(try directory.text("config.toml") == "name = \"mine\"\n")
    }

    @Test func aWrongWishMakesNoFile() throws {
        let wrongFolder = FolderConfiguration(id: FolderID("f"), path: "/f", devices: [testDevice(1)])
        #expect(failure { try file.create(edits: [.addFolder(wrongFolder)]) }?.code == .noSuchDevice)
        #expect(failure { try file.create(listen: ["x"]) }?.code == .invalidValue)
        #expect(try !directory.names().contains("config.toml"))
    }

    @Test func missingFileSaysWhatToDo() {
        let error = failure { _ = try file.load() }
        #expect(error?.code == .missing)
        #expect(error?.message.contains("synctrain init") == true)
        #expect(failure { try file.apply(.removeDevice(testDevice(1))) }?.code == .missing)
    }

    /// `init` makes one without devices and folders; a backup has them. An empty file is a configuration.
    @Test(arguments: ["cert.pem", "key.pem"])
    func whereTheFileIsLostABackupComesFirst(identity: String) throws {
        try directory.write("x", to: identity)
        let error = failure { _ = try file.load() }
        #expect(error?.code == .missing)
        #expect(error?.message.contains("is missing; restore it from a backup, or") == true)
        try directory.write("", to: "config.toml")
        #expect(try file.load().devices == [])
    }

    /// Whoever edits can look at what the file says before, and leave it.
    @Test func aCheckEndsAnEdit() throws {
        try file.create(edits: [.addDevice(DeviceConfiguration(id: testDevice(1), name: "nas"))])
        let before = try directory.text("config.toml")
        let error = failure {
            try file.apply([.renameDevice(testDevice(1), name: "other")]) { (found) throws(ConfigurationError) in
                throw ConfigurationError(.invalidValue, "\(found.devices.map(\.name))")
            }
        }
        #expect(error?.message == #"["nas"]"#)
        #expect(try directory.text("config.toml") == before)
        #expect(
            try file.apply([.renameDevice(testDevice(1), name: "other")]) { _ in }.devices.map(\.name) == ["other"])
    }

    @Test func allEditsOrNone() throws {
        try directory.write("# mine\n", to: "config.toml")
        let edits: [ConfigurationEdit] = [
            .addDevice(DeviceConfiguration(id: testDevice(1))), .removeDevice(testDevice(2)),
        ]
        #expect(failure { try file.apply(edits) }?.code == .noSuchDevice)
        #expect(try directory.text("config.toml") == "# mine\n")
    }

    @Test func aBrokenFileIsNotTouched() throws {
        let broken = "name = \"x\"\nlisten = 3\n"
        try directory.write(broken, to: "config.toml")
        let error = failure { try file.apply(.addDevice(DeviceConfiguration(id: testDevice(1)))) }
        #expect(error?.line == 2)
        #expect(error?.file == directory.path + "/config.toml")
        #expect(try directory.text("config.toml") == broken)
    }

    @Test func aSymbolicLinkStaysOneAndModesAreKept() throws {
        try FileManager.default.createDirectory(
            atPath: directory.path + "/dotfiles", withIntermediateDirectories: false)
        try directory.write("# mine\n", to: "dotfiles/synctrain.toml")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: directory.path + "/dotfiles/synctrain.toml")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/config.toml", withDestinationPath: "dotfiles/synctrain.toml")
        try file.apply(.addDevice(DeviceConfiguration(id: testDevice(1))))
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: directory.path + "/config.toml")
                == "dotfiles/synctrain.toml")
        #expect(try directory.text("dotfiles/synctrain.toml").hasPrefix("# mine\n\n[[device]]\n"))
        #expect(try directory.mode("dotfiles/synctrain.toml") == 0o644)
        #expect(try directory.names("dotfiles") == ["synctrain.toml"])
    }

    @Test func aLinkToNothingIsAnError() throws {
        try FileManager.default.createSymbolicLink(atPath: directory.path + "/config.toml", withDestinationPath: "gone")
        #expect(failure { try file.create() }?.code == .alreadyExists)
        #expect(failure { _ = try file.load() }?.code == .missing)
    }

    @Test func tooLargeAFileIsRefused() throws {
        try directory.write(String(repeating: "#", count: ConfigurationLimits.byteCount + 1), to: "config.toml")
        #expect(failure { _ = try file.load() }?.code == .tooLarge)
        try directory.write(String(repeating: "#", count: ConfigurationLimits.byteCount), to: "config.toml")
        #expect(try file.load() == Configuration(name: "host"))
    }

    @Test func aDirectoryInItsPlaceIsAnError() throws {
        try FileManager.default.createDirectory(
            atPath: directory.path + "/config.toml", withIntermediateDirectories: false)
        #expect(failure { _ = try file.load() }?.file == directory.path + "/config.toml")
    }

    /// Without the lock, two that read before either writes would lose one of the edits.
    @Test func editsAtTheSameTimeAreAllKept() async throws {
        try file.create()
        let file = file
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<24 {
                group.addTask { _ = try file.apply(.addDevice(DeviceConfiguration(id: testDevice(number)))) }
            }
            try await group.waitForAll()
        }
        #expect(Set(try file.load().devices.map(\.id)) == Set((0..<24).map(testDevice)))
    }

    @Test func theAnnotatedFileInTheRepositoryIsTheDefault() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = String(
            decoding: try Data(contentsOf: root.appending(path: "config/config.toml")), as: UTF8.self)
        #expect(text == DefaultConfiguration.text())
    }

    /// The examples in the annotated file, taken out of their comments, are right.
    @Test func theExamplesInTheDefaultAreValid() throws {
        let lines = DefaultConfiguration.text().split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("#   ") ? $0.dropFirst(4) : $0 }
        let configuration = try parse(lines.joined(separator: "\n"))
        #expect(configuration.devices.count == 1)
        #expect(configuration.folders.map(\.path) == ["/home/anna/Photos"])
        #expect(configuration.devices.map(\.id) == configuration.folders[0].devices)
    }
}
