import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import IndexStore
import LinkSecurity
import NIOCore
import Pairing
import Transport

/// Invitations: a code in the place of six digits.
extension Agent {
    // MARK: the device that invites

    public func invite(_ request: InvitationRequest) async throws -> Invitation {
        try await answering {
            guard DeviceRole(rawValue: request.role) != nil else {
                throw ControlError(
                    .invalidRequest, "unknown role \(request.role.prefix(80)); use read, write or admin")
            }
            guard (1...InvitationRequest.longest).contains(request.seconds) else {
                throw ControlError(
                    .invalidRequest, "the lifetime of an invitation must be between 1 second and 30 days")
            }
            let folder = try folder(request.folder)
            let secret = SecureRandom.bytes(count: InvitationCode.secretByteCount)
            guard
                let code = InvitationCode(
                    device: localDevice.digest, secret: secret, addresses: dialableAddresses())
            else { throw ControlError(.failed, "no code could be created. This is a bug; report it.") }
            let now = setup.time.wall().seconds
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
            setup.logger.info("invitation \(number) to \(folder.id) as \(request.role)")
            return Invitation(
                number: number, code: code.description, folder: folder.id.rawValue, role: request.role,
                expires: WallTime(seconds: expires).rfc3339)
        }
    }

    public func invitationList() async throws -> InvitationList {
        try await answering {
            let now = setup.time.wall().seconds
            return InvitationList(
                invitations: try await index.invitations().map { invitation in
                    let device = invitation.device
                    let name = device.flatMap { id in
                        configuration.withLock { $0.devices.first { $0.id == id }?.name }
                    }
                    return Invitation(
                        number: invitation.number, folder: invitation.folder.rawValue, role: invitation.role,
                        expires: WallTime(seconds: invitation.expires).rfc3339,
                        state: device != nil ? .redeemed : invitation.expires < now ? .expired : .open,
                        device: device?.description, name: name)
                })
        }
    }

    public func revokeInvitation(_ number: Int64) async throws {
        try await answering {
            guard try await index.removeInvitation(number) else {
                throw ControlError(
                    .noSuchPath, "no invitation \(number); `synctrain invite --list` shows the invitations")
            }
            invitations.replace(try await index.invitations())
        }
    }

    /// Serves a link whose other end has an invitation to redeem.
    func serveInvitation(_ link: SecureLink) async {
        let (peer, address) = (link.peer, link.information.remoteAddress)
        do {
            let isStored = try await InvitationTalk.run(on: link, clock: setup.time.clock) { talk in
                do throws(InvitationRefusal) {
                    try await self.serve(&talk, from: link.information, peer)
                    return true
                } catch {
                    self.setup.logger.info("an invitation was not used by \(peer) at \(address): \(error)")
                    try await talk.send(.refuse(error))
                    return false
                }
            }
            if isStored { await devices.device(peer)?.seek() }
        } catch {
            setup.logger.debug("the link of a guest broke: \(error)")
        }
    }

    private func serve(
        _ talk: inout InvitationTalk, from link: LinkInformation, _ peer: DeviceID
    ) async throws(InvitationRefusal) {
        guard case .redeem(let secret, let introduction) = try await Self.message(&talk) else { throw .mistake }
        let invitation: StoredInvitation
        do throws(InvitationRefusal) {
            invitation = try invitations.find(secret, for: peer)
        } catch {
            if error == .unknown { try? await setup.time.clock.sleep(for: invitations.pause) }
            throw error
        }
        guard let folder = configuration.withLock({ $0.folders.first { $0.id == invitation.folder } }),
            let role = DeviceRole(rawValue: invitation.role),
            let offer = InvitationOffer(
                folder: folder.id.rawValue, label: folder.label, role: invitation.role,
                introduction: invitationIntroduction)
        else { throw .folderGone }
        try await Self.say(.offer(offer), &talk)
        guard case .ready = try await Self.message(&talk) else { throw .mistake }
        // Used before anything is stored: it is good once whatever happens now, but the same device may try again.
        let isFirst: Bool
        do { isFirst = try await index.redeemInvitation(invitation.number, by: peer) } catch { throw .storage }
        guard isFirst else { throw .used }
        do {
            invitations.replace(try await index.invitations())
            let addresses = PairedAddresses.addresses(dialled: nil, link: link, introduced: introduction.addresses)
            try await store(
                PairedDevice(id: peer, name: introduction.name, addresses: addresses, folders: [folder.id]),
                role: role)
        } catch {
            setup.logger.error("a device that was invited could not be stored: \(error)")
            throw .storage
        }
        setup.logger.info("invitation \(invitation.number) was used by \(peer), \(introduction.name)")
        try await Self.say(.done, &talk)
        // Its own word that it has stored this one changes nothing here, but the link is its to end.
        _ = try? await talk.next()
    }

