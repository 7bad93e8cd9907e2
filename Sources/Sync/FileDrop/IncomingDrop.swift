import AsyncTools
import BlockExchange
import ControlAPI
import Cryptography
import Fetching
import FileAccess
import GhostDrop
import NIOCore
import PeerLinks
import SyncDecisions

/// A file that a paired device offers: asked for, piece by piece, over whatever link there is.
struct IncomingDrop: Sendable {
    /// Whether the sender has given up.
    final class Cancellation: Sendable {
        private let latch = Latch()
        var isCancelled: Bool { latch.isOpen }
        func cancel() { latch.open() }

        /// Returns when it has, or when the task is cancelled.
        func wait() async { await latch.wait() }

        /// Throws `dropRefused` if it has, `CancellationError` if the task is cancelled.
        func check() throws {
            try Task.checkCancellation()
            if isCancelled {
                throw ControlError(.dropRefused, "The other device stopped the transfer.", isRetryable: true)
            }
        }
    }

    /// How long a lost link is waited for.
    private static let linkLimit = Duration.seconds(120)
    private static let userLimit = Duration.seconds(120)

    let id: UniqueID
    let device: DeviceID
    let directory: RootDirectory
    let cancellation: Cancellation
    let wasAccepted: @Sendable (DropOffer) -> Bool
    let accepted: @Sendable (DropOffer) -> Void
    let conversation: DropConversation
    let environment: DropEnvironment

    /// Gives what came. Throws `ControlError`; what has come is kept for another attempt.
    func run() async throws -> ReceivedDrop {
        var end = DeviceDropMessage.End.failed
        do {
            let received = try await receive(&end)
            // Only what is durable is called done.
            finish(.done)
            return received
        } catch {
            if !cancellation.isCancelled {
                // Whatever it was that noticed the cancellation.
                let told = end == .failed && Task.isCancelled ? .stopped : end
                finish(told)
            }
            throw error
        }
    }

    /// Tells the sender how it ended, whatever becomes of the request. Until then the file is not taken from it again.
    private func finish(_ end: DeviceDropMessage.End) {
        environment.registry.ended(id, by: device)
        environment.start {
            await tell(end)
            environment.registry.told(id)
        }
    }

    private func receive(_ end: inout DeviceDropMessage.End) async throws -> ReceivedDrop {
        let bytes = try await ask(.about, size: DeviceDropMessage.aboutByteCount)
        guard let about = DeviceDropAbout(Array(bytes.readableBytesView)) else {
            throw ControlError(.dropFailed, "The other device offers something that is not a file.")
        }
        let offer = DropOffer(
            name: DropName.local(about.name), size: about.size, digest: about.digest, device: device.description)
        do {
            let file = try await environment.blocking { [directory, space = environment.space] in
                try IncomingFile(
                    directory, name: about.name, size: about.size, digest: about.digest, space: space)
            }
            do {
                try await environment.blocking { try file.checkSpace() }
                if !wasAccepted(offer), try await !isWanted(offer, present: file.presentByteCount, &end) {
                    end = .declined
                    throw ControlError.refusedHere(offer.name)
                }
            } catch {
                await environment.suspend(file)
                throw error
            }
            accepted(offer)
            return ReceivedDrop(offer: offer, peer: peer, path: try await fetch(offer, file, &end))
        } catch let error as CancellationError {
            throw error
        } catch {
            var error = ControlError(describing: error)
            error.path = offer.name
            if error.code == .noSpace { end = .noSpace }
            throw error
        }
    }

    private var peer: DropPeer {
        environment.devices.device(device)?.session.map { environment.peer(of: $0) }
            ?? DropPeer(device: device.description, name: environment.name(of: device), address: "", transport: "")
    }

    /// Asks the user. Throws `timeout` if nobody answers.
    func isWanted(_ offer: DropOffer, present: Int64, _ end: inout DeviceDropMessage.End) async throws -> Bool {
        let question = conversation.ask()
        conversation.tell(.offer(file: offer.name, size: offer.size, peer, present: present, question: question))
        let deadline = environment.now() + Self.userLimit
        while true {
            try cancellation.check()
            if let answer = conversation.takeAnswer() { return answer.action == .accept }
            let rest = deadline - environment.now()
            guard rest > .zero else {
                end = .unanswered
                throw ControlError(.timeout, "\(offer.name) was offered, but the offer was not answered in time.")
            }
            await conversation.wake.wait(atMost: rest, clock: environment.time.clock)
        }
    }

