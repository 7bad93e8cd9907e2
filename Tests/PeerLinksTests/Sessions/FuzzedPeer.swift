import BlockExchange
import Cryptography
import Foundation
import IndexStore
import NIOCore
import SyncTestKit
import Transport

@testable import SessionTestKit

/// A known device that says anything in any order: messages of BEP's form with extreme numbers, halves of them, answers to
/// nothing, and that it hangs up. All of it follows from a seed.
struct FuzzedPeer {
    private static let folder = SessionAgent.folder
    /// What it has files of.
    private static let contents: [[UInt8]] = {
        var random = SeededGenerator(seed: 11)
        return [0, 1, 1000, BlockSize.minimum, BlockSize.minimum + 7].map { random.bytes($0) }
    }()
    private static let bytesByHash: [SHA256Digest: [UInt8]] = {
        let blocks = contents.flatMap { content in
            stride(from: 0, to: max(1, content.count), by: BlockSize.minimum).map {
                Array(content[$0...].prefix(BlockSize.minimum))
            }
        }
        return Dictionary(blocks.map { (SHA256.digest($0), $0) }) { first, _ in first }
    }()
    private static let names = ["a", "b", "d", "d/e", "d/e/f", "mine", ".stignore", ".stfolder/x", "z\u{E9}"]
    private static let numbers: [Int64] = [
        .min, .min + 1, -1, 0, 1, 2, 1000, Int64(Int32.max), Int64(UInt32.max), 1 << 53, .max - 1, .max,
    ]

    private var random: SeededGenerator
    private let agent: DeviceID
    /// What the agent calls its own index.
    private let agentIndex: IndexID
    private var answered = 0
    /// It has said that it keeps the folder encrypted, which holds for good.
    private(set) var isEncrypted = false

    init(seed: UInt64, agent: DeviceID, agentIndex: IndexID) {
        random = SeededGenerator(seed: seed)
        (self.agent, self.agentIndex) = (agent, agentIndex)
    }

    mutating func kind() -> LinkKind { random.pick([.tcp, .tcp, .relay, .l2cap, .gatt]) }
    mutating func count(_ range: ClosedRange<Int>) -> Int { random.int(range) }

    /// The beginning of a link, mostly as it should be.
    mutating func begin(_ peer: ScriptedPeer) {
        answered = 0
        guard !random.isOne(in: 10) else { return peer.say(bytes: random.bytes(random.int(1...40))) }
        peer.sayHello(
            client: random.pick(["syncthing", "synctrain", ""]),
            connections: random.pick([0, 1, 3, .max, .min]))
        if !random.isOne(in: 8) { peer.say(.clusterConfig(config(peer))) }
    }

    /// Says one thing. False if it hangs up.
    mutating func act(_ peer: ScriptedPeer) -> Bool {
        switch random.int(0...15) {
        case 0, 1: peer.say(.clusterConfig(config(peer)))
        case 2, 3, 4, 5: peer.say(index())
        case 6: peer.say(bytes: bareIndex())
        case 7: peer.ask(request())
        case 8: peer.say(bytes: rawRequest())
        case 9, 10, 11: return answer(peer)
        case 12:
            let ids: [Int32] = [0, 1, -1, .max, .min]
            peer.say(
                .response(
                    BlockResponse(
                        id: random.pick(ids), data: ByteBuffer(bytes: random.bytes(random.int(0...9))),
                        code: random.pick([.ok, .generic, .noSuchFile, .invalidFile]))))
        case 13: peer.say(.downloadProgress(progress()))
        case 14: peer.say(.ping)
        default:
            switch random.int(0...9) {
            case 0: peer.say(.close(reason: "enough"))
            case 1: peer.say(bytes: half(of: Frame.message(random.int(0...9), Proto().raw(random.bytes(60)))))
            case 2: return false
            default: peer.say(.ping)
            }
        }
        return true
    }

    // MARK: messages

    private mutating func number() -> Int64 { random.pick(Self.numbers) }

    private mutating func config(_ peer: ScriptedPeer) -> ClusterConfig {
        let count = random.pick([1, 1, 1, 0, 2, 3])
        let ids = [Self.folder, Self.folder, FolderID("other"), FolderID("")]
        let folders = (0..<count).map { place in
            var devices: [ClusterConfig.Device] = []
            if !random.isOne(in: 25) {
                devices.append(
                    ClusterConfig.Device(
                        id: agent, maxSequence: number(), indexID: random.pick([agentIndex, agentIndex, .none])))
            }
            if !random.isOne(in: 25) {
                var own = ClusterConfig.Device(
                    id: peer.id, maxSequence: number(),
                    indexID: random.pick([IndexID(rawValue: 77), IndexID(rawValue: .max), agentIndex, .none]))
                if random.isOne(in: 80) {
                    own.encryptionPasswordToken = [1, 2, 3]
                    isEncrypted = true
                }
                devices.append(own)
            }
            return ClusterConfig.Folder(
                id: place == 0 ? Self.folder : random.pick(ids), label: "label", type: random.pick([0, 1, .max, .min]),
                stopReason: random.pick([0, 0, 0, 1, .max]), mode: random.pick([nil, .full, .selective]),
                devices: devices)
        }
        return ClusterConfig(folders: folders, isSecondary: random.isOne(in: 12))
    }

