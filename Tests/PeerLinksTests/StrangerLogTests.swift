import BlockExchange
import Testing

@testable import PeerLinks

@Suite struct StrangerLogTests {
    private static func device(_ number: Int) -> DeviceID {
        DeviceID(certificateDER: Array("stranger \(number)".utf8))
    }

    @Test func aDeviceIsNamedOnceAnHour() {
        var log = StrangerLog()
        let named = [0, 1, 3599, 3600, 3601].map { log.names(Self.device(1), at: .seconds($0)) }
        #expect(named == [true, false, false, true, false])
        let other = log.names(Self.device(2), at: .seconds(3601))
        #expect(other)
    }

    @Test func moreDevicesThanTheLimitAreNotNamed() {
        var log = StrangerLog()
        let named = (0..<StrangerLog.limit + 50).count { log.names(Self.device($0), at: .seconds(1)) }
        #expect(named == StrangerLog.limit)
        let early = log.names(Self.device(1000), at: .seconds(3600))
        let late = log.names(Self.device(1000), at: .seconds(3601))
        #expect(!early && late)
    }
}
