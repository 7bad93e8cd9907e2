import Cryptography
import SyncTestKit
import Testing

@testable import GhostDrop

/// A sender and a receiver with something in between, in virtual time.
private struct Transfer {
    struct Way {
        var isOrdered = true
        /// In thousandths; concerns data and what the receiver sends.
        var loss = 0
        var delay = Duration.milliseconds(20)
    }

    var sender: DropSender
    var receiver: DropReceiver
    let file: [UInt8]
    var written: [UInt8]
    var now = Duration.zero
    var offered: DropMetadata?
    var codes: [String] = []
    var ends: [DropEvent] = []
    var progress: [Int] = []
    var dataFrames: [UInt64] = []
    /// What the receiver has of it from before.
    var resumes: Int?
    var answers = (sender: true, receiver: true)
    /// How long the receiver's user thinks about the file.
    var thinks = Duration.zero
    private var acceptAt: Duration?
    /// Reads the file.
    var read: ([UInt8], Range<Int>) -> [UInt8] = { Array($0[$1]) }
    /// Changes frames on their way: (from the sender, the frame).
    var change: (Bool, DropFrame) -> DropFrame? = { $1 }
    private let way: Way
    private var random: SeededGenerator
    /// When `events` will make both look at the time.
    private var wakeAt: Duration?
    private var events = EventQueue<(toReceiver: Bool, frame: DropFrame?)>()

    init(
        file: [UInt8], seed: UInt64 = 1, way: Way = Way(), digest: [UInt8]? = nil, maxWindow: Int = 32,
        peerVersion: Int = Capabilities.synctrainVersion
    ) throws {
        var random = SeededGenerator(seed: seed)
        self.file = file
        written = []
        self.way = way
        sender = DropSender(
            file: .init(
                name: "../../a file.bin", size: file.count, mimeType: "application/octet-stream",
                sha256: digest ?? SHA256.digest(file).bytes),
            identity: .init(
                deviceID: UniqueID(using: &random), sessionID: UniqueID(using: &random),
                transferID: UniqueID(using: &random), privateKey: try P256PrivateKey(), nonce: random.bytes(16)),
            capabilities: Capabilities(supportsL2CAP: true),
            peer: Capabilities(supportsL2CAP: true, maxWindow: maxWindow, protocolVersion: peerVersion),
            isOrdered: way.isOrdered, at: .zero)
        receiver = DropReceiver(
            identity: .init(privateKey: try P256PrivateKey(), nonce: random.bytes(16)),
            capabilities: Capabilities(supportsL2CAP: true, maxWindow: maxWindow))
        self.random = random
    }

    mutating func run(until limit: Duration = .seconds(600)) {
        pump()
        while let next = events.nextTime, next <= limit, let (time, event) = events.popFirst() {
            now = max(now, time)
            if wakeAt == time { wakeAt = nil }
            if let frame = event.frame {
                if event.toReceiver { receiver.receive(frame, at: now) } else { sender.receive(frame, at: now) }
            }
            pump()
            if ends.count == 2 { return }
        }
    }

    private mutating func pump() {
        var isIdle = false
        while !isIdle {
            isIdle = true
            if let time = acceptAt, time <= now, let offered {
                acceptAt = nil
                written = Array(file.prefix(offered.resumableByteCount(of: resumes ?? 0)))
                receiver.accept(resumingAfter: resumes ?? 0, at: now)
            }
            // These are what time passes by: an end may follow from them.
            while let frame = sender.nextFrame(at: now) {
                isIdle = false
                if case .data(let sequence, _) = frame { dataFrames.append(sequence) }
                send(frame, toReceiver: true)
            }
            while let frame = receiver.nextFrame(at: now) {
                isIdle = false
                send(frame, toReceiver: false)
            }
            while let event = sender.nextEvent() {
                isIdle = false
                if case .compare(let code) = event {
                    codes.append(code)
                    sender.answerCode(answers.sender, at: now)
                }
                if case .progress(let count) = event { progress.append(count) }
                note(event)
            }
            while let event = receiver.nextEvent() {
                isIdle = false
                switch event {
                case .compare(let code):
                    codes.append(code)
                    receiver.answerCode(answers.receiver, at: now)
                case .offer(let metadata):
                    offered = metadata
                    acceptAt = now + thinks
                    events.insert((true, nil), at: now + thinks)
                case .piece(let offset, let bytes):
                    #expect(offset == written.count)
                    written += bytes
                case .checkDigest: receiver.answerDigest(offered?.sha256 == SHA256.digest(written).bytes)
                case .progress: break
                case .finished, .failed: note(event)
                }
            }
            while let piece = sender.nextPiece(at: now) {
                isIdle = false
                sender.provide(read(file, piece.range), at: now)
            }
        }
        guard let deadline = [sender.nextDeadline, receiver.nextDeadline].compactMap({ $0 }).min() else { return }
        if let wakeAt, wakeAt <= deadline { return }
        wakeAt = max(deadline, now)
        events.insert((true, nil), at: max(deadline, now))
    }