    private mutating func index() -> OutgoingMessage {
        let files = (0..<random.int(0...4)).map { _ in file() }
        return .index(
            folder: random.isOne(in: 10) ? FolderID("other") : Self.folder, files: files,
            isFullIndex: random.isOne(in: 3), previousSequence: number())
    }

    /// No entries, and numbers that no sender writes.
    private mutating func bareIndex() -> [UInt8] {
        let body = Proto().text(1, Self.folder.rawValue).signed(3, number()).signed(4, number())
        return Frame.message(random.pick([Frame.index, Frame.indexUpdate]), body)
    }

    private mutating func file() -> FileInfo {
        let values: [UInt64] = [0, 1, 2, 1_800_000_000, .max - 1, .max]
        let ids = [ShortID(rawValue: 9), agent.shortID, ShortID(rawValue: 0), ShortID(rawValue: .max)]
        let version = VersionVector(
            (0..<random.int(0...3)).map { _ in .init(id: random.pick(ids), value: random.pick(values)) })
        var file = FileInfo(
            name: random.pick(Self.names), kind: random.pick([.file, .file, .file, .directory, .symlink]),
            permissions: random.pick([0o644, 0, .max]), modifiedSeconds: number(),
            modifiedNanoseconds: random.pick([0, 5, 999_999_999]), isDeleted: random.isOne(in: 4),
            isInvalid: random.isOne(in: 6), hasNoPermissions: random.isOne(in: 4), version: version,
            sequence: number(), modifiedBy: random.pick(ids))
        if file.kind == .symlink { file.symlinkTarget = Array("../../etc".utf8) }
        guard file.kind == .file else { return file }
        file.blockSize = Int32(BlockSize.minimum)
        guard !file.isDeleted, !file.isInvalid else { return file }
        let content = random.pick(Self.contents)
        file.size = Int64(content.count)
        file.blocks = stride(from: 0, to: max(1, content.count), by: BlockSize.minimum).map { offset in
            let block = Array(content[offset...].prefix(BlockSize.minimum))
            return BlockInfo(offset: Int64(offset), size: Int32(block.count), hash: SHA256.digest(block))
        }
        // Rarely: it ends the link.
        guard random.isOne(in: 25) else { return file }
        switch random.int(0...3) {
        case 0: file.size = number()
        case 1: file.blocks[0].offset = number()
        case 2: file.blocks[0].size = random.pick([.min, -1, .max])
        default: file.blockSize = random.pick([.min, -1, 3, .max])
        }
        return file
    }

    private mutating func request() -> BlockRequest {
        let hash = random.isOne(in: 2) ? Self.bytesByHash.keys.min { "\($0)" < "\($1)" } : nil
        return BlockRequest(
            folder: random.isOne(in: 6) ? FolderID("other") : Self.folder, name: random.pick(Self.names),
            offset: max(0, number() / 2), size: random.pick([0, 1, 3, 1000, 1 << 17, 32 << 20]), hash: hash,
            isFromTemporary: random.isOne(in: 4), weakHash: random.pick([0, 1, .max]),
            blockIndex: random.pick([0, -1, .max, .min]))
    }

    private mutating func rawRequest() -> [UInt8] {
        // A size or place that is refused ends the link, and the rest would go unsaid.
        let isMild = !random.isOne(in: 6)
        let body = Proto().signed(1, number()).text(2, Self.folder.rawValue).text(3, random.pick(Self.names))
            .signed(4, isMild ? Int64(random.int(0...9)) : number())
            .signed(5, isMild ? Int64(random.int(0...9)) : number()).signed(9, number())
        return Frame.message(Frame.request, body)
    }

    private mutating func progress() -> DownloadProgress {
        DownloadProgress(
            folder: Self.folder,
            updates: (0..<random.int(0...3)).map { _ in
                DownloadProgress.Update(
                    kind: random.pick([.append, .forget]), name: random.pick(Self.names),
                    version: VersionVector([.init(id: agent.shortID, value: .max)]),
                    blockIndexes: [0, -1, .max, .min], blockSize: random.pick([0, -1, .max, .min]))
            })
    }

    /// Answers what was asked for, mostly with the truth. False if it hangs up in the middle of an answer.
    private mutating func answer(_ peer: ScriptedPeer) -> Bool {
        for (id, request) in peer.requests.dropFirst(answered) {
            answered += 1
            let truth = request.hash.flatMap { Self.bytesByHash[$0] } ?? []
            var data = truth
            switch random.int(0...11) {
            case 0: data = []
            case 1: data = data.dropLast()
            case 2: data = data.map { ~$0 }
            case 3 where random.isOne(in: 3): data += [0]
            case 4:
                // Half of it, and then the end.
                let whole = Frame.message(
                    Frame.response, Proto().signed(1, Int64(id)).bytes(2, data + random.bytes(random.int(0...3))))
                peer.say(bytes: half(of: whole))
                return false
            case 5: continue
            default: break
            }
            // A slice has no hash: some of what it asks for is as good as any.
            if request.hash == nil { data = random.bytes(min(Int(clamping: request.size), 1 << 17)) }
            peer.say(
                .response(
                    BlockResponse(
                        id: id, data: ByteBuffer(bytes: data), code: random.isOne(in: 12) ? .generic : .ok)))
        }
        return true
    }

    private mutating func half(of bytes: [UInt8]) -> [UInt8] { Array(bytes.prefix(random.int(0...bytes.count))) }
}
