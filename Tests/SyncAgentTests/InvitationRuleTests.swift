import AgentConfiguration
import BlockExchange
import IndexStore
import Pairing
import SyncTestKit
import Testing

@testable import SyncAgent

/// An invitation to `f` as `write`, redeemed by a guest: what the configuration makes of it.
@Suite struct InvitationRuleTests {
    private static let (guest, other) = (InvitationBoardTests.guest, InvitationBoardTests.other)

    /// What the configuration says of the guest.
    enum Standing: CaseIterable {
        case unknown, ignored, known, reader, writer, readerOfOther, noFolder

        var configuration: Configuration {
            var (shared, unshared) = (
                FolderConfiguration(id: FolderID("f"), path: "/f", devices: [other]),
                FolderConfiguration(id: FolderID("other"), path: "/other", devices: [other, guest])
            )
            switch self {
            case .reader: (shared.devices, shared.readers) = ([guest, other], [guest])
            case .writer: shared.devices = [guest, other]
            case .readerOfOther: unshared.readers = [guest]
            case .unknown, .ignored: unshared.devices = [other]
            case .known, .noFolder: break
            }
            var configuration = Configuration(
                name: "me", devices: [DeviceConfiguration(id: other)],
                folders: self == .noFolder ? [unshared] : [shared, unshared])
            if self != .unknown, self != .ignored { configuration.devices.append(DeviceConfiguration(id: guest)) }
            if self == .ignored { configuration.ignored.devices = [guest] }
            return configuration
        }
    }

    private static func invitation(_ device: DeviceID?, isStored: Bool) -> StoredInvitation {
        StoredInvitation(
            number: 1, digest: InvitationCode.digest(ofSecret: InvitationBoardTests.secret), folder: FolderID("f"),
            role: "write", expires: 100, device: device, isStored: isStored)
    }

    private static func outcome(
        isStored: Bool, _ old: Standing, _ new: Standing, by device: DeviceID? = guest
    ) -> InvitationRule.Outcome? {
        InvitationRule.outcome(
            of: invitation(device, isStored: isStored), from: old.configuration, to: new.configuration)
    }

    /// Whatever was before: the agent may not have run when the file was edited.
    @Test(arguments: Standing.allCases) func whatIsStoredHoldsAsLongAsItIsSo(_ old: Standing) {
        for new in Standing.allCases {
            let holds = new == .writer || new == .noFolder
            #expect(Self.outcome(isStored: true, old, new) == (holds ? nil : .withdrawn), "\(old) to \(new)")
        }
    }

    @Test(
        arguments: [
            (.unknown, .writer, .stored), (.known, .writer, .stored), (.reader, .writer, .stored),
            (.writer, .writer, .stored),
            // Cut off in the middle: nothing was said of it since.
            (.unknown, .unknown, nil), (.known, .known, nil), (.reader, .reader, nil), (.known, .readerOfOther, nil),
            (.unknown, .known, nil), (.reader, .noFolder, nil), (.noFolder, .reader, nil),
            (.unknown, .ignored, .withdrawn), (.ignored, .ignored, .withdrawn), (.known, .unknown, .withdrawn),
            (.noFolder, .unknown, .withdrawn), (.writer, .reader, .withdrawn), (.writer, .known, .withdrawn),
            (.reader, .known, .withdrawn), (.known, .reader, .withdrawn),
        ] as [(Standing, Standing, InvitationRule.Outcome?)])
    func whatWasCutOffMayBeRepeated(_ old: Standing, _ new: Standing, _ expected: InvitationRule.Outcome?) {
        #expect(Self.outcome(isStored: false, old, new) == expected, "\(old) to \(new)")
    }

    @Test func anOpenOneIsNobodysYet() {
        for old in Standing.allCases {
            for new in Standing.allCases { #expect(Self.outcome(isStored: false, old, new, by: nil) == nil) }
        }
    }

    /// From the use of an invitation to the removal of the device.
    @Test func theCodeOfARemovedDeviceIsGone() async throws {
        let home = try TemporaryDirectory()
        let index = try IndexStore.open(path: home.path + "/index.sqlite")
        let open = Self.invitation(nil, isStored: false)
        let number = try #require(
            try await index.addInvitation(
                digest: open.digest, folder: open.folder, role: open.role, expires: open.expires, now: 0))
        let board = InvitationBoard(now: { 0 })
        #expect(try await index.redeemInvitation(number, by: Self.guest) == .noted)
        board.replace(try await index.invitations())
        try await board.settle(from: Standing.unknown.configuration, to: Standing.writer.configuration, in: index)
        #expect(try await index.redeemInvitation(number, by: Self.guest) == .stored)
        #expect(InvitationBoardTests.found(board, by: Self.guest) == nil)
        try await board.settle(from: Standing.writer.configuration, to: Standing.unknown.configuration, in: index)
        #expect(try await index.redeemInvitation(number, by: Self.guest) == .gone)
        #expect(InvitationBoardTests.found(board, by: Self.guest) == .unknown)
        try index.close()
    }
}