    private mutating func note(_ event: DropEvent) {
        switch event {
        case .finished, .failed: ends.append(event)
        default: break
        }
    }

    private mutating func send(_ frame: DropFrame, toReceiver: Bool) {
        guard let frame = change(toReceiver, frame) else { return }
        let mayBeLost = if case .ack = frame { true } else { frame.isBulk }
        if mayBeLost, random.int(1...1000) <= way.loss { return }
        let jitter = way.isOrdered || !frame.isBulk ? 0 : random.int(0...30)
        // What travels, travels as bytes.
        guard let copy = try? DropFrame(parsing: frame.bytes) else {
            Issue.record("\(frame) is not read back")
            return
        }
        events.insert((toReceiver, copy), at: now + way.delay + .milliseconds(jitter))
    }
}

@Suite struct TransferTests {
    private static func failure(_ event: DropEvent?) -> GhostDropError.Code? {
        if case .failed(let error) = event { error.code } else { nil }
    }

    @Test(arguments: [0, 1, 179, 180, 181, 50_000]) func aFileArrives(byteCount: Int) throws {
        var random = SeededGenerator(seed: 1)
        var transfer = try Transfer(file: random.bytes(byteCount))
        transfer.run()
        #expect(transfer.ends == [.finished, .finished])
        #expect(transfer.written == transfer.file)
        #expect(transfer.codes.count == 2 && transfer.codes[0] == transfer.codes[1])
        #expect(transfer.offered?.localName == "a file.bin")
        #expect(transfer.progress.last ?? 0 == byteCount)
        // Each piece once, in order: v1's repetition costs nothing where nothing gets lost.
        #expect(transfer.dataFrames == (0..<UInt64((byteCount + 179) / 180)).map { $0 })
    }

    @Test(arguments: 0..<20) func aFileArrivesOverGATTWithLosses(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var transfer = try Transfer(
            file: random.bytes(random.int(0...20_000)), seed: seed,
            way: .init(isOrdered: false, loss: random.int(0...200)), maxWindow: random.pick([1, 3, 32]))
        transfer.run()
        #expect(transfer.ends == [.finished, .finished])
        #expect(transfer.written == transfer.file)
    }

    @Test(arguments: [(0, 0), (100, 0), (180, 0), (300, 0), (360, 2), (5_000, 27)])
    func aTransferResumesAfterWholePieces(present: Int, firstSent: UInt64) throws {
        var random = SeededGenerator(seed: 2)
        var transfer = try Transfer(file: random.bytes(10_000))
        transfer.resumes = present
        transfer.run()
        #expect(transfer.ends == [.finished, .finished])
        #expect(transfer.written == transfer.file)
        #expect(transfer.dataFrames.first == firstSent)
    }

    /// Another synctrain counts up to the first gap, and is believed on GATT, too; a v1 app gets everything again.
    @Test(arguments: [(2, UInt64(27)), (1, 0)]) func aTransferResumesOverGATT(version: Int, firstSent: UInt64) throws {
        var random = SeededGenerator(seed: 2)
        var transfer = try Transfer(
            file: random.bytes(10_000), way: .init(isOrdered: false, loss: 50), peerVersion: version)
        transfer.resumes = 5_000
        transfer.run()
        #expect(transfer.ends == [.finished, .finished])
        #expect(transfer.written == transfer.file)
        #expect(transfer.dataFrames.first == firstSent)
    }

    /// v1 has no word for "my user is thinking": the first piece is repeated meanwhile, and no other is sent.
    @Test(arguments: [true, false]) func aUserMayThink(isOrdered: Bool) throws {
        var random = SeededGenerator(seed: 4)
        var transfer = try Transfer(file: random.bytes(5_000), way: .init(isOrdered: isOrdered))
        transfer.thinks = .seconds(50)
        transfer.run(until: .seconds(49))
        #expect(transfer.written.isEmpty && Set(transfer.dataFrames) == [0] && transfer.dataFrames.count < 8)
        transfer.run()
        #expect(transfer.ends == [.finished, .finished])
        #expect(transfer.written == transfer.file)
    }

