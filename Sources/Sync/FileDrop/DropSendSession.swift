import AgentConfiguration
import Arithmetic
import BlockExchange
import ControlAPI
import Cryptography
import NIOCore
import Transport

/// One request of the user's to send files: finds the device, and sends one after the other.
package struct DropSendSession: Sendable {
    /// Where files go.
    package enum Target: Equatable, Sendable {
        case device(DeviceID)
        /// A GhostDrop app, or a synctrain that is not paired.
        case address(LinkAddress)
    }

    private static let dialLimit = Duration.seconds(20)
    private static let nearbyInterval = Duration.milliseconds(500)
    /// How often a lost v1 link is made again, each time with a new code to compare.
    private static let attempts = 3
    /// How often a device may end a link before it has said anything: it does not receive, or has not noticed yet that the
    /// link before is lost.
    private static let silences = (atFirst: 2, later: 20)

    package let request: DropSendRequest
    package let conversation: DropConversation
    package let environment: DropEnvironment

    package init(request: DropSendRequest, conversation: DropConversation, environment: DropEnvironment) {
        self.request = request
        self.conversation = conversation
        self.environment = environment
    }

    private struct Totals {
        var files: Int64 = 0
        var bytes: Int64 = 0
        var failures: [ControlError] = []
    }

    /// Tells what happens. Throws `ControlError` if nothing could be sent, and the error that all files share.
    package func run() async throws {
        conversation.tell(.sending(session: conversation.number, files: request.names))
        // A path that is wrong is better known before the other user is bothered.
        let sources = try await sources()
        let target = try await target()
        var totals = Totals()
        for source in sources {
            do {
                try await send(source, to: target)
                totals.files += 1
                totals.bytes.addClamped(source.size)
            } catch let error as ControlError {
                totals.failures.append(error)
                // One file has one error: it is the command's own.
                guard sources.count > 1 else { throw error }
                conversation.tell(.failed(file: source.name, error))
                if Self.endsAll(error) { break }
            }
        }
        let missing = Int64(sources.count) - totals.files
        conversation.tell(.done(files: totals.files, bytes: totals.bytes, failed: missing))
        guard let first = totals.failures.first else { return }
        guard totals.files == 0 else {
            throw ControlError(.someFailed, "\(missing) of \(sources.count) files were not sent.")
        }
        throw first
    }

    private func sources() async throws -> [any DropSource] {
        var sources: [any DropSource] = []
        for path in request.files ?? [] { sources.append(try await DiskDropSource(path, environment: environment)) }
        for (place, file) in (request.provided ?? []).enumerated() {
            sources.append(
                ProvidedDropSource(file, at: place, conversation: conversation, time: environment.time))
        }
        return sources
    }

    /// Whether the next file would fare no better.
    private static func endsAll(_ error: ControlError) -> Bool {
        [.linkLost, .confirmationNeeded, .codesDiffer, .timeout, .noSuchDevice].contains(error.code)
    }

    // MARK: to whom

    private func target() async throws -> Target {
        if let name = request.target, let target = try Self.target(named: name, known: environment.known()) {
            return try checked(target)
        }
        return try await withThrowingTaskGroup(of: Target?.self) { group in
            for source in environment.nearby {
                group.addTask {
                    await source.lookAround()
                    return nil
                }
            }
            group.addTask { try await self.chosen() }
            defer { group.cancelAll() }
            for try await target in group { if let target { return try checked(target) } }
            throw CancellationError()
        }
    }

    /// What a name stands for that need not be looked for; nil for one that is to be seen nearby. Pure.
    package static func target(named name: String, known: [DeviceConfiguration]) throws(ControlError) -> Target? {
        let id = try? DeviceID(parsing: name)
        // The id comes first: any device may call itself by that of another.
        if let device = known.first(where: { $0.id == id }) { return .device(device.id) }
        let named = known.filter { !$0.name.isEmpty && $0.name == name }
        guard named.count < 2 else {
            throw ControlError(
                .noSuchDevice, "\(named.count) devices are called `\(name)`; use a device id", path: name)
        }
        if let device = named.first { return .device(device.id) }
        guard id == nil else {
            throw ControlError(
                .noSuchDevice, "No paired device has that id; pair with it first: `synctrain pair`.", path: name)
        }
        guard name.contains("://") else { return nil }
        let address: LinkAddress
        do {
            address = try LinkAddress(parsing: name)
        } catch {
            throw ControlError(.invalidRequest, message: error.message, path: name)
        }
        if let device = known.first(where: { $0.addresses.contains(address.description) }) { return .device(device.id) }
        return .address(address)
    }

    private func checked(_ target: Target) throws(ControlError) -> Target {
        guard case .address(let address) = target else { return target }
        guard environment.transports.contains(where: { $0.serves(address) }) else {
            throw ControlError(
                .noSuchDevice,
                "Cannot send to \(address): use the name of a paired device, or the address of a nearby one, ble://….",
                path: address.description)
        }
        return target
    }

    /// Waits for the named device to be seen, or for the user to choose one of those that are.
    private func chosen() async throws -> Target {
        let deadline = environment.now() + .seconds(request.seconds)
        var shown: [NearbyEntry]?
        while true {
            try Task.checkCancellation()
            let entries = receivers()
            if let name = request.target {
                let matches = entries.filter { $0.name == name }
                guard matches.count < 2 else {
                    throw ControlError(
                        .noSuchDevice,
                        "Several nearby devices are called \(name): \(matches.map(\.address).joined(separator: ", ")). Give "
                            + "the address of one.", path: name)
                }
                if let match = matches.first { return try target(match) }
            } else if entries != shown {
                shown = entries
                conversation.tell(.receivers(entries))
            }
            while let answer = conversation.takeAnswer() {
                guard answer.action == .choose else { throw ControlError.refusedHere(nil) }
                if let entry = entries.first(where: { $0.address == answer.address }) { return try target(entry) }
            }
            guard environment.now() < deadline else {
                let what =
                    request.target.map { Phrase("No nearby or paired device called \($0) found.") }
                    ?? Phrase("No nearby or paired device to send to found.")
                throw ControlError(
                    .noSuchDevice,
                    "\(what) Check that it is receiving, "
                        + "and that Bluetooth is on: `synctrain status`.", isRetryable: true, path: request.target)
            }
            await conversation.wake.wait(atMost: Self.nearbyInterval, clock: environment.time.clock)
        }
    }

    private func target(_ entry: NearbyEntry) throws -> Target {
        if let device = entry.device.flatMap({ try? DeviceID(parsing: $0) }) { return .device(device) }
        return .address(try LinkAddress(parsing: entry.address))
    }

    /// The paired devices that are connected, and whoever is nearby on a radio.
    private func receivers() -> [NearbyEntry] {
        let known = environment.known()
        let connected = known.compactMap { device -> NearbyEntry? in
            guard let session = environment.devices.device(device.id)?.session else { return nil }
            return NearbyEntry(
                device: device.id.description, name: device.name, address: session.information.remoteAddress,
                transport: session.information.kind.rawValue, isKnown: true)
        }
        let near = environment.nearby.flatMap(\.nearby).prefix(50).compactMap { device -> NearbyEntry? in
            let address = device.address.description
            guard environment.transports.contains(where: { $0.serves(device.address) }),
                !connected.contains(where: { $0.address == address })
            else { return nil }
            let paired = known.first { $0.addresses.contains(address) }
            return NearbyEntry(
                device: paired?.id.description, name: paired?.name ?? device.name.map { String($0.prefix(64)) },
                address: address, transport: device.kind.rawValue, signal: device.signal, isKnown: paired != nil)
        }
        return connected + near
    }

    // MARK: one file

    private func send(_ source: any DropSource, to target: Target) async throws {
        conversation.tell(.preparing(file: source.name, size: source.size))
        let digest = try await source.digest()
        let start = environment.now()
        let peer: DropPeer
        switch target {
        case .device(let device):
            let drop = OutgoingDrop(
                source, digest: digest, to: device, linkLimit: .seconds(request.seconds), conversation: conversation,
                environment: environment)
            try await drop.run()
            peer = drop.peer
        case .address(let address): peer = try await sendLegacy(source, digest, to: address)
        }
        conversation.tell(
            .sent(
                file: source.name, size: source.size, peer, seconds: (environment.now() - start).inSeconds))
    }

    /// By GhostDrop's first version. A link that was lost is made again, with another code: v1 remembers nobody.
    private func sendLegacy(
        _ source: any DropSource, _ digest: SHA256Digest, to address: LinkAddress
    ) async throws -> DropPeer {
        var attempt = 1
        var silences = 0
        while true {
            let link = try await connect(to: address)
            let peer = environment.peer(of: link)
            do {
                try await LegacySender(
                    link: link, source: source, digest: digest, peer: peer, conversation: conversation,
                    environment: environment
                ).run()
                return peer
            } catch is LegacySender.NoGreeting {
                silences += 1
                guard silences < (attempt == 1 ? Self.silences.atFirst : Self.silences.later) else {
                    throw ControlError(
                        .dropRefused,
                        "\(peer.name ?? peer.address) closes the link at once. Check that it is receiving: "
                            + "`synctrain drop receive`, or a GhostDrop app.", isRetryable: true)
                }
                try await environment.time.clock.sleep(for: .seconds(1))
            } catch let error as ControlError where error.code == .linkLost && attempt < Self.attempts {
                attempt += 1
                silences = 0
                conversation.tell(.retrying(file: source.name, message: error.text))
            }
        }
    }

    /// Dials until the device is there or the time is over.
    private func connect(to address: LinkAddress) async throws -> LegacyLink {
        guard let transport = environment.transports.first(where: { $0.serves(address) }) else {
            throw ControlError(.noSuchDevice, "Cannot dial \(address): unsupported address.", path: address.description)
        }
        conversation.tell(.connecting(address: address.description))
        let deadline = environment.now() + .seconds(request.seconds)
        while true {
            let rest = deadline - environment.now()
            do {
                return try await transport.dialLegacy(address, timeout: max(.seconds(1), min(rest, Self.dialLimit))) {
                    channel, information, capabilities in
                    LegacyLink.install(
                        channel, information, capabilities: capabilities, wake: conversation.wake)
                }
            } catch let error as LinkError {
                let pause = Duration.seconds(1)
                guard error.isTransient, rest > pause else {
                    throw ControlError(
                        .linkLost, "\(address) cannot be reached: \(error.message).", isRetryable: error.isTransient,
                        path: address.description)
                }
                try await environment.time.clock.sleep(for: pause)
            }
        }
    }
}
