import AgentConfiguration
import AgentContext
import AsyncTools
import BlockExchange
import ControlAPI
import FileAccess
import LinkSecurity
import Pairing
import PeerLinks
import Transport

/// Uses invitations of other devices.
struct JoinRequests: RequestGroup {
    let configuration: RunningConfiguration
    let changes: ConfigurationChanges
    let pairing: PairingRegistry
    let dialer: LinkDialer
    let ways: WayFinder
    let places: AgentPlaces
    let ownIntroduction: @Sendable () -> PairingIntroduction
    let time: AgentTime

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.join) { try await join($0) }
    }

    private func join(_ request: JoinRequest) async throws -> JoinAnswer {
        guard let code = InvitationCode(parsing: request.code) else {
            throw ControlError(
                .invalidRequest,
                "not a complete invitation code; copy all of the code that `synctrain invite` printed")
        }
        let host = DeviceID(digest: code.device)
        guard host != configuration.localDevice else {
            throw ControlError(.invalidRequest, "this device created this invitation; use it on another device")
        }
        let directory = try places.expanded(request.directory)
        let (link, dialled) = try await dialHost(host, code, request.address)
        let information = link.information
        do {
            return try await InvitationTalk.run(on: link, clock: time.clock) { talk in
                try await talk.send(.redeem(secret: code.secret, ownIntroduction()))
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
                // The other device has stored this one.
                try await uncancelled {
                    try await changes.edit { configuration in
                        let edits = try joining.edits(configuration)
                        for case .addFolder(let folder) in edits {
                            try FolderPreparation.prepare(
                                folder, others: configuration.folders, places: places)
                        }
                        return edits
                    }
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

    /// What is to be stored here of an offer.
    private struct Joining: Sendable {
        var device: DeviceConfiguration
        var folder: FolderConfiguration
        var answer: JoinAnswer
        /// The directory that was named for the folder; nil if none was.
        var directory: String?
        var isConfirmed: Bool

        func edits(_ configuration: Configuration) throws -> [ConfigurationEdit] {
            var edits = configuration.edits(storing: device)
            if let here = configuration.folders.first(where: { $0.id == folder.id }) {
                if !here.devices.contains(device.id) {
                    // Its id is the other device's word: who uses a code does not expect to share what is here.
                    guard isConfirmed || isDirectory(of: here) else {
                        let known = configuration.devices.first { $0.id == device.id }?.name ?? ""
                        throw ControlError(
                            sharing: here, with: known.isEmpty ? String(device.id.description.prefix(7)) : known)
                    }
                    edits.append(.setFolderDevices(here.id, here.devices + [device.id]))
                }
            } else {
                edits.append(.addFolder(folder))
            }
            // What cannot be is to be known before the other device stores anything.
            _ = try edits.reduce(configuration) { try $1.applied(to: $0) }
            return edits
        }

        /// Whether the directory that was named is the folder's, however its slashes are written.
        private func isDirectory(of folder: FolderConfiguration) -> Bool {
            guard let directory else { return false }
            let (named, own) = (directory.utf8.split(separator: 0x2F), folder.path.utf8.split(separator: 0x2F))
            return named.elementsEqual(own) { $0.elementsEqual($1) }
        }
    }

    private func joining(
        _ offer: InvitationOffer, _ host: DeviceID, _ request: JoinRequest, in directory: String, addresses: [String]
    ) throws -> Joining {
        let configuration = configuration.current
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
                name: offer.introduction.name), directory: request.isParent ? nil : directory,
            isConfirmed: request.isConfirmed)
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
                "`\(name)` cannot be a directory name; give a directory: synctrain join CODE DIR")
        }
        return directory == "/" ? "/" + name : directory + "/" + name
    }

    /// The secret is for that device alone: a link to any other is closed.
    private func connect(to host: DeviceID, at addresses: [LinkAddress]) async throws -> (SecureLink, LinkAddress) {
        try await ways.connect(to: host, at: addresses, clock: time.clock, install: pairing.diallingToJoin())
    }

    private func dialHost(
        _ host: DeviceID, _ code: InvitationCode, _ address: String?
    ) async throws -> (SecureLink, LinkAddress) {
        let given = try address.map { [try dialer.address(parsing: $0)] }
        let named = given ?? code.addresses.compactMap { try? LinkAddress(parsing: $0) }.filter(\.isDialable)
        do {
            return try await connect(to: host, at: named)
        } catch let error as CancellationError {
            throw error
        } catch let error where ControlError.isWithoutInvitation(error) {
            throw ControlError(notJoining: error)
        } catch {
            // It may be elsewhere than when the code was made.
            let found = given == nil ? await ways.find(host).filter { !named.contains($0) } : []
            guard !found.isEmpty else { throw ControlError(notJoining: named.isEmpty ? nil : error) }
            do {
                return try await connect(to: host, at: found)
            } catch let error as CancellationError {
                throw error
            } catch {
                throw ControlError(notJoining: error)
            }
        }
    }
}

extension ControlError {
    /// Whether the device answered that it expects nobody.
    fileprivate static func isWithoutInvitation(_ error: any Error) -> Bool {
        guard let error = error as? LinkSecurityError else { return false }
        return error.code == .notPairing || error.code == .notWelcome
    }

    /// What using an invitation would do to a folder that is here.
    fileprivate init(sharing folder: FolderConfiguration, with device: String) {
        self.init(
            .confirmationNeeded,
            "The folder \(folder.id) is on this device already, in \(folder.path), and is not shared with \(device). Share it? "
                + "That device could then read, change and delete its files.", path: folder.path)
    }

    /// Why the inviting device was not spoken to.
    ///
    /// - Parameter error: what became of the last try; nil if there was no address to try.
    fileprivate init(notJoining error: (any Error)?) {
        if let error, Self.isWithoutInvitation(error) {
            self.init(
                .pairingFailed, "Nothing was stored: the device has no open invitation; ask for a new code.",
                isRetryable: true)
            return
        }
        let reason =
            error.map { Phrase(of: $0) }
            ?? Phrase("the code has no address, and neither local discovery nor the servers know the device")
        self.init(
            .pairingFailed,
            "Nothing was stored: the inviting device was not reached: \(reason). Give its address with --address HOST.",
            isRetryable: true)
    }

    /// Why an invitation was not redeemed, to the guest.
    init(_ refusal: InvitationRefusal) {
        let (code, message): (Code, Phrase) =
            switch refusal {
            case .unknown: (.invitationRefused, Phrase("the code was revoked or never existed; ask for a new code"))
            case .used: (.invitationRefused, Phrase("another device has used the code; ask for a new code"))
            case .expired: (.invitationRefused, Phrase("the code has expired; ask for a new code"))
            case .folderGone: (.invitationRefused, Phrase("the folder is not shared any more"))
            case .storage:
                (.pairingFailed, Phrase("the other device could not store this one; see its log, and try again"))
            case .declined: (.pairingFailed, Phrase("this device cannot take the folder"))
            case .mistake: (.pairingFailed, Phrase("the two devices did not understand each other; update both"))
            case .time: (.timeout, Phrase("the other device did not answer in time; try again"))
            }
        self.init(
            code, Phrase("\(Self.nothingStored): \(message)").ended,
            isRetryable: refusal == .storage || refusal == .time)
    }
}