    /// Nothing of an empty file is acknowledged. It is not sent before the user has taken it, and the link's end is no refusal.
    @Test func anEmptyFileWaitsForItsUser() throws {
        var transfer = try Transfer(file: [])
        transfer.thinks = .seconds(50)
        transfer.run(until: .seconds(49))
        #expect(transfer.ends.isEmpty)
        transfer.receiver.linkEnded()
        transfer.run(until: .seconds(51))
        #expect(transfer.ends == [.finished])
        transfer.sender.linkEnded()
        transfer.run()
        #expect(transfer.ends == [.finished, .finished])
        var declined = try Transfer(file: [])
        declined.thinks = .seconds(50)
        declined.run(until: .seconds(49))
        declined.receiver.cancel()
        declined.run()
        #expect(declined.ends.map { Self.failure($0) } == [.declined, .declined])
    }

    /// A v1 app that drops what comes before its user's yes, and counts over the gap from then on, gets a whole file.
    @Test func anAppMayDropWhatComesBeforeItsUsersYes() throws {
        var random = SeededGenerator(seed: 4)
        var transfer = try Transfer(file: random.bytes(5_000))
        let dropped = Log()
        transfer.change = { isFromSender, frame in
            guard isFromSender, frame.isBulk, dropped.frames.count < 3 else { return frame }
            dropped.frames.append(frame)
            return nil
        }
        transfer.run()
        #expect(transfer.ends == [.finished, .finished])
        #expect(transfer.dataFrames.dropFirst(3) == ArraySlice((0..<28).map { $0 }))
    }

    @Test func aLinkThatEndsEndsTheTransferUnlessAllIsThere() throws {
        var random = SeededGenerator(seed: 6)
        var transfer = try Transfer(file: random.bytes(100_000))
        transfer.run(until: .milliseconds(1500))
        transfer.sender.linkEnded()
        transfer.receiver.linkEnded()
        transfer.run()
        #expect(transfer.ends.map { Self.failure($0) } == [.linkLost, .linkLost])
        // The last word is lost with the link: the digest says as much.
        var whole = try Transfer(file: random.bytes(1_000))
        whole.change = { isFromSender, frame in
            guard isFromSender, case .encrypted(1, _) = frame else { return frame }
            return nil
        }
        whole.run(until: .seconds(2))
        whole.receiver.linkEnded()
        whole.sender.linkEnded()
        whole.run()
        #expect(whole.ends == [.finished, .finished] && whole.written == whole.file)
    }

    @Test func aReasonOfOnesOwnIsToldToTheOther() throws {
        for isSendersTurn in [true, false] {
            var random = SeededGenerator(seed: 6)
            var transfer = try Transfer(file: random.bytes(100_000))
            transfer.run(until: .milliseconds(1500))
            let error = GhostDropError(.noSpace, "full")
            if isSendersTurn { transfer.sender.fail(error) } else { transfer.receiver.fail(error) }
            transfer.run()
            #expect(Set(transfer.ends.map { Self.failure($0) }) == [.noSpace])
        }
    }

    /// v1's receivers say `resume` with 0 when they have nothing.
    @Test func aResumeOfZeroDoesNotSkipTheFirstPiece() throws {
        var random = SeededGenerator(seed: 3)
        var transfer = try Transfer(file: random.bytes(1000))
        transfer.run(until: .milliseconds(100))
        transfer.sender.receive(
            .resume(transferID: transfer.sender.metadata.transferID, lastConfirmed: 0), at: transfer.now)
        transfer.run()
        #expect(transfer.dataFrames.first == 0)
        #expect(transfer.written == transfer.file)
    }

    @Test func whoOnlyHasTheFirstPieceSaysNothingOfIt() throws {
        var random = SeededGenerator(seed: 3)
        var resumes: [DropFrame] = []
        var transfer = try Transfer(file: random.bytes(1000))
        transfer.resumes = 180
        let log = Log()
        transfer.change = { isFromSender, frame in
            if !isFromSender, case .resume = frame { log.frames.append(frame) }
            return frame
        }
        transfer.run()
        resumes = log.frames
        #expect(resumes.isEmpty)
        #expect(transfer.ends == [.finished, .finished])
    }

    private final class Log {
        var frames: [DropFrame] = []
    }

    @Test func nothingMovesWithoutBothUsers() throws {
        for (answers, code) in [((false, true), "sender"), ((true, false), "receiver"), ((false, false), "both")] {
            var transfer = try Transfer(file: [1, 2, 3])
            transfer.answers = answers
            transfer.run()
            #expect(transfer.ends.count == 2, "\(code)")
            #expect(transfer.ends.allSatisfy { Self.failure($0) == .declined }, "\(code)")
            #expect(transfer.offered == nil && transfer.written.isEmpty && transfer.dataFrames.isEmpty, "\(code)")
        }
    }

