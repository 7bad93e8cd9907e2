import AgentConfiguration
import BlockExchange
import Cryptography
import IndexStore
import Logging
import SyncTestKit
import Testing

@testable import SyncAgent

/// What the index has and the configuration does not name any more.
@Suite struct IndexLeftoversTests {
    private static let docs = FolderID("docs")
    private static let photos = FolderID("photos")
    private static let phone = DeviceID(certificateDER: Array("phone".utf8))
    private static let nas = DeviceID(certificateDER: Array("nas".utf8))

    private static func configuration(
        _ folders: [FolderID: [DeviceID]], devices: [DeviceID] = [phone, nas]
    ) -> Configuration {
        Configuration(
            name: "x", devices: devices.map { DeviceConfiguration(id: $0, name: "d") },
            folders: folders.map { FolderConfiguration(id: $0.key, path: "/\($0.key)", devices: $0.value) })
    }

    private static func leftovers(
        _ configuration: Configuration, added: Set<FolderID> = [], _ trust: IndexLeftovers.Trust = .init()
    ) -> IndexLeftovers {
        IndexLeftovers(
            known: [docs: [phone, nas], photos: [nas]], seen: [phone, nas], in: configuration, added: added, trust)
    }

    @Test func nothingIsLeftOverOfWhatIsNamed() {
        let leftovers = Self.leftovers(
            Self.configuration([Self.docs: [Self.phone, Self.nas], Self.photos: [Self.nas]]))
        #expect(leftovers.folders == [] && leftovers.shares == [] && leftovers.devices == [])
    }

    @Test func foldersSharesAndDevicesThatAreNotNamedGo() {
        let leftovers = Self.leftovers(Self.configuration([Self.docs: [Self.nas]], devices: [Self.nas]))
        #expect(leftovers.folders == [Self.photos])
        #expect(leftovers.shares == [.init(folder: Self.docs, device: Self.phone)])
        #expect(leftovers.devices == [Self.phone])
        #expect(leftovers.keptFolders == [] && leftovers.keptDevices == [])
    }

    @Test func whatSomebodyHasJustAddedBeginsWithNothing() {
        let configuration = Self.configuration([Self.docs: [Self.phone, Self.nas], Self.photos: [Self.nas]])
        #expect(Self.leftovers(configuration, added: [Self.photos]).folders == [Self.photos])
    }

    /// A file that was emptied names none of a kind; that is not taken for a wish.
    @Test func allOfAKindGoesOnlyIfThatIsMeant() {
        let empty = Self.configuration([:], devices: [])
        let kept = Self.leftovers(empty)
        #expect(kept.folders == [] && kept.shares == [] && kept.devices == [])
        #expect(kept.keptFolders == [Self.docs, Self.photos])
        let gone = Self.leftovers(empty, .init(hasNoFolders: true, hasNoDevices: true))
        #expect(gone.folders == [Self.docs, Self.photos] && gone.devices.count == 2 && gone.keptFolders == [])
        // A device that was added since changes nothing about that.
        let withoutFolders = Self.leftovers(Self.configuration([:], devices: [Self.nas]))
        #expect(withoutFolders.folders == [] && withoutFolders.shares == [] && withoutFolders.devices == [])
        #expect(withoutFolders.keptFolders == [Self.docs, Self.photos])
        let withoutDevices = Self.leftovers(Self.configuration([Self.docs: []], devices: []))
        #expect(withoutDevices.folders == [Self.photos] && withoutDevices.shares == [] && withoutDevices.devices == [])
        #expect(withoutDevices.keptDevices == [Self.phone, Self.nas])
    }

    // MARK: an agent

    /// The home of an agent that is started and ended, with the index between.
    private final class Home: Sendable {
        let directory: TemporaryDirectory
        let places: AgentPlaces

        init() throws {
            directory = try TemporaryDirectory()
            places = try AgentPlaces.resolve(home: "\(directory.path)/home", environment: [:])
            try places.createDirectories()
            let certificate = try DeviceCertificate.generate(curve: .p256, notBefore: 1_700_000_000)
            try DeviceIdentityFiles.create(
                in: places, certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.privateKeyPEM)
            try file.create(name: "x", listen: [])
        }

