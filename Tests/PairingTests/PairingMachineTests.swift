import Cryptography
import Testing

@testable import Pairing

struct PairingMachineTests {
    @Test func bothSayYes() {
        var pair = Pair()
        pair.settle()
        #expect(pair.initiator.shown == pair.responder.shown)
        #expect(pair.initiator.shown.count == 1)
        pair.initiator.confirm()
        pair.settle()
        #expect(pair.responder.peerConfirmed == 1)
        #expect(pair.initiator.toStore == nil, "nothing is told before the responder's user has confirmed")
        pair.responder.confirm()
        pair.settle()
        pair.initiator.store()
        pair.responder.store()
        pair.settle()
        #expect(pair.initiator.stores == [Sample.desktop])
        #expect(pair.responder.stores == [Sample.laptop])
        #expect(pair.initiator.outcomes == [.paired(Sample.desktop, isMutual: true)])
        #expect(pair.responder.outcomes == [.paired(Sample.laptop, isMutual: true)])
    }

    /// The bytes as docs/decisions/pairing.md gives them, computed there by another program.
    @Test func saysTheBytesOfTheSpecification() {
        var pair = Pair()
        let commitment = "94a5d4e1b7e76ef5f892b44474b82c803663b5f09abf52a7d58d8493791c46b2"
        #expect(hex(pair.initiator.outgoing).hasPrefix("01002100" + commitment))
        pair.responder.receive(pair.initiator.outgoing)
        #expect(hex(pair.responder.outgoing) == "02002100" + String(repeating: "22", count: 32))
        pair.initiator.outgoing = []
        pair.initiator.receive(pair.responder.outgoing)
        #expect(hex(pair.initiator.outgoing) == "030020" + String(repeating: "11", count: 32))
        #expect(pair.initiator.shown.map(\.description) == ["756464"])
        pair.initiator.outgoing = []
        pair.initiator.confirm()
        #expect(hex(pair.initiator.outgoing) == "040000")
        pair.initiator.receive(.confirm)
        #expect(
            hex(pair.initiator.outgoing)
                == "040000" + "05001f" + "06" + "6c6170746f70" + "01" + "0015"
                + "7463703a2f2f3139322e302e322e313a3232303030")
    }

    @Test func eitherUsersNoLeavesNothing() {
        for role in PairingMachine.Role.allCases {
            for isOtherConfirmed in [false, true] {
                var pair = Pair()
                pair.settle()
                if role == .initiator {
                    if isOtherConfirmed { pair.responder.confirm() }
                    pair.initiator.refuse()
                } else {
                    if isOtherConfirmed { pair.initiator.confirm() }
                    pair.responder.refuse()
                }
                pair.settle()
                let (refuser, other) =
                    role == .initiator ? (pair.initiator, pair.responder) : (pair.responder, pair.initiator)
                #expect(refuser.failure == .refusedHere)
                #expect(other.failure == .refusedThere)
                #expect(refuser.toStore == nil && other.toStore == nil)
                #expect(refuser.machine.hasTakenRisk && other.machine.hasTakenRisk)
            }
        }
    }

    /// After its user's yes a device may still take it back, as long as the other has not said yes.
    @Test func aYesCanBeTakenBackUntilBothHaveSaidIt() {
        var pair = Pair()
        pair.settle()
        pair.initiator.confirm()
        pair.initiator.refuse()
        pair.responder.confirm()
        pair.settle()
        #expect(pair.initiator.failure == .refusedHere)
        #expect(pair.responder.failure == .refusedThere)
        #expect(pair.initiator.toStore == nil && pair.responder.toStore == nil)

        var late = Pair()
        late.settle()
        late.initiator.confirm()
        late.responder.confirm()
        late.settle()
        late.initiator.refuse()
        #expect(late.initiator.outcomes.isEmpty, "both have confirmed: it is decided")
    }

    /// Who goes away without an answer has not said no, and the other side says so.
    @Test(arguments: [false, true]) func anInterruptionIsNoRefusal(_ isOtherConfirmed: Bool) {
        var pair = Pair()
        pair.settle()
        if isOtherConfirmed { pair.responder.confirm() }
        pair.initiator.interrupt()
        pair.settle()
        #expect(pair.initiator.failure == .interruptedHere)
        #expect(pair.responder.failure == .interruptedThere)
        #expect(pair.initiator.toStore == nil && pair.responder.toStore == nil)

        var late = Pair()
        late.settle()
        late.initiator.confirm()
        late.responder.confirm()
        late.settle()
        late.initiator.interrupt()
        #expect(late.initiator.outcomes.isEmpty, "both have confirmed: it is decided")
    }

    @Test func anotherCodeThanTheOneShownEndsIt() throws {
        var pair = Pair()
        pair.settle()
        let shown = try #require(pair.initiator.machine.codeToConfirm)
        let other = PairingCode(value: (shown.value + 1) % PairingCode.count)
        pair.initiator.take(pair.initiator.machine.confirm(other))
        pair.settle()
        #expect(pair.initiator.failure == .otherCode)
        #expect(pair.responder.failure == .refusedThere)
    }

    @Test func confirmingTwiceSaysItOnce() throws {
        var pair = Pair()
        pair.settle()
        let code = try #require(pair.initiator.machine.codeToConfirm)
        pair.initiator.confirm()
        #expect(pair.initiator.machine.confirm(code).isEmpty)
        #expect(pair.initiator.machine.start().isEmpty)
        #expect(pair.initiator.machine.stored().isEmpty)
        #expect(pair.initiator.machine.storingFailed("").isEmpty)
    }

    @Test func knownToEachOtherTheyCompareNothing() {
        var pair = Pair(Sample.machine(.initiator, knowsPeer: true), Sample.machine(.responder, knowsPeer: true))
        pair.settle()
        #expect(pair.initiator.outcomes == [.alreadyPaired])
        #expect(pair.responder.outcomes == [.alreadyPaired])
        #expect(pair.initiator.shown.isEmpty && pair.responder.shown.isEmpty)
        #expect(!pair.initiator.machine.hasTakenRisk && !pair.responder.machine.hasTakenRisk)
    }

    /// One of the two has lost, or never stored, what the other has: it is proved anew.
    @Test(arguments: [(true, false), (false, true)])
    func knownToOneOnlyTheyCompare(_ known: (Bool, Bool)) {
        var pair = Pair(Sample.machine(.initiator, knowsPeer: known.0), Sample.machine(.responder, knowsPeer: known.1))
        pair.settle()
        #expect(pair.initiator.shown.count == 1 && pair.responder.shown == pair.initiator.shown)
    }

    @Test func aNonceThatWasNotCommittedToIsRefused() {
        var responder = End(Sample.machine(.responder))
        var initiator = End(Sample.machine(.initiator))
        initiator.start()
        responder.receive(initiator.outgoing)
        responder.receive(.reveal(Sample.nonce(0x12)))
        #expect(responder.failure == .brokenCommitment)
        #expect(responder.shown.isEmpty, "no user is shown a code that was chosen")
        #expect(responder.machine.hasTakenRisk)
    }

    @Test func timeEndsEveryPhase() {
        // Opening.
        for role in PairingMachine.Role.allCases {
            var end = End(Sample.machine(role))
            end.start()
            #expect(end.machine.phase == .opening)
            end.expire()
            #expect(end.failure == .timeout)
            #expect(!end.machine.hasTakenRisk)
        }
        // Comparing: the other is told.
        var pair = Pair()
        pair.settle()
        #expect(pair.responder.machine.phase == .comparing)
        pair.responder.expire()
        pair.settle()
        #expect(pair.responder.failure == .timeout && pair.initiator.failure == .timeoutThere)
        // Closing.
        var closing = Pair()
        closing.settle()
        closing.initiator.confirm()
        closing.responder.confirm()
        #expect(closing.responder.machine.phase == .comparing)
        closing.responder.receive(closing.initiator.outgoing)
        #expect(closing.responder.machine.phase == .closing)
        closing.responder.expire()
        #expect(closing.responder.failure == .timeout)
        #expect(closing.responder.toStore == nil)
        #expect(PairingMachine.Phase.comparing.limit == .seconds(120))
    }

    @Test func whatCannotBeStoredIsSaid() {
        var pair = Pair()
        pair.settle()
        pair.initiator.confirm()
        pair.responder.confirm()
        pair.settle()
        pair.initiator.failToStore()
        pair.responder.store()
        pair.settle()
        #expect(pair.initiator.failure == .notStoredHere)
        #expect(pair.responder.outcomes == [.paired(Sample.laptop, isMutual: false)])
    }

    /// The last message may always be lost: the one who has stored keeps it, and says that the other may not have.
    @Test func aLinkLostAtTheEndLeavesAConfirmedDevice() {
        var pair = Pair()
        pair.settle()
        pair.initiator.confirm()
        pair.responder.confirm()
        pair.responder.receive(pair.initiator.outgoing)
        pair.initiator.outgoing = []
        // The responder's confirmation and introduction arrive; the initiator's introduction does not.
        pair.initiator.receive(pair.responder.outgoing)
        pair.initiator.store()
        pair.initiator.lose()
        pair.responder.lose()
        #expect(pair.initiator.outcomes == [.paired(Sample.desktop, isMutual: false)])
        #expect(pair.responder.failure == .linkEnded)
        #expect(pair.responder.stores.isEmpty && pair.responder.toStore == nil)
        // The next time one knows the other: they compare again, and both have it then.
        var again = Pair(
            Sample.machine(.initiator, knowsPeer: true, nonce: Sample.nonce(3)),
            Sample.machine(.responder, nonce: Sample.nonce(4)))
        again.settle()
        again.initiator.confirm()
        again.responder.confirm()
        again.settle()
        again.initiator.store()
        again.responder.store()
        again.settle()
        #expect(again.initiator.outcomes == [.paired(Sample.desktop, isMutual: true)])
        #expect(again.responder.outcomes == [.paired(Sample.laptop, isMutual: true)])
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
