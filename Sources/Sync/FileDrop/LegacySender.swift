import ControlAPI
import Cryptography
import Fetching
import GhostDrop
import Transport

/// Sends one file by GhostDrop's first version: joins the machine with the link, the disk and the user.
struct LegacySender: Sendable {
    let link: LegacyLink
    let source: any DropSource
    let digest: SHA256Digest
    let peer: DropPeer
    let conversation: DropConversation
    let environment: DropEnvironment

    /// The receiver has ended the link before it said anything.
    struct NoGreeting: Error {}

    /// Returns when the receiver has it. Throws `NoGreeting` and `ControlError`, `linkLost` if another link may bring the
    /// rest. A cancelled task ends the transfer, and the receiver is told.
    func run() async throws {
        var machine = try machine()
        var reader = DropFrameReader()
        var session = Session()
        do {
            while true {
                link.passFrames(to: &machine, &reader, at: environment.now())
                takeAnswers(&machine, &session)
                if Task.isCancelled { machine.cancel() }
                try await give(&machine)
                if try perform(&machine, &session) { break }
                await link.wait(until: machine.nextDeadline, conversation, environment)
            }
        } catch {
            // Whatever it was that noticed the cancellation.
            if Task.isCancelled { machine.cancel() }
            while let frame = machine.nextFrame(at: environment.now()) { link.write(frame.bytes) }
            await link.end(hasLastWord: !machine.wasEndedByPeer, environment)
            throw error
        }
        await link.close()
    }

    private struct Session {
        var code: String?
        var isGreeted = false
        var isRefusedHere = false
        let progress = FetchProgress()
        var done = 0
    }

    private func machine() throws(ControlError) -> DropSender {
        var random = SystemRandomNumberGenerator()
        let sessionID = UniqueID(using: &random)
        return try link.orDropped {
            DropSender(
                file: DropSender.File(
                    name: source.name, size: Int(source.size), mimeType: "application/octet-stream",
                    sha256: digest.bytes),
                identity: DropSender.Identity(
                    deviceID: environment.registry.deviceID, sessionID: sessionID,
                    transferID: environment.registry.transferID(of: digest, name: source.name),
                    privateKey: try P256PrivateKey(), nonce: SecureRandom.bytes(count: DropFrame.nonceByteCount)),
                capabilities: DropEnvironment.capabilities,
                peer: try CapabilitiesValue(parsing: link.capabilities).capabilities,
                isOrdered: link.information.kind == .l2cap, at: environment.now())
        }
    }

    private func takeAnswers(_ machine: inout DropSender, _ session: inout Session) {
        while let answer = conversation.takeAnswer() {
            guard let code = session.code else { continue }
            session.isRefusedHere = answer.action != .confirm || answer.code != code
            session.code = nil
            machine.answerCode(!session.isRefusedHere, at: environment.now())
        }
    }

    /// Reads pieces and sends frames while the link takes them.
    private func give(_ machine: inout DropSender) async throws {
        machine.advance(to: environment.now())
        while link.canWrite {
            if let piece = machine.nextPiece(at: environment.now()) {
                let range = Int64(piece.range.lowerBound)..<Int64(piece.range.upperBound)
                do {
                    machine.provide(try await source.read(range), at: environment.now())
                } catch let error as ControlError {
                    // The cause is for this user; the receiver is told only that reading failed.
                    machine.fail(GhostDropError(.fileChanged, "the file can no longer be read"))
                    throw error
                } catch {
                    machine.fail(GhostDropError(.fileChanged, "the file can no longer be read: \(error)"))
                }
            }
            guard let frame = machine.nextFrame(at: environment.now()) else { return }
            link.write(frame.bytes)
        }
    }

    /// Tells what has happened; true when all is done.
    private func perform(_ machine: inout DropSender, _ session: inout Session) throws -> Bool {
        while let event = machine.nextEvent() {
            switch event {
            case .compare(let code):
                session.code = code
                session.isGreeted = true
                conversation.forgetAnswers()
                conversation.tell(.code(code, peer))
            case .progress(let count):
                if session.done == 0 { conversation.tell(.announced(file: source.name, size: source.size, peer)) }
                let report = session.progress.add(Int64(count - session.done), from: nil, at: environment.now())
                session.done = count
                if let report {
                    conversation.tell(
                        .progress(
                            file: source.name, size: source.size, peer, done: report.bytesDone,
                            bytesPerSecond: report.bytesPerSecond))
                }
            case .finished: return true
            case .failed(let error):
                try Task.checkCancellation()
                if error.code == .linkLost, !session.isGreeted { throw NoGreeting() }
                throw session.isRefusedHere ? ControlError.refusedHere(source.name) : ControlError(error)
            case .offer, .piece, .checkDigest: break
            }
        }
        return false
    }
}