    /// Gets the rest of the file, and if what was there of it turns out to be wrong, all of it.
    private func fetch(
        _ offer: DropOffer, _ file: IncomingFile, _ end: inout DeviceDropMessage.End
    ) async throws -> String {
        var file = file
        var start = file.presentByteCount
        let progress = FetchProgress()
        while true {
            do {
                let current = file
                let from = start
                try await environment.blocking { try current.begin(after: from) }
                _ = progress.add(start, from: nil, at: environment.now())
                while file.writtenByteCount < file.size { try await pull(offer, file, progress) }
                try cancellation.check()
                if let path = try await environment.blocking({ try current.finish() }) { return path }
            } catch {
                await environment.suspend(file)
                throw error
            }
            guard start > 0 else {
                end = .digestDiffers
                throw ControlError(
                    .digestDiffers, "\(offer.name) differs from the announced file; send it again.",
                    isRetryable: true)
            }
            start = 0
            file = try await environment.blocking { [directory, space = environment.space] in
                try IncomingFile(
                    directory, name: offer.name, size: offer.size, digest: offer.digest, space: space)
            }
        }
    }

    /// Gets pieces over one link, some at a time and in order, until the file is whole or the link is lost.
    private func pull(_ offer: DropOffer, _ file: IncomingFile, _ progress: FetchProgress) async throws {
        let session = try await session()
        let peer = environment.peer(of: session)
        let (piece, depth) = session.information.kind.isSlow ? (8 << 10, 4) : (OutgoingDrop.pieceLimit, 4)
        let message = DeviceDropMessage(.data, id)
        do {
            try await withThrowingTaskGroup(of: (offset: Int64, bytes: ByteBuffer).self) { group in
                var asked = file.writtenByteCount
                var arrived: [Int64: ByteBuffer] = [:]
                func askForMore() {
                    guard asked < file.size else { return }
                    // bounded: what is asked for is before the file's end
                    let (offset, count) = (asked, Int(min(Int64(piece), file.size - asked)))
                    asked += Int64(count)
                    group.addTask {
                        let bytes = try await answer(
                            of: session, to: message.request(offset: offset, size: count), isBulk: true)
                        guard bytes.readableBytes == count else { throw RequestError.refused(.generic) }
                        return (offset, bytes)
                    }
                }
                for _ in 0..<depth { askForMore() }
                while let (offset, bytes) = try await group.next() {
                    try cancellation.check()
                    arrived[offset] = bytes
                    while let next = arrived.removeValue(forKey: file.writtenByteCount) {
                        try await environment.blocking { try file.append(Array(next.readableBytesView)) }
                        if let report = progress.add(Int64(next.readableBytes), from: nil, at: environment.now()) {
                            conversation.tell(
                                .progress(
                                    file: offer.name, size: offer.size, peer, done: report.bytesDone,
                                    bytesPerSecond: report.bytesPerSecond))
                        }
                        askForMore()
                    }
                }
            }
        } catch let error as RequestError {
            try lost(error)
        }
    }

    // MARK: asking

    /// Asks over the link in use, and over the next one when it is lost.
    private func ask(_ kind: DeviceDropMessage.Kind, size: Int = 0) async throws -> ByteBuffer {
        while true {
            let session = try await session()
            do {
                return try await answer(
                    of: session, to: DeviceDropMessage(kind, id).request(size: size), isBulk: false)
            } catch let error as RequestError {
                try lost(error)
            }
        }
    }

    /// Tells the sender how it ended, if there is a link within a while.
    private func tell(_ end: DeviceDropMessage.End) async {
        for _ in 0..<3 {
            guard let session = try? await session() else { return }
            do {
                try await session.tell(end, of: id)
                return
            } catch  where error as? RequestError != .linkLost {
                return
            } catch {
                continue
            }
        }
    }

    /// Returns if another link may help. What the sender refuses it has no more.
    private func lost(_ error: RequestError) throws {
        try cancellation.check()
        if case .refused = error {
            throw ControlError(.dropRefused, "The other device stopped the transfer.", isRetryable: true)
        }
    }

    /// Asks, and waits as long as the sender goes on and something comes from it.
    private func answer(of session: PeerSession, to request: BlockRequest, isBulk: Bool) async throws -> ByteBuffer {
        try await SenderWatch(cancellation: cancellation, clock: environment.time.clock)
            .run(received: { session.bytesReceived }) { try await session.request(request, isBulk: isBulk) }
    }

    /// The link in use, or the next one.
    private func session() async throws -> PeerSession {
        let deadline = environment.now() + Self.linkLimit
        while true {
            try cancellation.check()
            if let session = environment.devices.device(device)?.session, session.isOpen { return session }
            if let obstacle = environment.obstacle(to: device) { throw obstacle }
            guard environment.now() < deadline else {
                throw OutgoingDrop.unreachable(peer, environment.devices.device(device)?.state)
            }
            try await environment.time.clock.sleep(for: .milliseconds(200))
        }
    }
}
