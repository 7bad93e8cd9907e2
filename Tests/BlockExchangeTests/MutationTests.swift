import NIOCore
import SyncTestKit
import Testing

@testable import BlockExchange

/// Damaged bytes end in an error or in events, never in a trap.
struct MutationTests {
    static let mutationsPerSeed = 5000

    @Test(arguments: [1001, 1002, 1003, 1004] as [UInt64])
    func `damaged golden bytes never trap`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var outcomes = (taken: 0, refused: 0)
        for _ in 0..<Self.mutationsPerSeed {
            let vector = random.pick(Golden.vectors)
            let bytes = Self.damaged(vector.bytes, &random)
            let stage = random.isOne(in: 10) ? Peer.Stage.hello : Golden.stage(of: vector)
            switch Peer.outcome(bytes, before: stage) {
            case .success(let events):
                outcomes.taken += 1
                Self.checkInvariants(events)
            case .failure(let error):
                outcomes.refused += 1
                #expect(!error.message.isEmpty)
            }
        }
        // Both happen, or the damage was none.
        #expect(outcomes.taken > Self.mutationsPerSeed / 20)
        #expect(outcomes.refused > Self.mutationsPerSeed / 20)
    }

    @Test(arguments: [2001, 2002] as [UInt64])
    func `damaged bytes say the same in any pieces`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1000 {
            let vector = random.pick(Golden.vectors)
            let bytes = Self.damaged(vector.bytes, &random)
            let whole = Peer.outcome(bytes, before: Golden.stage(of: vector))
            var peer = Peer(before: Golden.stage(of: vector))
            var events: [ConnectionEvent] = []
            var failure: ProtocolError?
            var start = 0
            while start < bytes.count, failure == nil {
                let end = min(bytes.count, start + random.int(1...40))
                peer.reader.append(ByteBuffer(bytes: bytes[start..<end]))
                do throws(ProtocolError) {
                    while let event = try peer.reader.next() { events.append(event) }
                } catch {
                    failure = error
                }
                start = end
            }
            switch whole {
            case .success(let expected): #expect(events == expected && failure == nil)
            case .failure(let error): #expect(failure == error)
            }
        }
    }

    /// `bytes` with a few of them changed, removed, doubled or swapped.
    static func damaged(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<random.int(1...4) where !bytes.isEmpty {
            let place = random.int(0...bytes.count - 1)
            switch random.int(0...5) {
            case 0: bytes[place] ^= 1 << UInt8(random.int(0...7))
            case 1: bytes[place] = random.pick([0, 1, 0x7F, 0x80, 0xFF])
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
            case 4: bytes.removeSubrange(place..<min(place + random.int(1...16), bytes.count))
            default: bytes.insert(contentsOf: bytes[place..<min(place + random.int(1...32), bytes.count)], at: place)
            }
        }
        return bytes
    }

    /// What all code behind the codec relies on.
    static func checkInvariants(_ events: [ConnectionEvent]) {
        for case .index(let batch) in events {
            for file in batch.files {
                let reason = Array(file.name.utf8).withUnsafeBytes { FileInfo.invalidName($0, limits: .standard) }
                #expect(reason == nil)
                #expect(file.size >= 0 && file.sequence >= 0)
                #expect(file.blocks.reduce(0) { $0 + Int64($1.size) } == file.size)
                #expect(file.blocks.isEmpty == (file.kind != .file || file.isDeleted || file.isInvalid))
                #expect(BlockSize.isValid(file.effectiveBlockSize))
                #expect(file.blocksHash == FileInfo.blocksHash(of: file.blocks))
            }
        }
        for case .request(_, let request) in events {
            #expect(request.size >= 0 && request.offset >= 0 && request.offset <= .max - Int64(request.size))
        }
    }
}
