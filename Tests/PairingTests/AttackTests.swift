import Cryptography
import SyncTestKit
import Testing

@testable import Pairing

/// A man in the middle: one victim has dialled the attacker, and the attacker has dialled the other victim. He wins when
/// both victims show the same code, because then both users say yes. With so few codes as here that can be measured;
/// against all of them it is computed.
struct AttackTests {
    static let codeCount: UInt32 = 16
    static let trials = 1000
    /// Five standard deviations around the wins that one guess per attempt gives.
    static var expectedWins: ClosedRange<Double> {
        let mean = Double(trials) / Double(codeCount)
        return mean - 5 * mean.squareRoot()...mean + 5 * mean.squareRoot()
    }

    /// The victims and the attacker's two identities in one attempt.
    struct Scene {
        var dialler: End
        var listener: End
        let diallerID: SHA256Digest
        let listenerID: SHA256Digest
        /// The attacker's keys: he may make as many as he likes, but has to show one before anything is said.
        var towardsDialler: SHA256Digest
        var towardsListener: SHA256Digest

        init(_ random: inout SeededGenerator) {
            diallerID = AttackTests.digest(&random)
            listenerID = AttackTests.digest(&random)
            towardsDialler = AttackTests.digest(&random)
            towardsListener = AttackTests.digest(&random)
            dialler = End(
                PairingMachine(
                    role: .initiator, local: diallerID, remote: towardsDialler,
                    nonce: Sample.nonce(random.bytes(32)), introduction: Sample.laptop, knowsPeer: false,
                    codeCount: AttackTests.codeCount))
            listener = End(
                AttackTests.listener(&random, local: listenerID, remote: towardsListener))
            dialler.start()
        }

        /// Whether both show a code, the same one.
        var isWon: Bool { !dialler.shown.isEmpty && dialler.shown == listener.shown }

        /// The attacker answers the dialling victim as its responder; gives that victim's nonce and code.
        mutating func finishWithDialler(nonce: PairingNonce) throws -> PairingCode {
            dialler.receive(.nonce(nonce, knowsPeer: false))
            return try #require(dialler.shown.first)
        }

        /// The attacker commits to a nonce towards the listening victim; gives that victim's nonce.
        mutating func commit(to nonce: PairingNonce) throws -> PairingNonce {
            let commitment = PairingTranscript.commitment(
                initiator: towardsListener, responder: listenerID, initiatorNonce: nonce)
            return try answer(toCommitment: commitment)
        }

        mutating func answer(toCommitment commitment: SHA256Digest) throws -> PairingNonce {
            listener.outgoing = []
            listener.receive(.commit(commitment, knowsPeer: false))
            return try #require(PairingNonce(listener.outgoing.dropFirst(4)))
        }

        /// What the listening victim would show for these nonces.
        func code(_ own: PairingNonce, _ theirs: PairingNonce) -> PairingCode {
            PairingTranscript.code(
                initiator: towardsListener, responder: listenerID, initiatorNonce: own, responderNonce: theirs,
                count: AttackTests.codeCount)
        }
    }

    static func digest(_ random: inout SeededGenerator) -> SHA256Digest { SHA256.digest(random.bytes(32)) }

    static func listener(
        _ random: inout SeededGenerator, local: SHA256Digest, remote: SHA256Digest
    ) -> PairingMachine {
        PairingMachine(
            role: .responder, local: local, remote: remote, nonce: Sample.nonce(random.bytes(32)),
            introduction: Sample.desktop, knowsPeer: false, codeCount: codeCount)
    }

    static func wins(seed: UInt64, _ attack: (inout Scene, inout SeededGenerator) throws -> Void) rethrows -> Double {
        var random = SeededGenerator(seed: seed)
        var wins = 0.0
        for _ in 0..<trials {
            var scene = Scene(&random)
            try attack(&scene, &random)
            if scene.isWon { wins += 1 }
        }
        return wins
    }

    /// Passing everything on as it is: the identities differ, and with them the commitment.
    @Test func relayingIsFoundEveryTime() throws {
        let wins = try Self.wins(seed: 1) { scene, _ in
            scene.listener.receive(scene.dialler.outgoing)
            scene.dialler.outgoing = []
            scene.dialler.receive(scene.listener.outgoing)
            scene.listener.receive(scene.dialler.outgoing)
            try #require(scene.listener.failure == .brokenCommitment)
        }
        #expect(wins == 0)
    }

    @Test func twoHonestSidesAreAGuess() throws {
        let wins = try Self.wins(seed: 2) { scene, random in
            let nonce = Sample.nonce(random.bytes(32))
            _ = try scene.finishWithDialler(nonce: Sample.nonce(random.bytes(32)))
            _ = try scene.commit(to: nonce)
            scene.listener.receive(.reveal(nonce))
        }
        #expect(Self.expectedWins.contains(wins), "\(wins)")
    }

    /// He knows the first victim's code and looks for a nonce that gives the second the same, before he commits: the
    /// second's nonce is all that he lacks.
    @Test func grindingNoncesBeforeCommittingIsAGuess() throws {
        let wins = try Self.wins(seed: 3) { scene, random in
            let wanted = try scene.finishWithDialler(nonce: Sample.nonce(random.bytes(32)))
            let guess = Sample.nonce(random.bytes(32))
            var nonce = Sample.nonce(random.bytes(32))
            while scene.code(nonce, guess) != wanted { nonce = Sample.nonce(random.bytes(32)) }
            _ = try scene.commit(to: nonce)
            scene.listener.receive(.reveal(nonce))
        }
        #expect(Self.expectedWins.contains(wins), "\(wins)")
    }

