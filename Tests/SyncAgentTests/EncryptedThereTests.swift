import AgentConfiguration
import BlockExchange
import Cryptography
import Foundation
import IndexStore
import Logging
import SessionTestKit
import Synchronization
import Testing

@testable import AgentContext
@testable import FolderSync
@testable import PeerLinks

/// Devices that keep a folder encrypted.
@Suite struct EncryptedThereTests {
    private static let id = FolderID("f")
    private static let me = DeviceID(certificateDER: Array("me".utf8))
    private static let vault = DeviceID(certificateDER: Array("vault".utf8))

    private final class Scene: Sendable {
        let home = FileManager.default.temporaryDirectory.appending(path: "encrypted-\(UUID().uuidString)").path
        let index: IndexStore
        let folder: Folder
        let registry: FolderRegistry
        let distrusted = Mutex<[FolderID]>([])

        init(_ change: (inout FolderConfiguration) -> Void = { _ in }) async throws {
            try FileManager.default.createDirectory(
                atPath: "\(home)/files/.stfolder", withIntermediateDirectories: true)
            index = try IndexStore.open(path: "\(home)/index.sqlite")
            try await index.addFolder(EncryptedThereTests.id, newIndexID: IndexID(rawValue: 1))
            var configuration = FolderConfiguration(
                id: EncryptedThereTests.id, label: "secret", path: "\(home)/files", mode: .full,
                devices: [EncryptedThereTests.vault])
            change(&configuration)
            let events = EventHub(wall: { WallTime(seconds: 0) })
            let logger = Logger(label: "encrypted", factory: { _ in SwiftLogNoOpLogHandler() })
            folder = Folder(idle: configuration, of: EncryptedThereTests.me, index: index)
            registry = FolderRegistry(
                pending: PendingRegistry(
                    index: index, ignored: { .init() }, events: events, time: .system, logger: logger))
            registry.insert(folder)
        }

        deinit { try? FileManager.default.removeItem(atPath: home) }

        /// The device says what it shares; gives the indexes that it is to be sent.
        func hear(token: [UInt8] = [], tokenForUs: [UInt8] = []) async throws -> [FolderID] {
            let config = ClusterConfig(folders: [
                ClusterConfig.Folder(
                    id: EncryptedThereTests.id,
                    devices: [
                        ClusterConfig.Device(id: EncryptedThereTests.me, encryptionPasswordToken: tokenForUs),
                        ClusterConfig.Device(
                            id: EncryptedThereTests.vault, maxSequence: 1, indexID: IndexID(rawValue: 7),
                            encryptionPasswordToken: token),
                    ])
            ])
            var exchange = IndexExchange(local: EncryptedThereTests.me, peer: EncryptedThereTests.vault)
            let terms = shared.terms()
            exchange.share(terms)
            for action in try exchange.heard(config, try await shared.facts(terms)) {
                try await shared.perform(action)
            }
            exchange.performed()
            return Array(exchange.fedFolders)
        }

        func told() async throws -> ClusterConfig { try await shared.clusterConfig() }

        private var shared: SharedFolders {
            SharedFolders(
                device: EncryptedThereTests.vault, localDevice: EncryptedThereTests.me, deviceName: { "me" },
                knownDevices: { [DeviceConfiguration(id: EncryptedThereTests.vault, name: "vault")] },
                folders: registry,
                mayCarry: { _ in true }, client: { "syncthing" },
                distrust: { folder in self.distrusted.withLock { $0.append(folder) } },
                logger: Logger(label: "encrypted", factory: { _ in SwiftLogNoOpLogHandler() }))
        }
    }

    @Test(arguments: [false, true]) func whoSentATokenOnceGetsNothingEverAfter(isForUs: Bool) async throws {
        let scene = try await Scene()
        #expect(try await scene.hear().count == 1)
        #expect(try await scene.told().folders.map(\.id) == [Self.id])
        #expect(try await scene.told().folders.first?.devices.map(\.name) == ["me", "vault"])
        #expect(try await scene.told().folders.first?.devices.map(\.addresses) == [["dynamic"], ["dynamic"]])
        try await scene.index.applyIndex(
            of: Self.id, device: Self.vault, files: [FileInfo(name: "d", kind: .directory, sequence: 1)],
            replacesAll: true, isIgnored: { _ in false })

        let feeds = try await isForUs ? scene.hear(tokenForUs: [1]) : scene.hear(token: [1])
        #expect(feeds.isEmpty)
        #expect(scene.distrusted.withLock { $0 } == [Self.id])
        // No index, no blocks, and not even the folder's name, whatever it says from now on.
        #expect(try await scene.hear().isEmpty)
        #expect(try await scene.told().folders.isEmpty)
        #expect(scene.registry.folder(Self.id, sharedWith: Self.vault) == nil)
        #expect(try await scene.index.remoteIndex(of: Self.id, device: Self.vault) == nil)
        #expect(try await scene.index.global(Self.id, "d") == nil)
    }

    @Test func itIsNotedWhileTheFolderIsPaused() async throws {
        let scene = try await Scene { $0.isPaused = true }
        #expect(try await scene.hear(token: [1]).isEmpty)
        #expect(!scene.folder.exchange.isTrusted(Self.vault))
    }

    @Test func theConfigurationSaysItAfterARestart() async throws {
        let scene = try await Scene { $0.untrusted = [Self.vault] }
        #expect(try await scene.hear().isEmpty)
        #expect(try await scene.told().folders.isEmpty)
    }

    /// Who has this device as introducer would share the folder with it, unencrypted.
    @Test func othersAreNotToldOfIt() async throws {
        let friend = DeviceID(certificateDER: Array("friend".utf8))
        let scene = try await Scene { $0.devices.append(friend) }
        func listed(for device: DeviceID) async throws -> [DeviceID] {
            try await scene.folder.exchange.clusterConfigEntry(for: device, localDevice: Self.me).devices.map(\.id)
        }
        #expect(try await listed(for: friend) == [Self.me, Self.vault, friend])
        _ = try await scene.hear(token: [1])
        #expect(try await listed(for: friend) == [Self.me, friend])
        #expect(try await listed(for: Self.vault) == [Self.me, Self.vault, friend])
    }

    /// Only a person makes it trusted again, by taking its name out.
    @Test func removingTheNameIsTheWayBack() async throws {
        let scene = try await Scene()
        _ = try await scene.hear(token: [1])
        var configuration = scene.folder.configuration
        configuration.rescanInterval = 1
        scene.folder.configure(configuration)
        #expect(!scene.folder.exchange.isTrusted(Self.vault), "another setting changes nothing")
        configuration.untrusted = [Self.vault]
        scene.folder.configure(configuration)
        configuration.untrusted = []
        scene.folder.configure(configuration)
        #expect(try await scene.hear().count == 1)
    }
}
