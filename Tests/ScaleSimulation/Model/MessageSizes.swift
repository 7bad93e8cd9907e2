import BlockExchange
import Cryptography
import NIOCore
import SyncTestKit

/// How many bytes the agent's encoder makes of single messages.
package enum MessageSizes {
    /// An IndexUpdate with one file of so many bytes, changed by so many devices so far.
    package static func indexUpdate(ofFileWith byteCount: Int64, changedBy deviceCount: Int = 1) -> Int {
        var random = SeededGenerator(seed: 1)
        let blockSize = BlockSize.forFile(ofSize: byteCount)
        let blocks = stride(from: 0, to: byteCount, by: blockSize).map { offset in
            BlockInfo(
                offset: offset, size: Int32(min(Int64(blockSize), byteCount - offset)), hash: random.digest())
        }
        let counters = (0..<deviceCount).map { _ in
            VersionVector.Counter(id: ShortID(rawValue: random.next()), value: 1_760_000_000)
        }
        let file = FileInfo(
            name: "documents/2025/report-1.pdf", size: byteCount, modifiedSeconds: 1_760_000_000,
            modifiedNanoseconds: 123_456_789, version: VersionVector(counters), sequence: 100_000,
            modifiedBy: ShortID(rawValue: random.next()), blockSize: Int32(blockSize), blocks: blocks)
        return frame(
            .index(folder: Cluster.folder, files: [file], isFullIndex: false, previousSequence: 99_999))
    }

    /// An IndexUpdate with one name that is not selected.
    package static var unselectedUpdate: Int {
        var random = SeededGenerator(seed: 1)
        let file = FileInfo(
            name: "documents/2025/report-1.pdf", modifiedSeconds: 1_760_000_000, modifiedNanoseconds: 123_456_789,
            isInvalid: true,
            version: VersionVector([.init(id: ShortID(rawValue: random.next()), value: 1_760_000_000)]),
            sequence: 100_000, modifiedBy: ShortID(rawValue: random.next()))
        return frame(
            .index(folder: Cluster.folder, files: [file], isFullIndex: false, previousSequence: 99_999))
    }

    /// A ClusterConfig with one folder that so many devices share.
    package static func clusterConfig(sharedBy deviceCount: Int) -> Int {
        var random = SeededGenerator(seed: 1)
        let devices = (0..<deviceCount).map {
            ClusterConfig.Device(
                id: random.deviceID(), name: "device \($0)", addresses: ["dynamic"], maxSequence: $0 < 2 ? 1 : 0)
        }
        let folder = ClusterConfig.Folder(id: Cluster.folder, label: "Library", devices: devices)
        return frame(.clusterConfig(ClusterConfig(folders: [folder])))
    }

    private static func frame(_ message: OutgoingMessage) -> Int {
        var connection = ConnectionMachine(now: .zero)
        return connection.send(message, at: .zero).readableBytes
    }
}
