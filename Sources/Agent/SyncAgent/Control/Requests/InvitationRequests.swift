import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import Cryptography
import IndexStore
import Logging
import Pairing
import PeerLinks
import Transport

/// Makes invitations: a code in the place of six digits.
struct InvitationRequests: RequestGroup {
    let invitations: InvitationBoard
    let finder: FolderFinder
    let configuration: RunningConfiguration
    let index: IndexStore
    let listeners: ListenerBoard
    let reach: (any WideReach)?
    let time: AgentTime
    let logger: Logger

    func add(to table: inout EndpointHandlers) {
        // The index and the board, which says whose code is accepted, must not say different things.
        table.on(Endpoints.invite) { request in try await uncancelled { try await invite(request) } }
        table.on(Endpoints.invitations) { try await invitationList() }
        table.on(Endpoints.revokeInvitation) { number in try await uncancelled { try await revokeInvitation(number) } }
    }

    private func invite(_ request: InvitationRequest) async throws -> Invitation {
        guard DeviceRole(rawValue: request.role) != nil else {
            throw ControlError(
                .invalidRequest, "unknown role \(request.role.prefix(80)); use read, write or admin")
        }
        guard (1...InvitationRequest.longest).contains(request.seconds) else {
            throw ControlError(.invalidRequest, "the lifetime of an invitation must be between 1 second and 30 days")
        }
        let folder = try finder.folder(request.folder)
        let secret = SecureRandom.bytes(count: InvitationCode.secretByteCount)
        guard
            let code = InvitationCode(
                device: configuration.localDevice.digest, secret: secret, addresses: await addresses())
        else { throw ControlError(.failed, "no code could be created. This is a bug; report it.") }
        let now = time.wall().seconds
        let expires = now + request.seconds
        let number = try await index.addInvitation(
            digest: InvitationCode.digest(ofSecret: secret), folder: folder.id, role: request.role,
            expires: expires, now: now)
        guard let number else {
            throw ControlError(
                .tooLarge,
                "there are \(IndexStore.invitationLimit) invitations; revoke some: `synctrain invite --list`, "
                    + "`synctrain invite --revoke NUMBER`")
        }
        invitations.replace(try await index.invitations())
        logger.info("invitation \(number) to \(folder.id) as \(request.role)")
        return Invitation(
            number: number, code: code.description, folder: folder.id.rawValue, role: request.role,
            expires: WallTime(seconds: expires).rfc3339)
    }

    private func invitationList() async throws -> InvitationList {
        let now = time.wall().seconds
        return InvitationList(
            invitations: try await index.invitations().map { invitation in
                let device = invitation.device
                let name = device.flatMap { id in
                    configuration.current.devices.first { $0.id == id }?.name
                }
                return Invitation(
                    number: invitation.number, folder: invitation.folder.rawValue, role: invitation.role,
                    expires: WallTime(seconds: invitation.expires).rfc3339,
                    state: device != nil ? .redeemed : invitation.expires < now ? .expired : .open,
                    device: device?.description, name: name)
            })
    }

    private func revokeInvitation(_ number: Int64) async throws {
        guard try await index.removeInvitation(number) else {
            throw ControlError(
                .noSuchPath, "no invitation \(number); `synctrain invite --list` shows the invitations")
        }
        invitations.replace(try await index.invitations())
    }

    /// The own ones, and the relay that is joined: the guest may be anywhere.
    private func addresses() async -> [String] {
        let relay = await reach?.report.relays.compactMap(\.address).first
        let own = OwnAddresses.dialable(listeners.addresses).map(\.description)
            .prefix(InvitationCode.addressLimit - (relay == nil ? 0 : 1))
        return own + [relay].compactMap { $0 }
    }
}
