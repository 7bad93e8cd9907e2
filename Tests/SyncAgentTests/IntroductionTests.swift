import AgentConfiguration
import BlockExchange
import Testing

@testable import SyncAgent

@Suite struct IntroductionTests {
    static let me = DeviceID(certificateDER: Array("me".utf8))
    static let admin = DeviceID(certificateDER: Array("admin".utf8))
    static let friend = DeviceID(certificateDER: Array("friend".utf8))
    static let other = DeviceID(certificateDER: Array("other".utf8))

    static func configuration(
        devices: [DeviceConfiguration] = [], folderDevices: [DeviceID] = [], isAdmin: Bool = true
    ) -> Configuration {
        var folder = FolderConfiguration(id: FolderID("f"), path: "/f", devices: [admin] + folderDevices)
        if isAdmin { folder.admins = [admin] }
        return Configuration(
            name: "me", devices: [DeviceConfiguration(id: admin)] + devices, folders: [folder])
    }

    static func says(_ devices: [DeviceID], folder: String = "f") -> ClusterConfig {
        ClusterConfig(folders: [
            ClusterConfig.Folder(
                id: FolderID(folder),
                devices: ([me, admin] + devices).map { ClusterConfig.Device(id: $0, name: "n\n") })
        ])
    }

    static func after(_ configuration: Configuration, _ config: ClusterConfig) throws -> Configuration {
        try Introductions(admin: admin, localDevice: me, configuration: configuration).edits(for: config)
            .reduce(configuration) { try $1.applied(to: $0) }
    }

    static func introduced(_ device: DeviceID) -> DeviceConfiguration {
        DeviceConfiguration(id: device, name: "n", introducedBy: admin)
    }

    @Test func namedDevicesAreAddedAndShareTheFolder() throws {
        let result = try Self.after(Self.configuration(), Self.says([Self.friend, Self.other]))
        #expect(result.folders[0].devices == [Self.admin, Self.friend, Self.other])
        #expect(result.devices.dropFirst() == [Self.introduced(Self.friend), Self.introduced(Self.other)])
        #expect(try Self.after(result, Self.says([Self.friend, Self.other])) == result)
    }

    @Test func whoAndWhatIsIgnoredIsNotAdded() throws {
        var configuration = Self.configuration()
        configuration.ignored.devices = [Self.friend]
        let result = try Self.after(configuration, Self.says([Self.friend, Self.other]))
        #expect(result.folders[0].devices == [Self.admin, Self.other])
        let offer = Self.says([], folder: "g")
        func offers(_ ignored: [IgnoredFolder]) -> [FolderID] {
            var configuration = Self.configuration()
            configuration.ignored.folders = ignored
            return Introductions(admin: Self.admin, localDevice: Self.me, configuration: configuration)
                .offers(in: offer, declined: [], place: "/p").map(\.id)
        }
        #expect(offers([]) == [FolderID("g")])
        #expect(offers([IgnoredFolder(FolderID("g"))]).isEmpty)
        #expect(offers([IgnoredFolder(FolderID("g"), from: Self.admin)]).isEmpty)
        #expect(offers([IgnoredFolder(FolderID("g"), from: Self.friend)]) == [FolderID("g")])
    }

    @Test func whatIsNamedNoLongerGoesIfItWasIntroduced() throws {
        let mine = DeviceConfiguration(id: Self.other, name: "mine")
        let before = Self.configuration(
            devices: [Self.introduced(Self.friend), mine], folderDevices: [Self.friend, Self.other])
        let result = try Self.after(before, Self.says([]))
        #expect(result.folders[0].devices == [Self.admin, Self.other])
        #expect(result.devices.map(\.id) == [Self.admin, Self.other])
        // A config that does not speak of the folder takes nothing away.
        #expect(try Self.after(before, ClusterConfig()) == before)
    }

    /// A device that the admin shares the folder with encrypted must not get it unencrypted from here.
    @Test func whoMayNotReadTheFolderIsNotIntroduced() throws {
        var says = Self.says([Self.friend, Self.other])
        says.folders[0].devices[2].encryptionPasswordToken = [1, 2, 3]
        let result = try Self.after(Self.configuration(), says)
        #expect(result.folders[0].devices == [Self.admin, Self.other])
        #expect(result.devices.map(\.id) == [Self.admin, Self.other])
        // It was introduced before the admin began to encrypt for it.
        let before = Self.configuration(devices: [Self.introduced(Self.friend)], folderDevices: [Self.friend])
        #expect(try Self.after(before, says).folders[0].devices == [Self.admin, Self.other])
    }

