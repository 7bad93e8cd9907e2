import AgentConfiguration
import BlockExchange
import LinkRules
import Testing

@testable import PeerLinks

/// What one device tells of another, and what becomes of it there.
@Suite struct ClusterConfigTests {
    private static let me = DeviceID(certificateDER: Array("me".utf8))
    private static let friend = DeviceID(certificateDER: Array("friend".utf8))
    private static let other = DeviceID(certificateDER: Array("other".utf8))
    private static let folder = FolderID("f")

    @Test func saysWhatTheConfigurationSays() {
        let relay = "relay://192.0.2.1:22067/?id=\(Self.other)"
        var configuration = DeviceConfiguration(
            id: Self.friend, name: "friend",
            addresses: [
                "dynamic", "tcp://192.0.2.7:22000", relay + "&token=geheim", "ble://AA:BB:CC:DD:EE:FF", "virtual://x",
            ])
        var device = ClusterConfig.Device(id: Self.friend, maxSequence: 3, indexID: IndexID(rawValue: 9))
        device.describe(configuration)
        #expect(
            device
                == ClusterConfig.Device(
                    id: Self.friend, name: "friend", addresses: ["dynamic", "tcp://192.0.2.7:22000", relay],
                    maxSequence: 3, indexID: IndexID(rawValue: 9)))
        configuration.isIntroducer = true
        configuration.skipsIntroductionRemovals = true
        device.describe(configuration)
        #expect(device.isIntroducer && !device.skipsIntroductionRemovals)
    }

    /// Two that introduce for each other see so, and neither takes anything back.
    @Test func aMutualIntroducerIsSeen() {
        var described = ClusterConfig.Device(id: Self.me)
        var mine = DeviceConfiguration(id: Self.me, name: "you")
        mine.isIntroducer = true
        described.describe(mine)
        var added = ClusterConfig.Device(id: Self.other)
        added.describe(DeviceConfiguration(id: Self.other, name: "other", addresses: ["tcp://192.0.2.7:22000"]))
        let rule = IntroducerRule(
            local: Self.me, devices: [.init(Self.friend, isIntroducer: true)],
            folders: [.init(Self.folder, shares: [.init(Self.friend)])])
        let outcome = rule.outcome(
            of: ClusterConfig(folders: [.init(id: Self.folder, devices: [described, added])]), from: Self.friend,
            isComplete: true)
        #expect(outcome.remarks == [.mutualIntroducers])
        guard case .addDevice(let device)? = outcome.changes.first else {
            Issue.record("nobody was added")
            return
        }
        #expect(device.name == "other" && device.addresses == ["dynamic", "tcp://192.0.2.7:22000"])
    }
}
