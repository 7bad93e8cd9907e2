import AgentConfiguration
import AgentContext
import BlockExchange
import IndexStore
import LinkSecurity
import Logging
import Pairing
import PeerLinks
import Transport

/// Serves the links of devices that use an invitation.
struct InvitationHost: Sendable {
    let invitations: InvitationBoard
    let configuration: RunningConfiguration
    let devices: DeviceRegistry
    let index: IndexStore
    let changes: ConfigurationChanges
    /// What this device says of itself to the other one.
    let ownIntroduction: @Sendable () -> PairingIntroduction
    let time: AgentTime
    let logger: Logger

    /// Serves a link whose other end has an invitation to redeem.
    func serve(_ link: SecureLink) async {
        let (peer, address) = (link.peer, link.information.remoteAddress)
        do {
            let isStored = try await InvitationTalk.run(on: link, clock: time.clock) { talk in
                do throws(InvitationRefusal) {
                    try await serve(&talk, from: link.information, peer)
                    return true
                } catch {
                    logger.info("an invitation was not used by \(peer) at \(address): \(error)")
                    try await talk.send(.refuse(error))
                    return false
                }
            }
            if isStored { await devices.device(peer)?.seek() }
        } catch {
            logger.debug("the link of a guest broke: \(error)")
        }
    }

    private func serve(
        _ talk: inout InvitationTalk, from link: LinkInformation, _ peer: DeviceID
    ) async throws(InvitationRefusal) {
        guard case .redeem(let secret, let introduction) = try await talk.message() else { throw .mistake }
        // It is told no more than a device that guesses.
        guard !configuration.current.ignored.contains(peer) else { throw .unknown }
        let invitation: StoredInvitation
        do throws(InvitationRefusal) {
            invitation = try invitations.find(secret, for: peer)
        } catch {
            if error == .unknown { try? await time.clock.sleep(for: invitations.pause) }
            throw error
        }
        guard let folder = configuration.current.folders.first(where: { $0.id == invitation.folder }),
            let role = DeviceRole(rawValue: invitation.role),
            let offer = InvitationOffer(
                folder: folder.id.rawValue, label: folder.label, role: invitation.role,
                introduction: ownIntroduction())
        else { throw .folderGone }
        try await talk.say(.offer(offer))
        guard case .ready = try await talk.message() else { throw .mistake }
        let addresses = PairedAddresses.addresses(dialled: nil, link: link, introduced: introduction.addresses)
        try await store(
            PairedDevice(id: peer, name: introduction.name, addresses: addresses, folders: [folder.id]), role,
            by: invitation.number)
        logger.info("invitation \(invitation.number) was used by \(peer), \(introduction.name)")
        try await talk.say(.done)
        // Its own word that it has stored this one changes nothing here, but the link is its to end.
        _ = try? await talk.next()
    }

    /// Stores the device, once; what it says again changes nothing. Nobody else changes the configuration meanwhile, so that nothing
    /// is undone that a person says of the device.
    private func store(
        _ device: PairedDevice, _ role: DeviceRole, by invitation: Int64
    ) async throws(InvitationRefusal) {
        do {
            try await changes.inTurn { turn in
                guard !turn.current.ignored.contains(device.id) else { throw InvitationRefusal.unknown }
                // Used before anything is stored: it is good once whatever happens now, but the same device may try again.
                switch try await index.redeemInvitation(invitation, by: device.id) {
                case .gone: throw InvitationRefusal.unknown
                case .taken: throw InvitationRefusal.used
                case .stored: return
                case .noted: break
                }
                invitations.replace(try await index.invitations())
                try await turn.edit(try turn.current.edits(storing: device, role: role))
            }
            try await index.forgetPending(device.id)
        } catch let refusal as InvitationRefusal {
            throw refusal
        } catch {
            logger.error("a device that was invited could not be stored: \(error)")
            throw .storage
        }
    }
}

extension InvitationTalk {
    fileprivate mutating func message() async throws(InvitationRefusal) -> InvitationMessage {
        do {
            return try await next()
        } catch {
            throw error as? InvitationRefusal ?? .mistake
        }
    }

    fileprivate func say(_ message: InvitationMessage) async throws(InvitationRefusal) {
        do { try await send(message) } catch { throw .mistake }
    }
}
