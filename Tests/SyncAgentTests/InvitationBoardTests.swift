import BlockExchange
import IndexStore
import Pairing
import Synchronization
import Testing

@testable import SyncAgent

@Suite struct InvitationBoardTests {
    static let guest = DeviceID(certificateDER: Array("guest".utf8))
    static let other = DeviceID(certificateDER: Array("other".utf8))
    static let secret = [UInt8](repeating: 7, count: 16)

    static func invitation(device: DeviceID? = nil, expires: Int64 = 100) -> StoredInvitation {
        StoredInvitation(
            number: 1, digest: InvitationCode.digest(ofSecret: secret), folder: FolderID("f"), role: "read",
            expires: expires, device: device)
    }

    static func found(_ board: InvitationBoard, by device: DeviceID, _ secret: [UInt8] = secret) -> InvitationRefusal? {
        do throws(InvitationRefusal) {
            _ = try board.find(secret, for: device)
            return nil
        } catch {
            return error
        }
    }

    @Test func goodForOneDeviceAndForItsTime() {
        let table: [(StoredInvitation?, Int64, DeviceID, InvitationRefusal?)] = [
            (nil, 0, Self.guest, .unknown), (Self.invitation(), 100, Self.guest, nil),
            (Self.invitation(), 101, Self.guest, .expired),
            (Self.invitation(device: Self.guest), 50, Self.guest, nil),
            (Self.invitation(device: Self.guest), 101, Self.guest, .expired),
            (Self.invitation(device: Self.other), 50, Self.guest, .used),
        ]
        for (invitation, now, device, expected) in table {
            let board = InvitationBoard(now: { now })
            board.replace([invitation].compactMap { $0 })
            #expect(Self.found(board, by: device) == expected)
            #expect(board.isOpen == (invitation != nil && now <= 100))
        }
    }

    /// Wrong secrets are answered later and later; a right one is not made to wait for them.
    @Test func guessingGetsSlow() {
        let board = InvitationBoard(now: { 0 })
        board.replace([Self.invitation()])
        var pauses: [Duration] = []
        for guess in 0..<40 {
            #expect(Self.found(board, by: Self.other, [UInt8](repeating: UInt8(100 + guess), count: 16)) == .unknown)
            pauses.append(board.pause)
        }
        #expect(pauses.prefix(3) == [.seconds(2), .seconds(4), .seconds(8)])
        #expect(pauses.last == .seconds(30) && pauses == pauses.sorted())
        #expect(Self.found(board, by: Self.guest) == nil)
    }
}
