import BlockExchange
import Reconciliation
import SyncTestKit
import Testing

@Suite struct CopyRuleTests {
    private static let peer = DeviceID(certificateDER: Array("peer".utf8))
    private static let stranger = DeviceID(certificateDER: Array("stranger".utf8))

    private func rule(
        _ mode: PeerMode, isFull: Bool = false, isKnown: Bool = true, isConnected: Bool = false, isAgreed: Bool = true,
        unseen: Duration? = .seconds(5)
    ) -> CopyRule {
        CopyRule(
            isFull: isFull, isKnownAsSelective: isKnown, maximumAge: .seconds(10),
            peers: [
                Self.peer: .init(
                    mode: mode, isConnected: isConnected, isAskable: isConnected, isAgreed: isAgreed, unseen: unseen)
            ])
    }

    private func counts(_ rule: CopyRule, _ word: CopyRule.Word? = nil) -> Bool {
        rule.copies([Self.peer], words: word.map { [Self.peer: $0] } ?? [:]).count == 1
    }

    /// Whose word counts without an answer: connected, away, away for a device that keeps everything.
    @Test(arguments: [
        (PeerMode.unknown, false, false, false), (.syncthing, false, true, true), (.full, false, true, false),
        (.selective, false, false, false),
    ])
    func whoseBareWordCounts(mode: PeerMode, connected: Bool, away: Bool, awayForFull: Bool) {
        #expect(counts(rule(mode, isConnected: true)) == connected)
        #expect(counts(rule(mode, isFull: true, isConnected: true)) == false)
        #expect(counts(rule(mode)) == away)
        #expect(counts(rule(mode, isFull: true)) == awayForFull)
        #expect(!counts(rule(mode, unseen: .seconds(10))), "it is too old")
        #expect(!counts(rule(mode, unseen: nil)), "nobody knows how old it is")
    }

    /// Whose answer counts, connected or not.
    @Test(arguments: [
        (PeerMode.unknown, false, false), (.syncthing, false, true), (.full, true, false), (.selective, true, false),
    ])
    func whoseAnswerCounts(mode: PeerMode, promised: Bool, verified: Bool) {
        for isFull in [false, true] {
            #expect(counts(rule(mode, isFull: isFull, isConnected: true), .promised) == promised)
            #expect(counts(rule(mode, isFull: isFull, isConnected: true), .verified) == verified)
            for word in [CopyRule.Word.refused, .failed] {
                #expect(!counts(rule(mode, isFull: isFull), word))
                #expect(!counts(rule(mode, isFull: isFull, isConnected: true), word))
            }
        }
        // A promise binds also while they are apart, however long that is.
        #expect(counts(rule(mode, isFull: true, isAgreed: false, unseen: nil), .promised) == promised)
    }

    /// The word of a device that keeps everything counts only for who is known not to, and what was noted before this device
    /// started only once they have met again.
    @Test func aWordNeedsAMeeting() {
        #expect(counts(rule(.full)))
        #expect(!counts(rule(.full, isKnown: false)))
        #expect(!counts(rule(.full, isAgreed: false)))
        #expect(counts(rule(.syncthing, isKnown: false, isAgreed: false)), "a Syncthing counts on nobody")
    }

    @Test func whatDoesNotCountIsNamed() {
        #expect(rule(.selective).copies([Self.peer], words: [:]) == Copies(uncertain: [Self.peer]))
        #expect(
            rule(.syncthing).copies([Self.peer], words: [Self.peer: .failed]) == Copies(failed: [Self.peer]))
        #expect(rule(.full).copies([Self.stranger], words: [Self.stranger: .promised]) == Copies())
    }

    @Test func whoIsAskedFirst() {
        let devices = (0..<4).map { DeviceID(certificateDER: Array("\($0)".utf8)) }
        let modes: [PeerMode] = [.selective, .syncthing, .unknown, .full]
        var rule = CopyRule(isFull: false, maximumAge: .seconds(10), peers: [:])
        for (device, mode) in zip(devices, modes) {
            rule.peers[device] = .init(mode: mode, isConnected: true, isAskable: true)
        }
        #expect(rule.askable(devices, words: [:]) == [devices[3], devices[1], devices[0]])
        #expect(rule.askable(devices, words: [devices[3]: .promised]) == [devices[1], devices[0]])
        #expect(rule.possibleCopies(devices) == Copies(count: 3, uncertain: [devices[2]]))
        rule.peers[devices[0]]?.isAskable = false
        rule.peers[devices[1]]?.isConnected = false
        #expect(rule.askable(devices, words: [:]) == [devices[3]])
    }

    /// When a device that kept everything may free by the word of another that does.
    @Test(
        arguments: [
            (nil, [PeerMode.full], 0, 0, true), (100, [.full, .full], 0, 105, false),
            (100, [.full, .full], 1, 105, false),
            (100, [.full, .full], 2, 105, true), (100, [.full, .syncthing], 1, 105, true),
            (100, [.full, .unknown], 1, 105, false), (100, [.selective], 0, 109, false),
            (100, [.selective], 0, 110, true),
            (100, [.full], 0, 50, false), (Int64.min, [.full], 0, .max, false), (100, [], 0, 100, true),
        ] as [(Int64?, [PeerMode], Int, Int64, Bool)])
    func whenItIsKnownAsSelective(since: Int64?, modes: [PeerMode], told: Int, now: Int64, expected: Bool) {
        let devices = modes.indices.map { DeviceID(certificateDER: Array("\($0)".utf8)) }
        let history = ModeHistory(selectiveSince: since, told: Set(devices.prefix(told)))
        let known = history.isKnownAsSelective(
            to: Dictionary(uniqueKeysWithValues: zip(devices, modes)), at: now, maximumAge: .seconds(10))
        #expect(known == expected)
    }

    @Test(arguments: [
        (0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (8, 4), (9, 5), (1024, 11), (1 << 14, 15), (1 << 20, 16), (.max, 16),
    ])
    func howManyBlocksAreAskedFor(blocks: Int, expected: Int) {
        #expect(BlockSample.count(ofBlocks: blocks) == expected)
    }

    @Test func whichBlocksAreAskedFor() {
        var generator = SeededGenerator(seed: 7)
        var seen: Set<Int> = []
        for _ in 0..<400 {
            let chosen = BlockSample.choose(ofBlocks: 9) { Double.random(in: 0..<1, using: &generator) }
            #expect(Set(chosen).count == 5 && chosen == chosen.sorted() && chosen.allSatisfy((0..<9).contains))
            seen.formUnion(chosen)
        }
        #expect(seen.count == 9)
        for random in [0, 0.5, 1, 2, -1] {
            #expect(BlockSample.choose(ofBlocks: 2) { random } == [0, 1], "a small file is asked for whole")
        }
        #expect(BlockSample.choose(ofBlocks: 0) { 0 } == [])
    }
}