    /// Somebody in between who puts a key of his own in place of each: the codes that the users see differ, and the
    /// receiver notices it before they compare.
    @Test func keysChangedOnTheWayAreNoticed() throws {
        let attacker = try P256PrivateKey()
        var transfer = try Transfer(file: [1, 2, 3])
        transfer.change = { _, frame in
            switch frame {
            case .hello(var hello):
                hello.publicKey = attacker.publicKey
                return .hello(hello)
            default: return frame
            }
        }
        transfer.run()
        #expect(transfer.ends.contains { Self.failure($0) == .codesDiffer })
        #expect(transfer.offered == nil && transfer.written.isEmpty)
    }

    @Test func aChangedPieceEndsTheTransfer() throws {
        var random = SeededGenerator(seed: 5)
        var transfer = try Transfer(file: random.bytes(5000))
        transfer.change = { _, frame in
            guard case .data(10, var payload) = frame else { return frame }
            payload[40] ^= 1
            return .data(sequence: 10, payload: payload)
        }
        transfer.run()
        #expect(transfer.ends.contains { Self.failure($0) == .notAuthentic })
        #expect(transfer.ends.contains { Self.failure($0) == .cancelled })
        #expect(transfer.written.count <= 1800)
    }

    @Test func dataInTheClearBeforeTheComparisonIsRefused() throws {
        var transfer = try Transfer(file: [1, 2, 3])
        transfer.receiver.receive(.data(sequence: 0, payload: [1, 2, 3]), at: .zero)
        #expect(Self.failure(transfer.receiver.nextEvent()) == .unexpectedFrame)
    }

    @Test func aFileThatIsNotTheAnnouncedOneIsNotFinished() throws {
        var transfer = try Transfer(file: [1, 2, 3], digest: [UInt8](repeating: 9, count: 32))
        transfer.run()
        #expect(transfer.ends.map { Self.failure($0) } == [.digestDiffers, .digestDiffers])
    }

    @Test func aFileThatShrinksWhileItIsSentEndsTheTransfer() throws {
        var transfer = try Transfer(file: [UInt8](repeating: 1, count: 1000))
        transfer.read = { file, range in range.lowerBound < 540 ? Array(file[range]) : [1] }
        transfer.run()
        #expect(Set(transfer.ends.map { Self.failure($0) }) == [.fileChanged])
        #expect(transfer.written.count <= 540)
    }

    @Test func aSilentPeerIsGivenUp() throws {
        for stage in 0..<3 {
            var transfer = try Transfer(file: [UInt8](repeating: 1, count: 100_000))
            transfer.change = { isFromSender, frame in
                switch (frame, stage) {
                case (.helloAck, 0): nil
                case (.verifyAck, 1) where !isFromSender: nil
                case (.ack, 2): nil
                default: frame
                }
            }
            transfer.run()
            #expect(transfer.ends.contains { Self.failure($0) == .timedOut }, "stage \(stage)")
            #expect(transfer.now <= .seconds(300))
        }
    }

    @Test func cancellingTellsTheOtherSide() throws {
        for sendersTurn in [true, false] {
            var random = SeededGenerator(seed: 6)
            var transfer = try Transfer(file: random.bytes(100_000))
            transfer.run(until: .milliseconds(1500))
            #expect(transfer.ends.isEmpty && !transfer.written.isEmpty)
            if sendersTurn { transfer.sender.cancel() } else { transfer.receiver.cancel() }
            transfer.run()
            #expect(Set(transfer.ends.map { Self.failure($0) }) == [.declined])
        }
    }

    /// Frames in any order, repeated, and of nonsense: an error at most.
    @Test func anyFramesAtAnyTimeNeverTrap() throws {
        for seed in UInt64(0)..<60 {
            var random = SeededGenerator(seed: seed)
            var transfer = try Transfer(file: random.bytes(2000), seed: seed)
            var seen: [DropFrame] = [
                .ack(cumulative: .max, missing: .max), .data(sequence: .max, payload: []),
                .resume(transferID: transfer.sender.metadata.transferID, lastConfirmed: .max),
                .encrypted(sequence: .max, combined: [1]), .metadata(transfer.sender.metadata),
                .verifyAck(accepted: true),
                .ack(cumulative: 3, missing: .max), .ping(id: 0), .verify(transcriptHash: [], code: ""),
                .complete(transferID: transfer.sender.metadata.transferID, sha256: []),
            ]
            let log = Log()
            transfer.change = { _, frame in
                log.frames.append(frame)
                return frame
            }
            for step in 0..<random.int(1...30) {
                transfer.run(until: .milliseconds(50 * step))
                seen += log.frames.suffix(3)
                let frame = random.pick(seen)
                if random.isOne(in: 2) {
                    transfer.sender.receive(frame, at: transfer.now)
                } else {
                    transfer.receiver.receive(frame, at: transfer.now)
                }
            }
            transfer.run()
            #expect(transfer.ends.count <= 2)
            if transfer.ends == [.finished, .finished] { #expect(transfer.written == transfer.file) }
        }
    }
}
