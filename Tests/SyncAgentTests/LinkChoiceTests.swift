import Testing

@testable import SyncAgent

@Suite struct LinkChoiceTests {
    static let devices = (0..<12).map { BlockSchedulerTests.device(UInt8($0)) }

    /// Two devices dial each other at the same moment. Each sees the two links come up in either order, and both must
    /// keep the same one.
    @Test func crossingDialsSettleOnOneLink() {
        for left in Self.devices {
            for right in Self.devices where left != right {
                for leftSeesOwnFirst in [true, false] {
                    for rightSeesOwnFirst in [true, false] {
                        func survivorIsOurs(_ local: Int, seesOwnFirst: Bool) -> Bool {
                            let (me, other) = local == 0 ? (left, right) : (right, left)
                            let choice = LinkChoice.decide(
                                local: me, peer: other, activeIsOurs: seesOwnFirst, newIsOurs: !seesOwnFirst,
                                peerKnowsRule: true)
                            return choice == .replace ? !seesOwnFirst : seesOwnFirst
                        }
                        let leftKeepsOwn = survivorIsOurs(0, seesOwnFirst: leftSeesOwnFirst)
                        let rightKeepsOwn = survivorIsOurs(1, seesOwnFirst: rightSeesOwnFirst)
                        #expect(leftKeepsOwn != rightKeepsOwn)
                        #expect(leftKeepsOwn == (left < right))
                    }
                }
            }
        }
    }

    @Test func aSecondDialBySameSideReplacesTheFirst() {
        for isOurs in [true, false] {
            for knowsRule in [true, false] {
                let choice = LinkChoice.decide(
                    local: Self.devices[0], peer: Self.devices[1], activeIsOurs: isOurs, newIsOurs: isOurs,
                    peerKnowsRule: knowsRule)
                #expect(choice == .replace)
            }
        }
    }

    @Test func aSyncthingPeerDecidesForItself() {
        let choice = LinkChoice.decide(
            local: Self.devices[0], peer: Self.devices[1], activeIsOurs: true, newIsOurs: false, peerKnowsRule: false)
        #expect(choice == .wait)
    }

    @Test func backoffDoublesToAMinuteAndStartsAnew() {
        var backoff = DialBackoff()
        #expect((0..<8).map { _ in backoff.failed(random: 0).components.seconds } == [1, 2, 4, 8, 16, 32, 60, 60])
        #expect(backoff.failed(random: 0.999) < .seconds(75))
        backoff.succeeded()
        #expect(backoff.failed(random: 0) == .seconds(1))
    }
}