    @Test func whatTheUserHasSetStays() throws {
        let mine = DeviceConfiguration(id: Self.friend, name: "mine", addresses: ["tcp://192.0.2.1:1"])
        let result = try Self.after(Self.configuration(devices: [mine]), Self.says([Self.friend]))
        #expect(result.devices[1] == mine)
        #expect(result.folders[0].devices == [Self.admin, Self.friend])
    }

    /// An introducer says nothing anew because something has changed here: what it said last is heeded again.
    @Test func whoIsFollowedInMoreIsHeardAgain() {
        func configuration(isIntroducer: Bool, _ folders: [String], _ others: [DeviceID] = []) -> Configuration {
            var device = DeviceConfiguration(id: Self.admin)
            device.isIntroducer = isIntroducer
            return Configuration(
                name: "me", devices: [device, DeviceConfiguration(id: Self.friend)],
                folders: folders.map {
                    FolderConfiguration(id: FolderID($0), path: "/\($0)", devices: [Self.admin, Self.friend] + others)
                })
        }
        func gaining(_ old: Configuration, _ new: Configuration) -> Set<DeviceID> {
            FollowedDevices.gaining(from: old, to: new)
        }
        let one = configuration(isIntroducer: true, ["f"])
        #expect(gaining(one, one).isEmpty)
        #expect(gaining(configuration(isIntroducer: false, ["f"]), one) == [Self.admin])
        #expect(gaining(one, configuration(isIntroducer: true, ["f", "g"])) == [Self.admin])
        #expect(
            gaining(configuration(isIntroducer: false, ["f"]), configuration(isIntroducer: false, ["f", "g"])).isEmpty)
        #expect(gaining(Self.configuration(isAdmin: false), Self.configuration()) == [Self.admin])
        // What it said counts for no more, and a device that a person has removed does not come back by that.
        #expect(gaining(configuration(isIntroducer: true, ["f"], [Self.other]), one).isEmpty)
        #expect(gaining(configuration(isIntroducer: true, ["f", "g"]), one).isEmpty)
    }

    @Test func whoIsNoAdminChangesNothing() throws {
        let before = Self.configuration(isAdmin: false)
        #expect(try Self.after(before, Self.says([Self.friend])) == before)
        let introductions = Introductions(admin: Self.admin, localDevice: Self.me, configuration: before)
        #expect(introductions.offers(in: Self.says([], folder: "g"), declined: [], place: "/p").isEmpty)
    }

    @Test func thereIsAnEndToWhatAnAdminAdds() throws {
        let many = (0..<300).map { DeviceID(certificateDER: Array("device \($0)".utf8)) }
        let result = try Self.after(Self.configuration(), Self.says(many))
        #expect(result.devices.count == 1 + Introductions.deviceLimit)
        var config = ClusterConfig()
        config.folders = (0..<300).flatMap { Self.says([], folder: "g\($0)").folders }
        let offers = Introductions(admin: Self.admin, localDevice: Self.me, configuration: Self.configuration())
            .offers(in: config, declined: [], place: "/p")
        #expect(offers.count == Introductions.folderLimit)
    }

    @Test func offeredFoldersGetADirectoryOfTheirOwn() {
        func taken(_ folder: String, label: String = "", declined: Set<FolderID> = []) -> [FolderConfiguration] {
            var config = Self.says([Self.friend], folder: folder)
            config.folders[0].label = label
            return Introductions(admin: Self.admin, localDevice: Self.me, configuration: Self.configuration())
                .offers(in: config, declined: declined, place: "/home/me/Sync")
        }
        #expect(taken("f").isEmpty)
        #expect(taken("g", declined: [FolderID("g")]).isEmpty)
        let folder = taken("abc-def", label: "Photos")
        #expect(folder.map(\.path) == ["/home/me/Sync/Photos"] && folder.map(\.mode) == [.selective])
        #expect(folder.map(\.devices) == [[Self.admin]])
        #expect(taken("abc-def", label: "../x").map(\.path) == ["/home/me/Sync/abc-def"])
        #expect(taken("a/b", label: ".ssh").isEmpty)
    }

    /// What this machine alone reaches, and radios, are not for others to name.
    @Test func onlyAddressesThatOthersMayNameAreTaken() throws {
        var config = Self.says([])
        config.folders[0].devices.append(
            ClusterConfig.Device(
                id: Self.friend,
                addresses: ["tcp://127.0.0.1:22000", "ble://AA:BB:CC:DD:EE:FF", "tcp://192.0.2.7:22000"]))
        let result = try Self.after(Self.configuration(), config)
        #expect(result.devices.last?.addresses == ["dynamic", "tcp://192.0.2.7:22000"])
    }

    /// Nobody takes back what the user has paired with, and where the introducer said that it is no longer counts.
    @Test func whoIsPairedIsTheUsersOwn() throws {
        let introduced = DeviceConfiguration(
            id: Self.friend, addresses: ["dynamic", "tcp://nas.example:22000"], introducedBy: Self.admin)
        let configuration = Self.configuration(devices: [introduced])
        let paired = DeviceConfiguration(id: Self.friend, addresses: ["dynamic", "tcp://192.0.2.7:22000"])
        let result = try configuration.edits(storing: paired).reduce(configuration) { try $1.applied(to: $0) }
        #expect(result.devices.last == paired)
        #expect(result.edits(storing: paired).isEmpty)
    }

    /// One device may be an admin of a folder and an introducer.
    @Test func anAdminThatIsAnIntroducerIsFollowedOnce() throws {
        var configuration = Self.configuration()
        configuration.devices[0].isIntroducer = true
        configuration.folders.append(FolderConfiguration(id: FolderID("g"), path: "/g", devices: [Self.admin]))
        func hear(_ config: ClusterConfig) throws {
            let word = IntroductionInbox.Word(config: config, isComplete: true)
            configuration = try AdminFollower.edits(for: word, from: Self.admin, of: Self.me, configuration).edits
                .reduce(configuration) { try $1.applied(to: $0) }
        }
        var says = Self.says([Self.friend])
        // Of a folder in which it is not an admin it says so as an introducer.
        says.folders += Self.says([Self.friend, Self.other], folder: "g").folders
        try hear(says)
        #expect(configuration.devices.map(\.id) == [Self.admin, Self.friend, Self.other])
        #expect(
            configuration.folders.map(\.devices) == [
                [Self.admin, Self.friend], [Self.admin, Self.friend, Self.other],
            ])
        let before = configuration
        try hear(says)
        #expect(configuration == before)
        try hear(ClusterConfig(folders: ["f", "g"].flatMap { Self.says([], folder: $0).folders }))
        #expect(configuration.devices.map(\.id) == [Self.admin])
        #expect(configuration.folders.map(\.devices) == [[Self.admin], [Self.admin]])
    }

    /// Who shared a folder with a device ends that, whoever introduced the device.
    @Test(arguments: [true, false]) func aDeviceThatAnotherIntroducedGoesFromTheFolder(isIntroduced: Bool) throws {
        let friend = isIntroduced ? Self.introduced(Self.friend) : DeviceConfiguration(id: Self.friend, name: "mine")
        var configuration = Self.configuration(
            devices: [friend, DeviceConfiguration(id: Self.other)], folderDevices: [Self.friend])
        var folder = FolderConfiguration(id: FolderID("g"), path: "/g", devices: [Self.other])
        folder.admins = [Self.other]
        configuration.folders.append(folder)
        func hear(_ devices: [DeviceID]) throws {
            let named = ([Self.me, Self.other] + devices).map { ClusterConfig.Device(id: $0) }
            let says = ClusterConfig(folders: [ClusterConfig.Folder(id: FolderID("g"), devices: named)])
            configuration = try Introductions(admin: Self.other, localDevice: Self.me, configuration: configuration)
                .edits(for: says).reduce(configuration) { try $1.applied(to: $0) }
        }
        try hear([Self.friend])
        #expect(configuration.folders.map(\.devices) == [[Self.admin, Self.friend], [Self.other, Self.friend]])
        try hear([])
        #expect(configuration.folders[0].devices == [Self.admin, Self.friend])
        // Devices of the user's own keep their folders.
        #expect(configuration.folders[1].devices == (isIntroduced ? [Self.other] : [Self.other, Self.friend]))
        #expect(configuration.devices.map(\.id) == [Self.admin, Self.friend, Self.other])
    }
}
