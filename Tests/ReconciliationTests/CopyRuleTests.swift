import BlockExchange
import Reconciliation
import Testing

@Suite struct CopyRuleTests {
    private static let peer = DeviceID(certificateDER: Array("peer".utf8))
    private static let stranger = DeviceID(certificateDER: Array("stranger".utf8))

    /// Which modes count: of a device that is connected and of one that is away, for a device that keeps a selection and
    /// for one that keeps everything.
    @Test(arguments: [
        (PeerMode.unknown, false, false, false, false), (.syncthing, true, true, true, true),
        (.full, true, true, true, false), (.selective, true, false, true, false),
    ])
    func whoCounts(
        mode: PeerMode, connected: Bool, away: Bool, connectedForFull: Bool, awayForFull: Bool
    ) {
        for (isFull, isCurrent, expected) in [
            (false, true, connected), (false, false, away), (true, true, connectedForFull), (true, false, awayForFull),
        ] {
            let rule = CopyRule(isFull: isFull, peers: [Self.peer: .init(mode: mode, isCurrent: isCurrent)])
            let copies = expected ? Copies(count: 1) : Copies(uncertain: [Self.peer])
            #expect(rule.copies([Self.peer]) == copies, "\(mode), full: \(isFull), connected: \(isCurrent)")
        }
    }

    @Test func whoTheFolderIsNotSharedWithIsNobody() {
        let rule = CopyRule(isFull: false, peers: [Self.peer: .init(mode: .syncthing)])
        #expect(rule.copies([Self.stranger]) == Copies())
        #expect(rule.copies([Self.stranger, Self.peer]) == Copies(count: 1))
    }

    /// Of two devices that are apart and hold the same file, at most one may free it by the other's word.
    @Test func noTwoCountOnEachOther() {
        let own: [PeerMode] = [.full, .selective]
        for one in own {
            for other in own {
                let first = CopyRule(isFull: one == .full, peers: [Self.peer: .init(mode: other)])
                let second = CopyRule(isFull: other == .full, peers: [Self.peer: .init(mode: one)])
                #expect(
                    first.copies([Self.peer]).count + second.copies([Self.peer]).count < 2, "\(one) and \(other)")
            }
        }
    }
}