    // MARK: the device that was invited

    public func join(_ request: JoinRequest) async throws -> JoinAnswer {
        try await answering {
            guard let code = InvitationCode(parsing: request.code) else {
                throw ControlError(
                    .invalidRequest,
                    "not a complete invitation code; copy all of the code that `synctrain invite` printed")
            }
            let host = DeviceID(digest: code.device)
            guard host != localDevice else {
                throw ControlError(.invalidRequest, "this device created this invitation; use it on another device")
            }
            let directory = try setup.places.expanded(request.directory)
            let (link, dialled) = try await dialHost(host, code, request.address)
            let information = link.information
            do {
                return try await InvitationTalk.run(on: link, clock: setup.time.clock) { talk in
                    try await talk.send(.redeem(secret: code.secret, self.invitationIntroduction))
                    guard case .offer(let offer) = try await talk.next() else { throw InvitationRefusal.mistake }
                    let joining: Joining
                    do {
                        joining = try self.joining(
                            offer, host, request, in: directory,
                            addresses: PairedAddresses.addresses(
                                dialled: dialled, link: information, introduced: offer.introduction.addresses))
                    } catch {
                        try await talk.send(.refuse(.declined))
                        throw error
                    }
                    try await talk.send(.ready)
                    guard case .done = try await talk.next() else { throw InvitationRefusal.mistake }
                    try await self.reconfigure {
                        let edits = try joining.edits(self.configuration.withLock { $0 })
                        for case .addFolder(let folder) in edits {
                            try FolderPreparation.prepare(
                                folder, others: self.configuration.withLock { $0.folders }, places: self.setup.places)
                        }
                        return edits
                    }
                    // Both have stored it; this word changes nothing there.
                    try? await talk.send(.done)
                    return joining.answer
                }
            } catch let refusal as InvitationRefusal {
                throw ControlError(refusal)
            } catch is InvitationTalk.LinkEnded {
                throw ControlError(
                    .pairingFailed,
                    "the other device closed the connection; try the same code again, it is still valid for this device",
                    isRetryable: true)
            }
        }
    }

    /// What is to be stored here of an offer.
    private struct Joining: Sendable {
        var device: DeviceConfiguration
        var folder: FolderConfiguration
        var answer: JoinAnswer

        func edits(_ configuration: Configuration) throws -> [ConfigurationEdit] {
            var edits: [ConfigurationEdit] = []
            if let known = configuration.devices.first(where: { $0.id == device.id }) {
                let new = device.addresses.filter { !known.addresses.contains($0) }
                if !new.isEmpty { edits.append(.setAddresses(device.id, known.addresses + new)) }
            } else {
                edits.append(.addDevice(device))
            }
            if let here = configuration.folders.first(where: { $0.id == folder.id }) {
                if !here.devices.contains(device.id) {
                    edits.append(.setFolderDevices(here.id, here.devices + [device.id]))
                }
            } else {
                edits.append(.addFolder(folder))
            }
            // What cannot be is to be known before the other device stores anything.
            _ = try edits.reduce(configuration) { try $0.applying($1) }
            return edits
        }
    }

    private func joining(
        _ offer: InvitationOffer, _ host: DeviceID, _ request: JoinRequest, in directory: String, addresses: [String]
    ) throws -> Joining {
        let configuration = configuration.withLock { $0 }
        let id = FolderID(offer.folder)
        let path =
            try configuration.folders.first { $0.id == id }?.path ?? Self.place(of: offer, request, in: directory)
        guard let mode = FolderConfiguration.Mode(rawValue: request.mode) else {
            throw ControlError(.invalidRequest, "unknown folder mode \(request.mode); use selective or full")
        }
        let joining = Joining(
            device: DeviceConfiguration(id: host, name: offer.introduction.name, addresses: addresses),
            folder: FolderConfiguration(id: id, label: offer.label, path: path, mode: mode, devices: [host]),
            answer: JoinAnswer(
                folder: offer.folder, label: offer.label, role: offer.role, path: path, device: host.description,
                name: offer.introduction.name))
        _ = try joining.edits(configuration)
        return joining
    }

