import BlockExchange
import Cryptography
import Testing

@testable import SyncDecisions

@Suite struct RenameRuleTests {
    private static let digest = SHA256.digest([1])
    private static let request = RenameRequest(
        folder: FolderID("f"), from: "a", to: "b", nameCount: 3, digest: digest)

    @Test(
        arguments: [
            (\RenameRule.Standing.mayChange, RenameAnswer.Outcome.notAllowed), (\.areNamesGood, .badName),
            (\.isReady, .busy), (\.isInTime, .busy),
        ] as [(WritableKeyPath<RenameRule.Standing, Bool> & Sendable, RenameAnswer.Outcome)])
    func beforeAnythingIsLookedAt(
        _ fault: WritableKeyPath<RenameRule.Standing, Bool> & Sendable, _ outcome: RenameAnswer.Outcome
    ) {
        #expect(RenameRule.objection(RenameRule.Standing()) == nil)
        var standing = RenameRule.Standing()
        standing[keyPath: fault] = false
        #expect(RenameRule.objection(standing) == outcome)
        // Who may not change the folder learns nothing else of it.
        standing.mayChange = false
        #expect(RenameRule.objection(standing) == .notAllowed)
    }

    struct Sight: Sendable {
        var count: Int64? = 3
        var isDigestRight = true
        var isWhole = true
        var isKept = true
        var isOpen = false
        var isTaken = false
        var hasDirectory = true
        var outcome: RenameAnswer.Outcome?
    }

    @Test(arguments: [
        Sight(outcome: nil),
        Sight(count: nil, outcome: .tooMany),
        Sight(count: Int64(RenameRule.nameLimit) + 1, outcome: .tooMany),
        Sight(count: 4, outcome: .changed),
        Sight(isDigestRight: false, outcome: .changed),
        Sight(isWhole: false, outcome: .incomplete),
        Sight(isKept: false, outcome: .badName),
        Sight(isOpen: true, outcome: .busy),
        Sight(isTaken: true, outcome: .taken),
        Sight(hasDirectory: false, outcome: .taken),
        // Another state of it than the one that is meant comes before all that is wrong with it.
        Sight(isDigestRight: false, isWhole: false, isOpen: true, isTaken: true, outcome: .changed),
    ])
    func whatIsThere(_ sight: Sight) {
        let source = sight.count.map { count in
            var source = RenameRule.Source(
                nameCount: count, digest: sight.isDigestRight ? Self.digest : SHA256.digest([2]))
            (source.isWhole, source.isKept, source.isOpen) = (sight.isWhole, sight.isKept, sight.isOpen)
            return source
        }
        var target = RenameRule.Target()
        (target.isTaken, target.hasDirectory) = (sight.isTaken, sight.hasDirectory)
        #expect(RenameRule.objection(to: Self.request, source, target) == sight.outcome)
    }

    @Test func withoutADigestNothingIsMeant() {
        var request = Self.request
        request.digest = nil
        let source = RenameRule.Source(nameCount: 3, digest: Self.digest)
        #expect(RenameRule.objection(to: request, source, RenameRule.Target()) == .changed)
    }

    @Test func aQuotaIsEarnedBack() {
        var quota = RenameQuota()
        func taken(_ count: Int, at time: Duration) -> Int { (0..<count).count { _ in quota.take(at: time) } }
        #expect(taken(RenameQuota.burst + 9, at: .seconds(5)) == RenameQuota.burst)
        #expect(taken(1, at: .seconds(1)) == 0, "a clock that goes back gives nothing")
        #expect(taken(1000, at: .seconds(6)) == RenameQuota.perSecond)
        #expect(taken(1000, at: .seconds(86_400)) == RenameQuota.burst)
    }

    // MARK: asking

    private static let devices = (1...5).map { DeviceID(certificateDER: [UInt8($0)]) }

    /// What is done at first, and after each event.
    private static func course(_ devices: [DeviceID], _ events: [RenameAsking.Event]) -> [RenameAsking.Action] {
        var asking = RenameAsking(devices)
        return [asking.begin()] + events.map { asking.next(after: $0) }
    }

    @Test(
        arguments: [
            ([], []), ([.answered(.done)], [.done]),
            // Nobody knows what came of it: neither is another device asked, nor is anything copied.
            ([.noAnswer], [.unknown(devices[0])]),
            ([.notAsked, .answered(.done)], [.ask(devices[1]), .done]),
            (
                [.answered(.incomplete), .notAsked, .answered(.taken), .answered(.done)],
                [.ask(devices[1]), .ask(devices[2]), .nobody, .nobody]
            ),
        ] as [([RenameAsking.Event], [RenameAsking.Action])])
    func oneAfterTheOther(_ events: [RenameAsking.Event], _ actions: [RenameAsking.Action]) {
        #expect(Self.course(Self.devices, events) == [.ask(Self.devices[0])] + actions)
    }

    @Test(arguments: RenameAnswer.Outcome.allCases.filter { $0 != .done && $0 != .tooSoon })
    func whoRefusesIsFollowedByTheNext(_ outcome: RenameAnswer.Outcome) {
        #expect(Self.course(Self.devices, [.answered(outcome)]).last == .ask(Self.devices[1]))
        #expect(Self.course([], [.answered(outcome)]) == [.nobody, .nobody])
    }

    @Test func whoWasAskedTooOftenIsAskedAgain() {
        let (count, pause) = (RenameAsking.retryLimit, RenameAsking.retryPause)
        let actions = Self.course(
            Self.devices, Array(repeating: .answered(.tooSoon), count: count + 2))
        let again = Array(repeating: RenameAsking.Action.askAgain(Self.devices[0], after: pause), count: count)
        #expect(
            actions == [.ask(Self.devices[0])] + again + [
                .ask(Self.devices[1]), .askAgain(Self.devices[1], after: pause),
            ])
    }

    @Test func silenceIsRememberedForAWhile() {
        var breaker = RenameBreaker()
        breaker.failed(Self.devices[0], at: .seconds(10))
        #expect(!breaker.mayAsk(Self.devices[0], at: .seconds(39)))
        #expect(breaker.mayAsk(Self.devices[0], at: .seconds(40)))
        #expect(breaker.mayAsk(Self.devices[1], at: .seconds(10)))
        breaker.answered(Self.devices[0])
        #expect(breaker.mayAsk(Self.devices[0], at: .seconds(11)))
    }
}
