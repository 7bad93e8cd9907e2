import BlockExchange
import Testing
import Transport

@testable import SyncDecisions

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
                                local: me, peer: other, active: LinkChoice.Link(kind: .tcp, isOurs: seesOwnFirst),
                                new: LinkChoice.Link(kind: .tcp, isOurs: !seesOwnFirst), peerKnowsRule: true)
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
                    local: Self.devices[0], peer: Self.devices[1],
                    active: LinkChoice.Link(kind: .tcp, isOurs: isOurs),
                    new: LinkChoice.Link(kind: .tcp, isOurs: isOurs), peerKnowsRule: knowsRule)
                #expect(choice == .replace)
            }
        }
    }

    @Test func aSyncthingPeerDecidesForItself() {
        let choice = LinkChoice.decide(
            local: Self.devices[0], peer: Self.devices[1], active: LinkChoice.Link(kind: .tcp, isOurs: true),
            new: LinkChoice.Link(kind: .tcp, isOurs: false), peerKnowsRule: false)
        #expect(choice == .wait)
    }

    /// Whoever dialled, whoever the peer is: both ends see the same two kinds, so both keep the same link.
    @Test func aBetterKindTakesOver() {
        let order: [LinkKind] = [.tcp, .l2cap, .gatt, .virtual]
        for (rank, better) in order.enumerated() {
            for worse in order[(rank + 1)...] {
                for (isOurs, knowsRule) in [(true, true), (true, false), (false, true), (false, false)] {
                    func choice(_ active: LinkKind, _ new: LinkKind) -> LinkChoice {
                        LinkChoice.decide(
                            local: Self.devices[0], peer: Self.devices[1],
                            active: LinkChoice.Link(kind: active, isOurs: isOurs),
                            new: LinkChoice.Link(kind: new, isOurs: !isOurs), peerKnowsRule: knowsRule)
                    }
                    #expect(choice(worse, better) == .replace)
                    #expect(choice(better, worse) == .refuse)
                }
            }
        }
    }

    @Test func backoffDoublesToAMinuteAndStartsAnew() {
        var backoff = DialBackoff()
        #expect((0..<8).map { _ in backoff.failed(random: 0).components.seconds } == [1, 2, 4, 8, 16, 32, 60, 60])
        #expect(backoff.failed(random: 0.999) < .seconds(75))
        backoff.succeeded()
        #expect(backoff.failed(random: 0) == .seconds(1))
    }

    @Test func linksAreRefusedForLongerAndLongerWhileNothingCanBeStored() {
        var backoff = StorageBackoff()
        #expect(backoff.pause(at: .seconds(100)) == nil)
        var now: MonotonicTime = .seconds(100)
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            backoff.failed(at: now, random: 0)
            #expect(backoff.pause(at: now) == .seconds(pause))
            now += .seconds(pause)
            #expect(backoff.pause(at: now - .milliseconds(1)) == .milliseconds(1))
            #expect(backoff.pause(at: now) == nil)
        }
        // Asked for, one link is let in at once; if that is in vain, the pauses go on where they were.
        backoff.failed(at: now, random: 0)
        backoff.asked()
        #expect(backoff.pause(at: now) == nil)
        backoff.failed(at: now, random: 0)
        #expect(backoff.pause(at: now) == .seconds(60))
        backoff.stored()
        #expect(backoff.pause(at: now) == nil)
        backoff.failed(at: now, random: 0)
        #expect(backoff.pause(at: now) == .seconds(1))
    }
}
