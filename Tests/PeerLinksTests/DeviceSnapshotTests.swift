import AgentConfiguration
import AgentContext
import BlockExchange
import SyncDecisions
import Testing
import Transport

@testable import LinkRules
@testable import PeerLinks

/// What is said of a device that has no link.
@Suite struct DeviceSnapshotTests {
    private static let device = DeviceID(certificateDER: [2])

    private static func snapshot(_ addresses: [String] = ["dynamic"]) -> DeviceSession.Snapshot {
        DeviceSession.Snapshot(
            DeviceConfiguration(id: device, name: "nas", addresses: addresses),
            lastSeen: WallTime(seconds: 1_700_000_000))
    }

    @Test func theStatusHasWhatIsKnown() {
        var snapshot = Self.snapshot()
        (snapshot.pastBytesIn, snapshot.pastBytesOut, snapshot.lastError) = (5, 6, "no answer")
        let status = snapshot.status(of: Self.device, links: [])
        #expect(status.id == Self.device.description && status.name == "nas" && !status.isConnected)
        #expect(status.bytesIn == 5 && status.bytesOut == 6 && status.lastError == "no answer")
        #expect(status.lastSeen == "2023-11-14T22:13:20Z" && status.transport == nil)
    }

    @Test func theReportIsInOrder() {
        var snapshot = Self.snapshot()
        let time = WallTime(seconds: 0)
        snapshot.ways = [
            "tcp://b:1": DialReport(message: "refused", time: time, source: .global),
            "tcp://a:1": DialReport(message: "no answer", time: time, source: .configured),
        ]
        snapshot.obstacles = ["relay://c:1": .relaysOff]
        let links = ["tcp://z:1", "tcp://y:1"].map {
            DeviceSession.LinkInUse(kind: .tcp, way: .localTCP, address: $0)
        }
        let report = snapshot.reachReport(of: Self.device, links: links)
        #expect(report.links == ["tcp tcp://y:1", "tcp tcp://z:1"])
        #expect(report.failures.map(\.address) == ["tcp://a:1", "tcp://b:1"])
        #expect(report.failures.map(\.source) == ["configured", "global"])
        #expect(report.untried.map(\.address) == ["relay://c:1"])
    }

    @Test func onlyWhatARadioReachesIsACandidate() throws {
        #expect(Self.snapshot(["tcp://a:1"]).radioCandidate(at: .zero) == nil)
        var snapshot = Self.snapshot(["tcp://a:1", "ble://AA:BB:CC:DD:EE:FF"])
        snapshot.radio.sought(at: .seconds(1))
        let candidate = try #require(snapshot.radioCandidate(at: .seconds(2)))
        #expect(candidate.addresses == [.bluetooth("AA:BB:CC:DD:EE:FF")])
        #expect(candidate.isSought && !candidate.isConnected && candidate.unseen == nil)
    }
}