        var file: ConfigurationFile { ConfigurationFile(places, hostName: "x") }

        func folder(_ id: FolderID, _ devices: [DeviceID]) -> ConfigurationEdit {
            .addFolder(FolderConfiguration(id: id, path: "\(directory.path)/\(id)", devices: devices))
        }

        /// An agent as it is when it has begun, and nothing runs yet.
        func withAgent(_ body: (Agent) async throws -> Void = { _ in }) async throws {
            let agent = try await Agent(
                AgentSetup(
                    places: places, configurationFile: file, transports: [], makeDiscovery: nil,
                    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), requestStop: {}))
            do { try await body(agent) } catch {
                try agent.index.close()
                throw error
            }
            try agent.index.close()
        }

        func announce(_ device: DeviceID, in folders: FolderID..., to index: IndexStore) async throws {
            for folder in folders {
                try await index.applyIndex(
                    of: folder, device: device,
                    files: [
                        FileInfo(
                            name: "of \(device.shortID)", kind: .directory,
                            version: VersionVector([.init(id: device.shortID, value: 1)]), sequence: 1)
                    ],
                    replacesAll: false
                ) { _ in false }
                try await index.noteSeen(device, at: 1)
            }
        }
    }

    private static func home() async throws -> Home {
        let home = try Home()
        try home.file.apply([
            .addDevice(DeviceConfiguration(id: phone, name: "phone")),
            .addDevice(DeviceConfiguration(id: nas, name: "nas")),
            home.folder(docs, [phone, nas]), home.folder(photos, [nas]),
        ])
        try await home.withAgent { agent in
            try await home.announce(nas, in: docs, photos, to: agent.index)
            try await home.announce(phone, in: docs, to: agent.index)
        }
        return home
    }

    @Test func whatWasRemovedWhileNoAgentRanIsForgotten() async throws {
        let home = try await Self.home()
        try await home.withAgent { agent in
            let known = try await agent.index.knownDevices()
            #expect(known == [Self.docs: [Self.phone, Self.nas], Self.photos: [Self.nas]])
        }
        try home.file.apply([.removeFolder(Self.photos), .removeDevice(Self.phone)])
        try await home.withAgent { agent in
            #expect(try await agent.index.knownDevices() == [Self.docs: [Self.nas]])
            #expect(try await agent.index.lastSeen().keys.sorted() == [Self.nas])
            #expect(try await agent.index.global(Self.docs, "of \(Self.phone.shortID)") == nil)
            #expect(try await agent.index.global(Self.docs, "of \(Self.nas.shortID)")?.holders == [Self.nas])
            // It is another folder now, with nothing in its index.
            try await agent.changes.edit { _ in [home.folder(Self.photos, [Self.nas])] }
            #expect(try await agent.index.global(Self.photos, "of \(Self.nas.shortID)") == nil)
        }
    }

    @Test func anEmptiedConfigurationIsNoReasonToForget() async throws {
        let home = try await Self.home()
        let before = try home.directory.text("home/config.toml")
        try home.directory.write("", to: "home/config.toml")
        try await home.withAgent { agent in
            #expect(
                try await agent.index.knownDevices() == [Self.docs: [Self.phone, Self.nas], Self.photos: [Self.nas]])
            // Changes of something else do not count as a wish, either.
            try await agent.changes.edit { _ in [.addDevice(DeviceConfiguration(id: Self.phone, name: "phone"))] }
            #expect(try await agent.index.folders().map(\.folder) == [Self.docs, Self.photos])
            try home.directory.write(before, to: "home/config.toml")
            _ = try await agent.changes.inTurn { try await $0.reload(isConfirmed: false) }
            #expect(agent.folders.all.count == 2)
            #expect(try await agent.index.global(Self.photos, "of \(Self.nas.shortID)")?.holders == [Self.nas])
        }
        try home.directory.write("", to: "home/config.toml")
        try await home.withAgent { agent in
            _ = try await agent.changes.inTurn { try await $0.reload(isConfirmed: true) }
            #expect(try await agent.index.knownDevices() == [:])
        }
    }

    @Test func whatIsAddedAfterAnEmptiedConfigurationIsNew() async throws {
        let home = try await Self.home()
        try home.directory.write("", to: "home/config.toml")
        try await home.withAgent { agent in
            try await agent.changes.edit { _ in [home.folder(Self.docs, [])] }
            #expect(try await agent.index.folders().map(\.folder) == [Self.docs])
            #expect(try await agent.index.children(Self.docs) == [])
        }
    }

    /// The commands that change the file while no agent runs say what the next start could not see.
    @Test func aFolderThatIsRemovedAndAddedBetweenTwoStartsIsNew() async throws {
        let home = try await Self.home()
        try home.file.apply([.removeFolder(Self.docs)])
        try home.file.apply([home.folder(Self.docs, [Self.nas])])
        try await IndexReset.forget(folders: [Self.docs], in: home.places)
        try await home.withAgent { agent in
            let known = try await agent.index.knownDevices()
            #expect(known == [Self.docs: [], Self.photos: [Self.nas]])
        }
        try home.file.apply([.removeDevice(Self.phone), .removeDevice(Self.nas)])
        try await IndexReset.forget(devices: [Self.phone, Self.nas], in: home.places)
        try await home.withAgent { agent in
            let known = try await agent.index.knownDevices()
            #expect(known == [Self.docs: [], Self.photos: []])
        }
    }

    /// However it was removed: no admin's offer brings it back until it is added again.
    @Test(arguments: [true, false]) func aFolderThatIsRemovedIsDeclined(byCommand: Bool) async throws {
        let home = try await Self.home()
        try home.file.apply([.removeFolder(Self.docs)])
        if byCommand { try await IndexReset.forget(folders: [Self.docs], isUnwanted: true, in: home.places) }
        try await home.withAgent { agent in
            let declined = try await agent.index.declinedFolders()
            #expect(declined == [Self.docs])
        }
        try home.file.apply([home.folder(Self.docs, [])])
        try await IndexReset.forget(folders: [Self.docs], in: home.places)
        try await home.withAgent { agent in
            let before = try await agent.index.declinedFolders()
            #expect(before == [])
            try home.file.apply([.removeFolder(Self.docs)])
            _ = try await agent.changes.inTurn { try await $0.reload(isConfirmed: false) }
            let after = try await agent.index.declinedFolders()
            #expect(after == [Self.docs])
        }
    }

    @Test func sharingThatEndsTakesTheAnnouncementsAlong() async throws {
        let home = try await Self.home()
        try await home.withAgent { agent in
            try await agent.changes.edit { _ in [.unshareFolder(Self.docs, Self.phone)] }
            #expect(try await agent.index.knownDevices() == [Self.docs: [Self.nas], Self.photos: [Self.nas]])
            #expect(try await agent.index.global(Self.docs, "of \(Self.phone.shortID)") == nil)
            // Shared again, it is asked for its index from the start.
            try await agent.changes.edit { _ in [.shareFolder(Self.docs, Self.phone)] }
            #expect(try await agent.index.remoteIndex(of: Self.docs, device: Self.phone) == nil)
        }
        try home.file.apply([.unshareFolder(Self.photos, Self.nas)])
        try await home.withAgent { agent in
            let known = try await agent.index.knownDevices()
            #expect(known[Self.photos] == [])
        }
    }

    /// A part of an index that was being stored when sharing ended does not stay.
    @Test func whatComesTooLateIsForgotten() async throws {
        let home = try await Self.home()
        try await home.withAgent { agent in
            let exchange = try #require(agent.folders.folder(Self.docs)?.exchange)
            try await agent.changes.edit { _ in [.unshareFolder(Self.docs, Self.phone)] }
            let late = FileInfo(
                name: "late", kind: .directory, version: VersionVector([.init(id: Self.phone.shortID, value: 2)]),
                sequence: 2)
            try await exchange.apply(IndexBatch(folder: Self.docs, files: [late], isFullIndex: false), from: Self.phone)
            #expect(try await agent.index.global(Self.docs, "late") == nil)
            #expect(try await agent.index.knownDevices()[Self.docs] == [Self.nas])
        }
    }
}
