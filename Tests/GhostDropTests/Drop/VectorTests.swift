import Cryptography
import Testing

@testable import GhostDrop

/// v1 is what the real GhostDrop code does: everything it produced is read, and produced again.
@Suite struct VectorTests {
    private let vectors: Vectors
    private let id = UniqueID("6F9619FF-8B86-D011-B42D-00C04FC964FF")

    init() throws { vectors = try Vectors.load() }

    private func expected() throws -> [String: DropFrame] {
        let id = try #require(id)
        let nonce = [UInt8](0..<16)
        let digest = [UInt8](0..<32)
        let publicKey = [UInt8](repeating: 4, count: 65)
        return [
            "hello": .hello(
                .init(
                    sessionID: id, deviceID: id, publicKey: publicKey, nonce: nonce,
                    capabilities: Capabilities(
                        supportsL2CAP: true, maxChunk: 512, maxWindow: 16, protocolVersion: 1))),
            "helloAck": .helloAck(.init(sessionID: id, publicKey: publicKey, nonce: nonce)),
            "verify": .verify(transcriptHash: digest, code: "004217"),
            "verifyAckTrue": .verifyAck(accepted: true),
            "verifyAckFalse": .verifyAck(accepted: false),
            "metadata": .metadata(
                DropMetadata(
                    transferID: id, filename: "a/b\"c\\é😀.bin", size: 9_007_199_254_740_993,
                    mimeType: "application/octet-stream", sha256: digest, chunkSize: 180)),
            "data": .data(sequence: .max, payload: [UInt8](0..<180)),
            "dataEmpty": .data(sequence: 0, payload: []),
            "ack": .ack(cumulative: 41, missing: 9_223_372_036_854_775_809),
            "resume": .resume(transferID: id, lastConfirmed: 99),
            "complete": .complete(transferID: id, sha256: digest),
            "cancel": .cancel(reason: "Cancelled by user"),
            "ping": .ping(id: .max),
            "encrypted": .encrypted(sequence: 3, combined: [UInt8](0..<60)),
        ]
    }

    @Test func framesAreReadAndWrittenAgain() throws {
        let expected = try expected()
        #expect(Set(vectors.frames.map(\.name)) == Set(expected.keys))
        for vector in vectors.frames {
            let frame = try DropFrame(parsing: [UInt8](hex: vector.hex))
            #expect(frame == expected[vector.name], "\(vector.name)")
            #expect(try DropFrame(parsing: frame.bytes) == frame, "\(vector.name)")
            // Keys may be in any order and `/` escaped or not, so the lengths differ by the escapes only.
            let escapes = [UInt8](hex: vector.hex).indices.dropLast().count {
                [UInt8](hex: vector.hex)[$0...].starts(with: Array("\\/".utf8))
            }
            #expect(frame.bytes.count == vector.hex.count / 2 - escapes, "\(vector.name)")
        }
    }

