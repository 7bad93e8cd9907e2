import ControlAPI
import Cryptography
import Fetching
import FileAccess
import GhostDrop
import Transport

/// A file that the user is asked about, or was.
struct DropOffer: Hashable, Sendable {
    var name: String
    var size: Int64
    var digest: SHA256Digest
    /// The paired device that offers it; nil for a GhostDrop app.
    var device: String?
}

/// A file that has come.
struct ReceivedDrop: Sendable {
    var offer: DropOffer
    var peer: DropPeer
    var path: String
}

/// Receives one file by GhostDrop's first version: joins the machine with the link, the disk and the user.
struct LegacyReceiver: Sendable {
    let link: LegacyLink
    let directory: RootDirectory
    let peer: DropPeer
    /// Whether the user has taken this very file before, and the link was lost.
    let wasAccepted: @Sendable (DropOffer) -> Bool
    /// The user takes it.
    let accepted: @Sendable (DropOffer) -> Void
    let conversation: DropConversation
    let environment: DropEnvironment

    /// Who connects and says nothing is not waited for.
    private static let helloLimit = Duration.seconds(10)
    /// Pieces are written together up to so many bytes.
    private static let writtenByteCount = 64 << 10

    /// Gives what came, nil if the link ended before anything was offered. Throws `ControlError`. A cancelled task ends the
    /// transfer, and the sender is told; what has come is kept for another attempt.
    func run() async throws -> ReceivedDrop? {
        var machine = try machine()
        var reader = DropFrameReader()
        var session = Session(helloDeadline: environment.now() + Self.helloLimit)
        let result: Result<ReceivedDrop?, any Error>
        do {
            while true {
                link.passFrames(to: &machine, &reader, at: environment.now())
                try await takeAnswers(&machine, &session)
                if Task.isCancelled { machine.cancel() }
                if machine.peerID == nil, environment.now() >= session.helloDeadline { machine.linkEnded() }
                machine.advance(to: environment.now())
                let isOver = try await perform(&machine, &session)
                while link.canWrite, let frame = machine.nextFrame(at: environment.now()) { link.write(frame.bytes) }
                if isOver { break }
                await link.wait(
                    until: machine.nextDeadline ?? (machine.peerID == nil ? session.helloDeadline : nil), conversation,
                    environment)
            }
            result = .success(session.received)
        } catch {
            // Whatever it was that noticed the cancellation.
            if Task.isCancelled { machine.cancel() }
            result = .failure(error)
        }
        while let frame = machine.nextFrame(at: environment.now()) { link.write(frame.bytes) }
        if let file = session.file, session.received == nil { await environment.suspend(file) }
        switch result {
        case .success: await link.close()
        case .failure: await link.end(hasLastWord: !machine.wasEndedByPeer, environment)
        }
        return try result.get()
    }

    private struct Session {
        let helloDeadline: Duration
        var code: String?
        var isRefusedHere = false
        var offer: DropOffer?
        var metadata: DropMetadata?
        /// Waiting for the user.
        var isOffered = false
        var file: IncomingFile?
        var pending: [UInt8] = []
        var done: Int64 = 0
        let progress = FetchProgress()
        var received: ReceivedDrop?
    }

    private func machine() throws(ControlError) -> DropReceiver {
        try link.orDropped {
            DropReceiver(
                identity: DropReceiver.Identity(
                    privateKey: try P256PrivateKey(), nonce: SecureRandom.bytes(count: DropFrame.nonceByteCount)),
                capabilities: DropEnvironment.capabilities)
        }
    }

    // MARK: the user

    private func takeAnswers(_ machine: inout DropReceiver, _ session: inout Session) async throws {
        while let answer = conversation.takeAnswer() {
            if let code = session.code {
                session.isRefusedHere = answer.action != .confirm || answer.code != code
                session.code = nil
                machine.answerCode(!session.isRefusedHere, at: environment.now())
            } else if session.isOffered {
                session.isOffered = false
                if answer.action == .accept {
                    try await accept(&machine, &session)
                } else {
                    session.isRefusedHere = true
                    machine.cancel()
                }
            }
        }
    }

