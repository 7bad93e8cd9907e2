import AgentConfiguration
import BlockExchange
import ControlAPI
import Pairing
import Transport

/// Pairing by a code, as clients ask for it.
extension Agent {
    public func pair(_ request: PairRequest, emit: @Sendable (PairEvent) async throws -> Void) async throws {
        try await answering {
            let session = PairingSession(
                address: try request.address.map { try pairingAddress($0) },
                folders: try request.folders.map { try folder($0).id },
                seconds: request.seconds ?? PairRequest.longestWait, environment: pairingEnvironment,
                failures: pairing.failures)
            try pairing.begin(session)
            defer { pairing.end(session) }
            await session.begin(listening: listeningAddresses.map(\.description))
            if request.address != nil { start(.pairing { await session.dialAddress() }) }
            try await session.run(emit: emit)
        }
    }

    public func answerPairing(_ answer: PairAnswer) async throws {
        try await answering {
            guard let session = pairing.session else { throw ControlError.notPairingHere }
            switch answer {
            case .confirm(let code): try await session.confirm(code)
            case .refuse: await session.refuse()
            case .dial(let text):
                let address = try pairingAddress(text)
                start(.pairing { await session.dial(address) })
            }
        }
    }

    public func pairStatus() async throws -> PairStatus {
        var status = await pairing.session?.status ?? PairStatus(state: .idle)
        status.blockedSeconds = pairing.failures.wait.map { Int($0.components.seconds) + 1 }
        return status
    }

    public func nearbyDevices() async throws -> [NearbyEntry] { pairingEnvironment.nearbyEntries() }

    func pairingAddress(_ text: String) throws(ControlError) -> LinkAddress {
        let address: LinkAddress
        do {
            address = try LinkAddress(parsing: text)
        } catch {
            throw ControlError(.invalidRequest, error.message, path: text)
        }
        guard address.isDialable, setup.transports.contains(where: { $0.serves(address) }) else {
            throw ControlError(
                .invalidRequest, "Cannot dial \(address): unsupported address; use an address such as tcp://HOST:PORT.",
                path: text)
        }
        return address
    }

    private var pairingEnvironment: PairingEnvironment {
        PairingEnvironment(
            localDevice: localDevice,
            introduction: {
                PairingIntroduction(
                    name: self.configuration.withLock { $0.name },
                    addresses: self.listeningAddresses.map(\.description))
            },
            knownName: { id in
                self.configuration.withLock { $0.devices.first { $0.id == id } }.map { $0.name }
            },
            dial: { try await self.dial($0, install: try self.pairing.dialling()) },
            store: { try await self.store($0, role: nil) }, connect: { await self.devices.device($0)?.seek() },
            nearby: [discovery].compactMap { $0 } + setup.nearby, nonce: { .random() }, events: events,
            time: setup.time, logger: setup.logger)
    }

    /// As `addDevice` and `addFolder`, in one change of the configuration. A device that is known keeps its name, and gets
    /// the new addresses beside its own.
    ///
    /// - parameter role: what it may do in the folders; nil leaves that as it is.
    func store(_ device: PairedDevice, role: DeviceRole?) async throws {
        try await reconfigure {
            let configuration = configuration.withLock { $0 }
            var edits: [ConfigurationEdit] = []
            if let known = configuration.devices.first(where: { $0.id == device.id }) {
                let new = device.addresses.filter { !known.addresses.contains($0) }
                if !new.isEmpty { edits.append(.setAddresses(device.id, known.addresses + new)) }
            } else {
                edits.append(
                    .addDevice(DeviceConfiguration(id: device.id, name: device.name, addresses: device.addresses)))
            }
            for id in device.folders {
                let folder = try configuration.folder(id)
                if !folder.devices.contains(device.id) {
                    edits.append(.setFolderDevices(id, folder.devices + [device.id]))
                }
                if let role, folder.role(of: device.id) != role || !folder.devices.contains(device.id) {
                    edits.append(.setFolderRole(id, device.id, role))
                }
            }
            return edits
        }
        try await index.forgetPending(device.id)
    }
}
