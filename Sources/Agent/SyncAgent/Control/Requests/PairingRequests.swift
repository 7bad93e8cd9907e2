import BlockExchange
import ControlAPI
import Pairing
import PeerLinks
import Transport

/// Pairing by a code of six digits.
struct PairingRequests: RequestGroup {
    let pairing: PairingRegistry
    let environment: PairingEnvironment
    let finder: FolderFinder
    let dialer: LinkDialer
    let listeners: ListenerBoard
    let tasks: AgentTasks

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.nearby) { NearbyList(devices: environment.nearbyEntries()) }
        table.on(Endpoints.pair) { try await pair($0, emit: $1) }
        table.on(Endpoints.pairStatus) { await pairStatus() }
        table.on(Endpoints.answerPairing) { try await answerPairing($0) }
    }

    private func pair(_ request: PairRequest, emit: @Sendable (PairEvent) async throws -> Void) async throws {
        let session = PairingSession(
            target: try request.address.map { try target(parsing: $0) },
            folders: try request.folders.map { try finder.folder($0).id },
            seconds: request.seconds ?? PairRequest.longestWait, environment: environment,
            failures: pairing.failures)
        try pairing.begin(session)
        defer { pairing.end(session) }
        await session.begin(listening: OwnAddresses.dialable(listeners.addresses).map(\.description))
        if request.address != nil { tasks.start { await session.dialTarget() } }
        try await session.run(emit: emit)
    }

    private func target(parsing text: String) throws(ControlError) -> PairingTarget {
        let device: DeviceID
        do throws(DeviceIDError) {
            device = try DeviceID(parsing: text)
        } catch {
            guard text.contains(where: { ".:/".contains($0) }) else {
                // Of that length it was meant to be an id; any other word alone is more likely a typing error than a host.
                throw ControlError(
                    .invalidRequest,
                    text.utf8.count >= 49
                        ? error.text
                        : "\(text) is neither a device id nor an address; use 192.168.1.5, nas.local or nas:22000",
                    path: text)
            }
            return .address(try dialer.address(parsing: text))
        }
        guard device != environment.localDevice else {
            throw ControlError(.invalidRequest, "\(device) is this device; give the id of the other one.", path: text)
        }
        return .device(device)
    }

    private func answerPairing(_ answer: PairAnswer) async throws {
        guard let session = pairing.session else { throw ControlError.notPairingHere }
        switch answer {
        case .confirm(let code): try await session.confirm(code)
        case .refuse: await session.refuse()
        case .dial(let text):
            let target = try target(parsing: text)
            tasks.start { await session.dial(target) }
        }
    }

    private func pairStatus() async -> PairStatus {
        var status = await pairing.session?.status ?? PairStatus(state: .idle)
        status.blockedSeconds = pairing.failures.wait.map { Int($0.components.seconds) + 1 }
        return status
    }
}