    @Test func streamsAreCutIntoFrames() throws {
        let stream = vectors.frames.flatMap { [UInt8](hex: $0.hex) }
        let whole = try vectors.frames.map { try DropFrame(parsing: [UInt8](hex: $0.hex)) }
        for size in [1, 7, 100, stream.count] {
            var reader = DropFrameReader()
            var frames: [DropFrame] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                reader.append(stream[start..<min(start + size, stream.count)])
                while let frame = try reader.next() { frames.append(frame) }
            }
            #expect(frames == whole)
        }
    }

    @Test func capabilitiesAreReadAndWritten() throws {
        let capabilities = Capabilities(supportsL2CAP: true, maxChunk: 512, maxWindow: 16, protocolVersion: 1)
        for (text, psm) in [(vectors.advertisement, UInt16(192)), (vectors.advertisementNoPSM, nil)] {
            let value = try CapabilitiesValue(parsing: Array(text.utf8))
            #expect(value == CapabilitiesValue(capabilities: capabilities, psm: psm))
            #expect(try CapabilitiesValue(parsing: value.bytes) == value)
            #expect(value.bytes.count == text.utf8.count)
        }
        #expect(Capabilities(supportsL2CAP: true).protocolVersion == 2)
    }

    @Test func packetsArePutTogetherAndCutAgain() throws {
        for vector in vectors.gatt {
            let packets = vector.packets.map { ($0.hasPrefix("N:"), [UInt8](hex: String($0.dropFirst(2)))) }
            var frames: [DropFrame] = []
            var reassembler = DropReassembler()
            // In any order: here the last first.
            for (_, packet) in packets.reversed() {
                if let frame = try reassembler.receive(packet, at: .zero) { frames.append(frame) }
            }
            #expect(frames.count == 2)
            var packetizer = DropPacketizer()
            var again: [(Bool, [UInt8])] = []
            for frame in frames.reversed() {
                again += try packetizer.packets(frame, maximumPacket: vector.maxPacketSize).map { (frame.isBulk, $0) }
            }
            // Bodies may order their keys otherwise; headers, lengths and ways are the same.
            #expect(again.map(\.0) == packets.map(\.0))
            #expect(again.map { Array($0.1.prefix(11)) } == packets.map { Array($0.1.prefix(11)) })
            #expect(again.map(\.1.count) == packets.map(\.1.count))
        }
    }

    @Test func handshakesAgree() throws {
        for vector in vectors.handshakes {
            let session = try #require(UniqueID(vector.sessionID))
            let a = try P256PrivateKey(scalar: [UInt8](hex: vector.privateKeyA))
            let b = try P256PrivateKey(scalar: [UInt8](hex: vector.privateKeyB))
            #expect(a.publicKey == [UInt8](hex: vector.publicKeyA))
            #expect(b.publicKey == [UInt8](hex: vector.publicKeyB))
            let nonces = ([UInt8](hex: vector.nonceA), [UInt8](hex: vector.nonceB))
            let ours = try DropKeys(
                sessionID: session, privateKey: a, nonce: nonces.0, peerKey: b.publicKey, peerNonce: nonces.1)
            let theirs = try DropKeys(
                sessionID: session, privateKey: b, nonce: nonces.1, peerKey: a.publicKey, peerNonce: nonces.0)
            for keys in [ours, theirs] {
                #expect(keys.transcriptHash == [UInt8](hex: vector.transcriptHash))
                #expect(keys.code == vector.sas)
                #expect(keys.encryptionKey == [UInt8](hex: vector.encKeyMaterial))
                #expect(keys.authenticationKey == [UInt8](hex: vector.macKeyMaterial))
            }
            try checkRecords(vector, keys: ours)
        }
    }

    private func checkRecords(_ vector: Vectors.Handshake, keys: DropKeys) throws {
        let sender = try keys.protection(of: .sender)
        let receiver = try keys.protection(of: .receiver)
        let transfer = try #require(UniqueID(vector.transferID))
        for (hex, protection, number) in [
            (vector.senderSealedMetadataSeq0, sender, UInt64(0)), (vector.senderSealedCancelSeq1, sender, 1),
            (vector.receiverSealedPing7Seq0, receiver, 0),
        ] {
            guard case .encrypted(number, let combined) = try DropFrame(parsing: [UInt8](hex: hex)) else {
                Issue.record("no encrypted frame of number \(number)")
                continue
            }
            let plaintext = try protection.open(combined, sequence: number)
            #expect(try protection.seal(plaintext, sequence: number) == combined)
            switch try DropFrame(parsing: plaintext) {
            case .metadata(let metadata): #expect(metadata.transferID == transfer)
            case .cancel: #expect(number == 1)
            case .ping(let id): #expect(id == 7)
            case let other: Issue.record("\(other)")
            }
            #expect(throws: GhostDropError.self) { try protection.open(combined, sequence: number + 1) }
            var changed = combined
            changed[changed.count / 2] ^= 1
            #expect(throws: GhostDropError.self) { try protection.open(changed, sequence: number) }
        }
        let plain = [UInt8](hex: vector.dataPlain)
        let sealed = [UInt8](hex: vector.senderSealedDataSeq5)
        #expect(try sender.seal(plain, sequence: 5) == sealed)
        #expect(try sender.open(sealed, sequence: 5) == plain)
        #expect(throws: GhostDropError.self) { try receiver.open(sealed, sequence: 5) }
    }

    @Test func slidingWindowsMoveAlike() {
        for vector in vectors.slidingWindow {
            var window = SlidingWindow(limit: vector.window)
            for (index, step) in vector.steps.enumerated() {
                switch step.op {
                case "sent":
                    #expect(window.hasRoom, "step \(index)")
                    window.sent(step.seq ?? 0, at: .seconds(step.at ?? 0))
                case "blocked": #expect(!window.hasRoom, "step \(index)")
                case "ack":
                    let again = window.acknowledge(cumulative: step.cum ?? 0, missing: step.nack ?? 0)
                    #expect(again == step.retransmit, "step \(index)")
                    #expect(window.inFlightCount == step.inflight, "step \(index)")
                default:
                    let overdue = window.overdue(
                        at: .seconds(step.now ?? 0), timeout: .seconds(step.timeout ?? 0))
                    #expect(overdue == step.seqs, "step \(index)")
                }
            }
        }
    }
}
