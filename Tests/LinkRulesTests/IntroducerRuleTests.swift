import BlockExchange
import SyncTestKit
import Testing

@testable import LinkRules

@Suite struct IntroducerRuleTests {
    typealias Rule = IntroducerRule

    static let us = Fixture.device(1)
    static let introducer = Fixture.device(2)
    static let third = Fixture.device(3)
    static let fourth = Fixture.device(4)
    static let photos = FolderID("photos")
    static let music = FolderID("music")

    static func listed(
        _ id: DeviceID, name: String = "", addresses: [String] = ["dynamic"], isIntroducer: Bool = false,
        token: [UInt8] = []
    ) -> ClusterConfig.Device {
        ClusterConfig.Device(
            id: id, name: name, addresses: addresses, isIntroducer: isIntroducer, encryptionPasswordToken: token)
    }

    /// What the introducer says of folders, each with it and this device in it.
    static func config(_ folders: [FolderID: [ClusterConfig.Device]], paused: Set<FolderID> = []) -> ClusterConfig {
        ClusterConfig(
            folders: folders.sorted { $0.key < $1.key }.map { id, devices in
                ClusterConfig.Folder(
                    id: id, stopReason: paused.contains(id) ? 1 : 0,
                    devices: [listed(us), listed(introducer)] + devices)
            })
    }

    static func rule(
        _ devices: [Rule.Device] = [], shares: [Rule.Share] = [], skipsRemovals: Bool = false,
        isUntrusted: Bool = false,
        isReceiveEncrypted: Bool = false, isIntroducer: Bool = true, folders: [Rule.Folder] = []
    ) -> Rule {
        let own = Rule.Device(
            introducer, isIntroducer: isIntroducer, skipsRemovals: skipsRemovals, isUntrusted: isUntrusted)
        let folder = Rule.Folder(
            photos, shares: [Rule.Share(introducer)] + shares, isReceiveEncrypted: isReceiveEncrypted)
        return Rule(local: us, devices: [own] + devices, folders: [folder] + folders)
    }

    static func outcome(_ rule: Rule, _ config: ClusterConfig, isComplete: Bool = true) -> Rule.Outcome {
        rule.outcome(of: config, from: introducer, isComplete: isComplete)
    }

    static func added(_ id: DeviceID, addresses: [String] = ["dynamic"], isIntroducer: Bool = false) -> Rule.Change {
        .addDevice(
            Rule.NewDevice(
                id: id, name: "", addresses: addresses, certificateName: "", isIntroducer: isIntroducer,
                skipsRemovals: false,
                introducedBy: introducer))
    }