    private func offer(_ metadata: DropMetadata, _ machine: inout DropReceiver, _ session: inout Session) async throws {
        guard let digest = SHA256Digest(metadata.sha256) else { return }
        let offer = DropOffer(name: metadata.localName, size: Int64(metadata.size), digest: digest)
        session.offer = offer
        session.metadata = metadata
        do {
            let file = try await environment.blocking { [directory, space = environment.space] in
                try IncomingFile(
                    directory, name: metadata.filename, size: offer.size, digest: digest, space: space)
            }
            session.file = file
            try await environment.blocking { try file.checkSpace() }
        } catch {
            return try failed(&machine, error, offer)
        }
        if wasAccepted(offer) { return try await accept(&machine, &session) }
        session.isOffered = true
        let question = conversation.ask()
        let present = metadata.resumableByteCount(of: Int(session.file?.presentByteCount ?? 0))
        conversation.tell(
            .offer(file: offer.name, size: offer.size, peer, present: Int64(present), question: question))
    }

    private func accept(_ machine: inout DropReceiver, _ session: inout Session) async throws {
        guard let file = session.file, let metadata = session.metadata, let offer = session.offer else { return }
        accepted(offer)
        let present = metadata.resumableByteCount(of: Int(file.presentByteCount))
        do {
            try await environment.blocking { try file.begin(after: Int64(present)) }
        } catch {
            return try failed(&machine, error, offer)
        }
        machine.accept(resumingAfter: present, at: environment.now())
    }

    /// Tells the sender why the disk did not take it, and ends the transfer with the error as it is.
    private func failed(_ machine: inout DropReceiver, _ error: any Error, _ offer: DropOffer?) throws {
        if error is CancellationError { throw error }
        var error = ControlError(describing: error)
        error.path = offer?.name
        machine.fail(GhostDropError(error.code == .noSpace ? .noSpace : .diskFailed, error.message))
        throw error
    }

    // MARK: what happens

    /// Does what the machine says; true when the file is here.
    private func perform(_ machine: inout DropReceiver, _ session: inout Session) async throws -> Bool {
        while let event = machine.nextEvent() {
            switch event {
            case .compare(let code):
                session.code = code
                conversation.forgetAnswers()
                conversation.tell(.code(code, peer))
            case .offer(let metadata): try await offer(metadata, &machine, &session)
            case .piece(_, let bytes):
                session.pending += bytes
                if session.pending.count >= Self.writtenByteCount { try await write(&machine, &session) }
            case .progress(let count): report(Int64(count), &session)
            case .checkDigest:
                try await write(&machine, &session)
                try await finish(&machine, &session)
            case .finished: return true
            case .failed(let error):
                // What has come is worth keeping, whatever ended it.
                if !session.pending.isEmpty { try? await write(&machine, &session) }
                try Task.checkCancellation()
                if machine.peerID == nil { return true }
                var ending = session.isRefusedHere ? ControlError.refusedHere(session.offer?.name) : ControlError(error)
                ending.path = session.offer?.name
                throw ending
            }
        }
        if !session.pending.isEmpty { try await write(&machine, &session) }
        return false
    }

    private func write(_ machine: inout DropReceiver, _ session: inout Session) async throws {
        guard let file = session.file else { return }
        let bytes = session.pending
        session.pending = []
        do {
            try await environment.blocking { try file.append(bytes) }
        } catch {
            try failed(&machine, error, session.offer)
        }
    }

    private func finish(_ machine: inout DropReceiver, _ session: inout Session) async throws {
        guard let file = session.file, let offer = session.offer else { return }
        do {
            if let path = try await environment.blocking({ try file.finish() }) {
                session.received = ReceivedDrop(offer: offer, peer: peer, path: path)
            }
        } catch {
            try failed(&machine, error, session.offer)
        }
        machine.answerDigest(session.received != nil)
    }

    private func report(_ count: Int64, _ session: inout Session) {
        guard let offer = session.offer else { return }
        let report = session.progress.add(count - session.done, from: nil, at: environment.now())
        session.done = count
        guard let report else { return }
        conversation.tell(
            .progress(
                file: offer.name, size: offer.size, peer, done: report.bytesDone,
                bytesPerSecond: report.bytesPerSecond))
    }
}
