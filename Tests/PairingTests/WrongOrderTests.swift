import Testing

@testable import Pairing

/// Every message in every state: those that have a place there, and all the others.
struct WrongOrderTests {
    enum Point: String, CaseIterable {
        case awaitingCommitment, awaitingNonce, awaitingReveal, initiatorComparing, responderComparing, confirmedHere
        case confirmedThere, awaitingIntroduction, storing, storingAfterDone, awaitingDone
    }

    enum Kind: String, CaseIterable { case commit, nonce, reveal, confirm, introduce, done }

    static let welcome: [Point: Set<Kind>] = [
        .awaitingCommitment: [.commit], .awaitingNonce: [.nonce], .awaitingReveal: [.reveal],
        .initiatorComparing: [.confirm], .responderComparing: [.confirm], .confirmedHere: [.confirm],
        .confirmedThere: [], .awaitingIntroduction: [.introduce], .storing: [.done], .storingAfterDone: [],
        .awaitingDone: [.done],
    ]

    /// An end that has come so far.
    static func end(at point: Point) -> End {
        let role: PairingMachine.Role =
            [.awaitingCommitment, .awaitingReveal, .responderComparing].contains(point) ? .responder : .initiator
        var pair = Pair()
        if point == .awaitingCommitment { return pair.responder }
        if point == .awaitingNonce { return cleared(pair.initiator) }
        if point == .awaitingReveal {
            pair.responder.receive(pair.initiator.outgoing)
            return cleared(pair.responder)
        }
        pair.settle()
        var end = role == .initiator ? pair.initiator : pair.responder
        switch point {
        case .confirmedHere: end.confirm()
        case .confirmedThere: end.receive(.confirm)
        case .awaitingIntroduction, .storing, .storingAfterDone, .awaitingDone:
            end.confirm()
            end.receive(.confirm)
        default: break
        }
        if [.storing, .storingAfterDone, .awaitingDone].contains(point) { end.receive(.introduce(Sample.desktop)) }
        if point == .storingAfterDone { end.receive(.done) }
        if point == .awaitingDone { end.store() }
        return cleared(end)
    }

    private static func cleared(_ end: End) -> End {
        var end = end
        end.outgoing = []
        return end
    }

    static func message(_ kind: Kind) -> PairingMessage {
        switch kind {
        case .commit: .commit(Sample.initiator, knowsPeer: false)
        case .nonce: .nonce(Sample.responderNonce, knowsPeer: false)
        case .reveal: .reveal(Sample.initiatorNonce)
        case .confirm: .confirm
        case .introduce: .introduce(Sample.desktop)
        case .done: .done
        }
    }

    @Test(arguments: Point.allCases, Kind.allCases)
    func whatHasNoPlaceEndsIt(_ point: Point, _ kind: Kind) throws {
        var end = Self.end(at: point)
        let wasToStore = end.toStore
        try #require(end.outcomes.isEmpty)
        end.receive(Self.message(kind))
        guard !(Self.welcome[point] ?? []).contains(kind) else {
            #expect(end.failure == nil, "\(kind.rawValue) is right at \(point.rawValue)")
            return
        }
        switch point {
        case .storing, .storingAfterDone:
            #expect(end.outcomes.isEmpty && end.toStore == wasToStore, "what is being stored is stored first")
            end.store()
            let isMutual = point == .storingAfterDone
            #expect(end.outcomes == [.paired(Sample.desktop, isMutual: isMutual)])
        case .awaitingDone:
            #expect(end.outcomes == [.paired(Sample.desktop, isMutual: false)])
        default:
            #expect(end.failure == .wrongOrder)
            #expect(end.outgoing == PairingRefusal.mistake.message)
            #expect(end.toStore == nil && end.stores.isEmpty)
        }
        // Nothing that follows changes anything, the right message neither.
        for kind in Kind.allCases { end.receive(Self.message(kind)) }
        #expect(end.outcomes.count == 1)
    }

    @Test(arguments: Point.allCases, PairingRefusal.allCases)
    func refusalsEndItEverywhere(_ point: Point, _ refusal: PairingRefusal) {
        var end = Self.end(at: point)
        end.receive(refusal.message)
        end.store()
        switch point {
        case .storing, .awaitingDone:
            #expect(end.outcomes == [.paired(Sample.desktop, isMutual: false)])
        case .storingAfterDone:
            #expect(end.outcomes == [.paired(Sample.desktop, isMutual: true)])
        default:
            let expected: PairingFailure.Code =
                switch refusal {
                case .user: .refusedThere
                case .time: .timeoutThere
                case .busy: .busy
                case .mistake: .mistakeHere
                case .storage: .notStoredThere
                case .interruption: .interruptedThere
                }
            #expect(end.failure == expected)
            #expect(end.outgoing.isEmpty, "a refusal is not answered")
            #expect(end.stores.isEmpty)
        }
    }

    @Test(arguments: Point.allCases)
    func anUnknownReasonIsANo(_ point: Point) {
        var end = Self.end(at: point)
        end.receive([7, 0, 1, 0xEE])
        if ![.storing, .storingAfterDone, .awaitingDone].contains(point) { #expect(end.failure == .refusedThere) }
    }

    @Test(
        arguments: Point.allCases,
        [
            [0], [8], [0xFF], [1, 0, 32], [1, 0, 34], [1, 0xFF, 0xFF], [2, 0, 0], [3, 0, 33], [4, 0, 1], [5, 0, 1],
            [5, 0xFF, 0xFF], [6, 0, 1], [7, 0, 0], [7, 0, 2],
        ] as [[UInt8]])
    func whatIsNoMessageEndsItAtItsHeader(_ point: Point, _ bytes: [UInt8]) {
        var end = Self.end(at: point)
        end.receive(bytes)
        end.store()
        switch point {
        case .storing, .awaitingDone: #expect(end.outcomes == [.paired(Sample.desktop, isMutual: false)])
        case .storingAfterDone: #expect(end.outcomes == [.paired(Sample.desktop, isMutual: true)])
        default: #expect(end.failure == .malformedMessage)
        }
    }
}