    @Test func anUnknownDeviceIsAddedAndSharesTheFolder() {
        // [V19]: `dynamic` and the configured address; the introducer flag is passed on, the skip flag is not sent.
        let device = Self.listed(
            Self.third, addresses: ["dynamic", "tcp://192.0.2.7:22000"], isIntroducer: true)
        let outcome = Self.outcome(Self.rule(), Self.config([Self.photos: [device]]))
        #expect(
            outcome.changes == [
                Self.added(Self.third, addresses: ["dynamic", "tcp://192.0.2.7:22000"], isIntroducer: true),
                .share(Self.photos, Self.third, introducedBy: Self.introducer),
            ])
        #expect(outcome.remarks.isEmpty)
    }

    @Test func aFolderThatIsNotHereIntroducesNobody() {
        #expect(Self.outcome(Self.rule(), Self.config([Self.music: [Self.listed(Self.third)]])).changes.isEmpty)
    }

    /// It names a folder of this device's that the user has not shared with it.
    @Test func aFolderThatIsNotSharedWithTheIntroducerIsNotSharedWithAnybody() {
        let rule = Self.rule(folders: [
            Rule.Folder(Self.music, shares: [Rule.Share(Self.fourth, introducedBy: Self.introducer)])
        ])
        let config = Self.config([Self.photos: [], Self.music: [Self.listed(Self.third), Self.listed(Self.fourth)]])
        #expect(Self.outcome(rule, config).changes.isEmpty)
    }

    @Test func aKnownDeviceOnlySharesTheFolder() {
        let config = Self.config([Self.photos: [Self.listed(Self.third, name: "other")]])
        let share = Rule.Change.share(Self.photos, Self.third, introducedBy: Self.introducer)
        #expect(Self.outcome(Self.rule([Rule.Device(Self.third)]), config).changes == [share])
        let shared = Self.rule([Rule.Device(Self.third)], shares: [Rule.Share(Self.third)])
        #expect(Self.outcome(shared, config).changes.isEmpty)
    }

    @Test func onlyATrustedIntroducerIsFollowed() {
        let config = Self.config([Self.photos: [Self.listed(Self.third)]])
        #expect(Self.outcome(Self.rule(isIntroducer: false), config) == Rule.Outcome())
        #expect(Self.outcome(Self.rule(isUntrusted: true), config) == Rule.Outcome())
        #expect(Self.rule().outcome(of: config, from: Self.fourth, isComplete: true) == Rule.Outcome())
    }

    @Test func anEncryptedShareNeedsAPassword() {
        let config = Self.config([Self.photos: [Self.listed(Self.third, token: [1, 2])]])
        let outcome = Self.outcome(Self.rule(), config)
        // As in Syncthing the device is added, and shares nothing.
        #expect(outcome.changes == [Self.added(Self.third)])
        #expect(outcome.remarks == [.needsPassword(Self.photos, Self.third)])
        let encrypted = Self.outcome(Self.rule(isReceiveEncrypted: true), config)
        #expect(
            encrypted.changes == [
                Self.added(Self.third), .share(Self.photos, Self.third, introducedBy: Self.introducer),
            ])
    }

    private static let introduced = rule(
        [Rule.Device(third, introducedBy: introducer)], shares: [Rule.Share(third, introducedBy: introducer)])

    @Test func whatIsListedNoMoreIsTakenBack() {
        let gone: [Rule.Change] = [.unshare(Self.photos, Self.third), .removeDevice(Self.third)]
        // The introducer unshares, or removes the folder, or shares nothing any more.
        #expect(Self.outcome(Self.introduced, Self.config([Self.photos: []])).changes == gone)
        #expect(Self.outcome(Self.introduced, Self.config([Self.music: []])).changes == gone)
        #expect(Self.outcome(Self.introduced, ClusterConfig()).changes == gone)
        // It only pauses.
        let paused = Self.config([Self.photos: [Self.listed(Self.third)]], paused: [Self.photos])
        #expect(Self.outcome(Self.introduced, paused).changes.isEmpty)
    }

    @Test func whatIsTheUsersOwnStays() {
        let nothing = Self.config([Self.photos: []])
        // The user's share of an introduced device.
        let ownShare = Self.rule(
            [Rule.Device(Self.third, introducedBy: Self.introducer)], shares: [Rule.Share(Self.third)])
        #expect(Self.outcome(ownShare, nothing).changes.isEmpty)
        // An introduced share of the user's device.
        let ownDevice = Self.rule(
            [Rule.Device(Self.third)], shares: [Rule.Share(Self.third, introducedBy: Self.introducer)])
        #expect(Self.outcome(ownDevice, nothing).changes == [.unshare(Self.photos, Self.third)])
        // A share that another introducer brought.
        let other = Self.rule(
            [Rule.Device(Self.third, introducedBy: Self.introducer)],
            folders: [Rule.Folder(Self.music, shares: [Rule.Share(Self.third, introducedBy: Self.fourth)])])
        #expect(Self.outcome(other, nothing).changes.isEmpty)
        // A device that another brought.
        let others = Self.rule([Rule.Device(Self.third, introducedBy: Self.fourth)])
        #expect(Self.outcome(others, nothing).changes.isEmpty)
    }

    @Test func aDeviceStaysWithItsLastFolder() {
        var rule = Self.introduced
        rule.folders.append(
            Rule.Folder(
                Self.music,
                shares: [Rule.Share(Self.introducer), Rule.Share(Self.third, introducedBy: Self.introducer)]))
        let config = Self.config([Self.photos: [], Self.music: [Self.listed(Self.third)]])
        #expect(Self.outcome(rule, config).changes == [.unshare(Self.photos, Self.third)])
    }

    @Test func nothingIsTakenBackWhereThatIsNotMeant() {
        let nothing = Self.config([Self.photos: []])
        var skipping = Self.introduced
        skipping.devices[0].skipsRemovals = true
        #expect(Self.outcome(skipping, nothing).changes.isEmpty)
        // Over Bluetooth a synctrain leaves folders out.
        #expect(Self.outcome(Self.introduced, nothing, isComplete: false).changes.isEmpty)
        // A secondary ClusterConfig has no folders at all.
        #expect(Self.outcome(Self.introduced, ClusterConfig(isSecondary: true)) == Rule.Outcome())
    }

    @Test func ofTwoThatFollowEachOtherNeitherTakesBack() {
        var config = Self.config([Self.photos: [Self.listed(Self.fourth)]])
        config.folders[0].devices[0].isIntroducer = true
        let outcome = Self.outcome(Self.introduced, config)
        #expect(outcome.remarks == [.mutualIntroducers])
        #expect(
            outcome.changes == [
                Self.added(Self.fourth), .share(Self.photos, Self.fourth, introducedBy: Self.introducer),
            ])
    }

    @Test func aRemovedDeviceComesBack() {
        // [V19]: removed by hand, it is introduced at the next ClusterConfig.
        let config = Self.config([Self.photos: [Self.listed(Self.third)]])
        #expect(Self.outcome(Self.rule(), config).changes.contains(Self.added(Self.third)))
    }

    @Test func oneIntroducerBringsSoManyDevices() {
        let many = (0..<60_000).map { number -> ClusterConfig.Device in
            Self.listed(DeviceID(certificateDER: withUnsafeBytes(of: number.bigEndian) { Array($0) }))
        }
        let outcome = Self.outcome(Self.rule(), Self.config([Self.photos: many]))
        let added = outcome.changes.count { if case .addDevice = $0 { true } else { false } }
        #expect(added == Rule.deviceLimit)
        #expect(outcome.changes.count == 2 * Rule.deviceLimit)
        #expect(outcome.remarks == [.tooManyDevices])
        // Known devices that are listed do not count.
        let known = Self.rule(
            (0..<100).map { Rule.Device(Fixture.device(UInt8(100 + $0)), introducedBy: Self.introducer) })
        #expect(Self.outcome(known, Self.config([Self.photos: [Self.listed(Self.third)]])).remarks == [.tooManyDevices])
    }

    @Test func whatItSaysOfADeviceIsCutToWhatAConfigurationBears() throws {
        let addresses =
            [
                "dynamic", "tcp://127.0.0.1:22000", "tcp://0.0.0.0:1", "ble://AA:BB:CC:DD:EE:FF", "quic://8.8.8.8:1",
                "tcp://192.168.1.1:80", "\u{7}",
            ]
            + (1...9).map { "tcp://8.8.8.\($0):22000" }
        let name = "NAS\u{1B}[2J\u{202E}\n" + String(repeating: "é", count: 200)
        let device = Self.listed(Self.third, name: name, addresses: addresses)
        let outcome = Self.outcome(Self.rule(), Self.config([Self.photos: [device]]))
        guard case .addDevice(let added)? = outcome.changes.first else {
            Issue.record("no device was added")
            return
        }
        #expect(added.addresses == ["dynamic"] + (1...4).map { "tcp://8.8.8.\($0):22000" })
        #expect(added.name.hasPrefix("NAS[2Jé"))
        #expect(added.name.utf8.count <= Rule.nameByteCount)
        #expect(added.name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E })
    }

    private static func apply(_ outcome: Rule.Outcome, to rule: inout Rule) {
        for change in outcome.changes {
            switch change {
            case .addDevice(let device):
                rule.devices.append(
                    Rule.Device(device.id, introducedBy: device.introducedBy, isIntroducer: device.isIntroducer))
            case .share(let folder, let device, let introducer):
                let index = rule.folders.firstIndex { $0.id == folder }!
                rule.folders[index].shares.append(Rule.Share(device, introducedBy: introducer))
            case .unshare(let folder, let device):
                let index = rule.folders.firstIndex { $0.id == folder }!
                rule.folders[index].shares.removeAll { $0.device == device }
            case .removeDevice(let device):
                rule.devices.removeAll { $0.id == device }
                for index in rule.folders.indices { rule.folders[index].shares.removeAll { $0.device == device } }
            }
        }
    }

    /// Random configurations: what is applied once changes nothing the second time, what is the user's own stays, and every share is
    /// of a device that is there.
    @Test func followingTwiceChangesNothingMore() {
        for seed in 0..<500 {
            var random = SeededGenerator(seed: UInt64(seed))
            let pool = (3...12).map { Fixture.device(UInt8($0)) }
            let folders = [Self.photos, Self.music, FolderID("films")]
            let origins: [DeviceID?] = [nil, Self.introducer, Fixture.device(99)]
            let devices = pool.filter { _ in random.isOne(in: 2) }.map {
                Rule.Device($0, introducedBy: random.pick(origins))
            }
            var rule = Rule(
                local: Self.us, devices: [Rule.Device(Self.introducer, isIntroducer: true)] + devices,
                folders: folders.map { id in
                    Rule.Folder(
                        id,
                        shares: [Rule.Share(Self.introducer)]
                            + devices.filter { _ in random.isOne(in: 2) }.map {
                                Rule.Share($0.id, introducedBy: random.pick(origins))
                            })
                })
            let own = rule.devices.filter { $0.introducedBy != Self.introducer }
            var listed: [FolderID: [ClusterConfig.Device]] = [:]
            for folder in folders where !random.isOne(in: 3) {
                listed[folder] = pool.filter { _ in random.isOne(in: 2) }.map {
                    Self.listed($0, token: random.isOne(in: 5) ? [1] : [])
                }
            }
            let config = Self.config(listed)
            Self.apply(Self.outcome(rule, config), to: &rule)
            #expect(Self.outcome(rule, config).changes.isEmpty, "seed \(seed)")
            #expect(own.allSatisfy { device in rule.devices.contains(device) }, "seed \(seed)")
            let known = Set(rule.devices.map(\.id))
            #expect(rule.folders.allSatisfy { $0.shares.allSatisfy { known.contains($0.device) } }, "seed \(seed)")
        }
    }
}