    /// The directory that was named, or one in it with the folder's name.
    private static func place(
        of offer: InvitationOffer, _ request: JoinRequest, in directory: String
    ) throws -> String {
        guard request.isParent else { return directory }
        let name = offer.label.isEmpty ? offer.folder : offer.label
        guard let path = RelativePath(name), path.parent == nil, !path.isInternal, !path.isTemporary else {
            throw ControlError(
                .invalidRequest,
                "the folder \(name) has an id that cannot be a directory name; give a directory: synctrain join CODE DIR"
            )
        }
        return directory == "/" ? "/" + name : directory + "/" + name
    }

    private func dialHost(
        _ host: DeviceID, _ code: InvitationCode, _ address: String?
    ) async throws -> (SecureLink, LinkAddress) {
        var addresses = try address.map { [try pairingAddress($0)] } ?? []
        if addresses.isEmpty {
            let known = code.addresses.compactMap { try? LinkAddress(parsing: $0) }
            for address in known + (discovery?.addresses(of: host) ?? [])
            where address.isDialable && !addresses.contains(address) {
                addresses.append(address)
            }
        }
        var last: (any Error)?
        for address in addresses.prefix(8) {
            do {
                let link = try await dial(address, install: pairing.diallingToJoin())
                // The secret is for that device alone.
                if link.peer == host { return (link, address) }
                await link.close()
            } catch let error as CancellationError {
                throw error
            } catch {
                last = error
            }
        }
        let reason =
            switch last {
            case let error as LinkSecurityError where error.code == .notPairing || error.code == .notWelcome:
                "the device has no open invitation; ask for a new code"
            case let error?: "\(error)"
            case nil:
                addresses.isEmpty
                    ? "the code has no address, and the device was not found nearby" : "other devices answer there"
            }
        throw ControlError(
            .pairingFailed,
            "Nothing was stored: the inviting device was not reached: \(reason). Give its address with --address HOST.",
            isRetryable: true)
    }

    // MARK: -

    private var invitationIntroduction: PairingIntroduction {
        PairingIntroduction(
            name: configuration.withLock { $0.name }, addresses: listeningAddresses.map(\.description))
    }

    /// Where another device may reach this one, as far as this one knows: a port of all addresses is of no use in a code,
    /// but for those that the machine has.
    private func dialableAddresses() -> [String] {
        listeningAddresses.flatMap { address -> [String] in
            guard address.isUnspecified, case .tcp(_, let port) = address else {
                return address.isDialable ? [address.description] : []
            }
            return OwnAddresses.all().map { LinkAddress.tcp(host: $0, port: port).description }
        }
    }

    private static func message(_ talk: inout InvitationTalk) async throws(InvitationRefusal) -> InvitationMessage {
        do {
            return try await talk.next()
        } catch {
            throw error as? InvitationRefusal ?? .mistake
        }
    }

    private static func say(
        _ message: InvitationMessage, _ talk: inout InvitationTalk
    ) async throws(InvitationRefusal) {
        do { try await talk.send(message) } catch { throw .mistake }
    }
}

extension ControlError {
    /// Why an invitation was not redeemed, to the guest.
    init(_ refusal: InvitationRefusal) {
        let (code, message): (Code, String) =
            switch refusal {
            case .unknown: (.invitationRefused, "the code was revoked or never existed; ask for a new code")
            case .used: (.invitationRefused, "another device has used the code; ask for a new code")
            case .expired: (.invitationRefused, "the code has expired; ask for a new code")
            case .folderGone: (.invitationRefused, "the folder is not shared any more")
            case .storage: (.pairingFailed, "the other device could not store this one; see its log, and try again")
            case .declined: (.pairingFailed, "this device cannot take the folder")
            case .mistake: (.pairingFailed, "the two devices did not understand each other; update both")
            case .time: (.timeout, "the other device did not answer in time; try again")
            }
        self.init(
            code, "\(Self.nothingStored): \(message).", isRetryable: refusal == .storage || refusal == .time)
    }
}