    /// The other way round: he knows the second victim's code, and looks for an answer to the first's commitment, whose
    /// nonce is hidden in it.
    @Test func grindingTheAnswerToACommitmentIsAGuess() throws {
        let wins = try Self.wins(seed: 4) { scene, random in
            let own = Sample.nonce(random.bytes(32))
            let theirs = try scene.commit(to: own)
            scene.listener.receive(.reveal(own))
            let wanted = scene.code(own, theirs)
            let guess = Sample.nonce(random.bytes(32))
            func shown(_ answer: PairingNonce) -> PairingCode {
                PairingTranscript.code(
                    initiator: scene.diallerID, responder: scene.towardsDialler, initiatorNonce: guess,
                    responderNonce: answer, count: Self.codeCount)
            }
            var answer = Sample.nonce(random.bytes(32))
            while shown(answer) != wanted { answer = Sample.nonce(random.bytes(32)) }
            _ = try scene.finishWithDialler(nonce: answer)
        }
        #expect(Self.expectedWins.contains(wins), "\(wins)")
    }

    /// He makes keys until one fits the code that is wanted and the nonces that are known; then he shows it, and the
    /// victim draws its nonce.
    @Test func grindingKeysIsAGuess() throws {
        let wins = try Self.wins(seed: 5) { scene, random in
            let wanted = try scene.finishWithDialler(nonce: Sample.nonce(random.bytes(32)))
            let (nonce, guess) = (Sample.nonce(random.bytes(32)), Sample.nonce(random.bytes(32)))
            while scene.code(nonce, guess) != wanted { scene.towardsListener = Self.digest(&random) }
            scene.listener = End(Self.listener(&random, local: scene.listenerID, remote: scene.towardsListener))
            _ = try scene.commit(to: nonce)
            scene.listener.receive(.reveal(nonce))
        }
        #expect(Self.expectedWins.contains(wins), "\(wins)")
    }

    /// He waits with his choice until he knows everything. That would win every time: the commitment is what stops it.
    @Test func choosingAfterTheFactIsFoundEveryTime() throws {
        var wouldHaveWon = 0
        let wins = try Self.wins(seed: 6) { scene, random in
            let wanted = try scene.finishWithDialler(nonce: Sample.nonce(random.bytes(32)))
            let theirs = try scene.commit(to: Sample.nonce(random.bytes(32)))
            var nonce = Sample.nonce(random.bytes(32))
            while scene.code(nonce, theirs) != wanted { nonce = Sample.nonce(random.bytes(32)) }
            if scene.code(nonce, theirs) == scene.dialler.shown.first { wouldHaveWon += 1 }
            scene.listener.receive(.reveal(nonce))
            try #require(scene.listener.failure == .brokenCommitment)
        }
        #expect(wins == 0)
        #expect(wouldHaveWon == Self.trials)
    }

    /// While the first victim's user waits, he tries the second again and again and reveals only what fits, so that no
    /// user sees a wrong code. Without a limit that wins; the limit leaves him the free failures.
    @Test(arguments: [true, false])
    func tryingInSilenceIsStoppedByTheLimit(isLimited: Bool) throws {
        var random = SeededGenerator(seed: 7)
        let trials = 300
        var wins = 0.0
        for _ in 0..<trials {
            var scene = Scene(&random)
            let wanted = try scene.finishWithDialler(nonce: Sample.nonce(random.bytes(32)))
            var limit = AttemptLimit()
            for second in 0..<(5 * Int(Self.codeCount)) {
                // The first victim's user waits two minutes and no longer.
                guard !isLimited || limit.wait(at: .milliseconds(second)) == nil else { break }
                scene.listener = End(Self.listener(&random, local: scene.listenerID, remote: scene.towardsListener))
                let nonce = Sample.nonce(random.bytes(32))
                let theirs = try scene.commit(to: nonce)
                if scene.code(nonce, theirs) == wanted {
                    scene.listener.receive(.reveal(nonce))
                    break
                }
                scene.listener.lose()
                if scene.listener.machine.hasTakenRisk { limit.failed(at: .milliseconds(second)) }
            }
            if scene.isWon { wins += 1 }
        }
        let share = wins / Double(trials)
        if isLimited {
            let bound = Double(AttemptLimit.freeFailures) / Double(Self.codeCount)
            #expect(share < bound + 5 * (bound / Double(trials)).squareRoot(), "\(share)")
        } else {
            #expect(share > 0.95, "the attack itself does not work, so the limit proves nothing")
        }
    }

    /// The likeliest of the six-digit codes, against a victim's nonce that is uniform and drawn after the commitment.
    @Test func oneGuessAgainstSixDigitsIsOneInAMillion() {
        let digests = UInt64(1) << 32
        let likeliest = (digests + UInt64(PairingCode.count) - 1) / UInt64(PairingCode.count)
        #expect(likeliest == 4295)
        let chance = Double(likeliest) / Double(digests)
        #expect(chance < 1.00001e-6)
        // With all that the limit lets through before the first pause, and in a day of them.
        #expect(Double(AttemptLimit.freeFailures) * chance < 3.0001e-6)
        #expect(35 * chance < 3.6e-5)
    }

    /// The codes that machines show are spread evenly: no four bits of them are likelier than others.
    @Test func codesAreSpreadEvenly() {
        var random = SeededGenerator(seed: 8)
        var counts = Array(repeating: 0.0, count: 100)
        let total = 20_000
        for _ in 0..<total {
            let code = PairingTranscript.code(
                initiator: Sample.initiator, responder: Sample.responder,
                initiatorNonce: Sample.nonce(random.bytes(32)), responderNonce: Sample.responderNonce)
            counts[Int(code.value / 10_000)] += 1
        }
        let mean = Double(total) / 100
        #expect(counts.allSatisfy { abs($0 - mean) < 5 * mean.squareRoot() })
    }
}
