import BlockExchange
import ControlAPI
import Cryptography
import Fetching
import GhostDrop
import NIOCore
import PeerLinks
import SyncDecisions
import Synchronization

/// A file on its way to a paired device, which asks for it piece by piece.
package final class OutgoingDrop: DeviceDropSource {
    private struct State {
        var end: DeviceDropMessage.End?
        /// Why the file cannot be read any more.
        var failure: ControlError?
        var patience: OfferPatience
        var sent: Int64 = 0
        var peer: DropPeer
    }

    /// The longest piece.
    static let pieceLimit = 1 << 20

    /// How often a device that is not connected is dialled without heeding its back-off.
    private static let dialInterval = Duration.seconds(5)

    package let id: UniqueID
    package let device: DeviceID
    private let source: any DropSource
    private let digest: SHA256Digest
    private let conversation: DropConversation
    private let environment: DropEnvironment
    private let progress = FetchProgress()
    private let state: Mutex<State>
    /// How long a lost link is waited for.
    private let linkLimit: Duration

    init(
        _ source: any DropSource, digest: SHA256Digest, to device: DeviceID, linkLimit: Duration,
        conversation: DropConversation, environment: DropEnvironment
    ) {
        var random = SystemRandomNumberGenerator()
        id = UniqueID(using: &random)
        self.device = device
        self.source = source
        self.digest = digest
        self.linkLimit = linkLimit
        self.conversation = conversation
        self.environment = environment
        state = Mutex(
            State(
                patience: OfferPatience(at: environment.now()),
                peer: DropPeer(
                    device: device.description, name: environment.name(of: device), address: "", transport: "")))
    }

    /// Where it goes, over the link in use.
    package var peer: DropPeer { state.withLock { $0.peer } }

    // MARK: what the receiver asks

    package func serve(_ message: DeviceDropMessage, _ request: BlockRequest) async -> BlockAnswer {
        state.withLock { state in
            state.patience.asked(at: environment.now())
            if let end = message.end { state.end = state.end ?? end }
        }
        conversation.wake.notify()
        switch message.kind {
        case .about:
            let about = DeviceDropAbout(size: source.size, digest: digest, name: source.name).bytes
            guard about.count <= Int(request.size) else { return BlockAnswer(.generic) }
            return BlockAnswer(ByteBuffer(bytes: about))
        case .data:
            let (end, overflow) = request.offset.addingReportingOverflow(Int64(request.size))
            guard !overflow, request.size > 0, Int(request.size) <= Self.pieceLimit, request.offset >= 0,
                // bounded: checked to be in order, above
                end <= source.size, let bytes = await read(request.offset..<end)
            else { return BlockAnswer(.noSuchFile) }
            report(upTo: end)
            return BlockAnswer(ByteBuffer(bytes: bytes))
        case .end: return BlockAnswer(ByteBuffer())
        case .offer, .cancel: return BlockAnswer(.noSuchFile)
        }
    }

    /// All bytes of a range; nil if they cannot be read, which ends the transfer unless the link that asks is what ended.
    private func read(_ range: Range<Int64>) async -> [UInt8]? {
        do {
            let bytes = try await source.read(range)
            guard bytes.count == range.count else { throw Self.changed(source.name) }
            return bytes
        } catch is CancellationError {
            return nil
        } catch {
            // What the receiver says then is only that it got no more.
            let failure = ControlError(describing: error, path: source.name)
            state.withLock { $0.failure = $0.failure ?? failure }
            conversation.wake.notify()
            return nil
        }
    }

    private func report(upTo end: Int64) {
        let (added, peer) = state.withLock { state in
            defer { state.sent = max(state.sent, end) }
            return (max(0, end - state.sent), state.peer)
        }
        guard let report = progress.add(added, from: nil, at: environment.now()) else { return }
        conversation.tell(
            .progress(
                file: source.name, size: source.size, peer, done: report.bytesDone,
                bytesPerSecond: report.bytesPerSecond))
    }

    // MARK: the sender's side

    /// Offers the file over whatever link there is until the receiver has said how it ended. Throws `ControlError`; a
    /// cancelled task ends the transfer, and the receiver is told.
    package func run() async throws {
        environment.registry.offer(self)
        defer { environment.registry.withdraw(self) }
        do {
            try await offer()
        } catch {
            let (registry, device, id) = (environment.devices, device, id)
            environment.start {
                guard let session = registry.device(device)?.session else { return }
                _ = try? await session.request(DeviceDropMessage(.cancel, id).request(), isBulk: false)
            }
            throw error
        }
    }

    private func offer() async throws {
        var told: PeerSession?
        var lostAt: Duration?
        var dialledAt: Duration?
        while true {
            try Task.checkCancellation()
            let (end, failure) = state.withLock { ($0.end, $0.failure) }
            if let failure { throw failure }
            if let end { return try finish(end) }
            let session = environment.devices.device(device)?.session
            if let session, session !== told {
                lostAt = nil
                told = try await offer(on: session) ? session : nil
                if told != nil {
                    if !state.withLock({ $0.patience.isAskedFor }) {
                        conversation.tell(.announced(file: source.name, size: source.size, peer))
                    }
                    continue
                }
            } else if session == nil {
                if let obstacle = environment.obstacle(to: device) { throw obstacle }
                let now = environment.now()
                if lostAt == nil {
                    lostAt = now
                    conversation.tell(
                        told == nil
                            ? .connecting(address: peer.name ?? "\(device.shortID)")
                            : .retrying(file: source.name, message: Phrase("The link was lost; waiting for it.")))
                    told = nil
                }
                if now - (dialledAt ?? now - Self.dialInterval) >= Self.dialInterval {
                    dialledAt = now
                    await environment.devices.device(device)?.seek()
                }
                guard now - (lostAt ?? now) < linkLimit else {
                    throw Self.unreachable(peer, environment.devices.device(device)?.state)
                }
            } else if let session {
                switch state.withLock({ $0.patience.step(at: environment.now()) }) {
                case .wait: break
                case .offerAgain: if try await !offer(on: session) { told = nil }
                case .giveUp:
                    throw ControlError(
                        .timeout,
                        "The other device stopped requesting data. Check that it is awake, and send the "
                            + "file again.",
                        isRetryable: true)
                }
            }
            // A look at the links now and then is all that a transfer of seconds needs.
            await conversation.wake.wait(atMost: .milliseconds(500), clock: environment.time.clock)
        }
    }

    /// False if the link was lost meanwhile.
    private func offer(on session: PeerSession) async throws -> Bool {
        guard session.speaksSynctrain else {
            throw ControlError(
                .dropFailed, "\(peer.name ?? "The device") does not run synctrain; share a folder with it instead.")
        }
        state.withLock { state in
            state.peer = environment.peer(of: session)
            state.patience.offered(at: environment.now())
        }
        do {
            _ = try await session.request(DeviceDropMessage(.offer, id).request(), isBulk: false)
            return true
        } catch let error as RequestError {
            guard case .refused = error else { return false }
            throw ControlError(
                .dropRefused,
                "\(peer.name.map { "\($0)" } ?? Phrase("The other device")) is not receiving files: run `synctrain drop receive` there, or receive on its page.",
                isRetryable: true)
        }
    }

    private func finish(_ end: DeviceDropMessage.End) throws {
        switch end {
        case .done: return
        case .declined: throw ControlError(.dropRefused, "The other device's user declined \(source.name).")
        case .noSpace:
            throw ControlError(
                .noSpace, "The other device has not enough space for \(source.name); free some space there.")
        case .digestDiffers: throw Self.changed(source.name)
        case .stopped:
            throw ControlError(
                .dropRefused,
                "The other device stopped receiving before it had \(source.name); receive there again, then send it again.",
                isRetryable: true)
        case .unanswered:
            throw ControlError(
                .timeout,
                "Nobody accepted \(source.name) on the other device in time; accept it there when you send it again.",
                isRetryable: true)
        case .failed:
            throw ControlError(
                .dropFailed, "The other device could not store \(source.name); see the message there.",
                isRetryable: true)
        }
    }

    private static func changed(_ file: String) -> ControlError {
        ControlError(.digestDiffers, "\(file) changed while it was being sent; send it again.", isRetryable: true)
    }

    /// - Parameter state: what is known of the device, whose own word counts for more than a guess.
    static func unreachable(_ peer: DropPeer, _ state: DeviceSession.Snapshot?) -> ControlError {
        let name = peer.name ?? peer.device ?? peer.address
        if let state, state.acceptance == .needed, let reason = state.lastError {
            return ControlError(.linkLost, "\(name) cannot be reached: \(reason).", isRetryable: true)
        }
        return ControlError(
            .linkLost,
            "\(name) cannot be reached; bring the devices closer together or into one "
                + "network, and send the file again to resume.", isRetryable: true)
    }
}
