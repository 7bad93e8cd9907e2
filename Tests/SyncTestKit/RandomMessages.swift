import BlockExchange
import Cryptography

/// Random values of what BEP messages hold, all within BEP's rules and the standard limits.
extension SeededGenerator {
    /// Text of ASCII, accents, ideographs, emoji and control characters, of at most `count` characters.
    package mutating func text(_ count: ClosedRange<Int>) -> String {
        let alphabet = Array("abcxyzABC0189 -_.,'\"\\\n\té\u{FC}ñ日本語🚆ß")
        return String((0..<int(count)).map { _ in pick(alphabet) })
    }

    /// A canonical relative path in normal form C.
    package mutating func name() -> String {
        (0..<int(1...4)).map { _ in
            let component = text(1...20)
            return component.allSatisfy { $0 == "." } ? component + "x" : component
        }.joined(separator: "/")
    }

    package mutating func digest() -> SHA256Digest { SHA256.digest(bytes(8)) }

    package mutating func deviceID() -> DeviceID { DeviceID(digest: digest()) }

    /// A number as peers send them: often small, sometimes as large as it gets.
    package mutating func number() -> UInt64 {
        switch int(0...3) {
        case 0: 0
        case 1: UInt64(int(1...300))
        case 2: next() >> UInt64(int(0...63))
        default: .max
        }
    }

    package mutating func signedNumber() -> Int64 { Int64(bitPattern: number()) }

    /// A vector over up to `ids` devices with values up to `values`; small numbers make vectors that meet.
    package mutating func version(ids: Int = 4, values: Int = 3) -> VersionVector {
        VersionVector(
            (0..<int(0...ids)).map { _ in
                VersionVector.Counter(id: ShortID(rawValue: UInt64(int(1...ids))), value: UInt64(int(0...values)))
            })
    }

    /// A vector as devices make them: random ids, clock values.
    package mutating func realVersion() -> VersionVector {
        VersionVector(
            (0..<int(0...5)).map { _ in VersionVector.Counter(id: ShortID(rawValue: next()), value: number()) })
    }

    /// Fields that no version of BEP has yet, in wire form.
    package mutating func unknownFields() -> [UInt8] {
        var fields = Proto()
        for _ in 0..<int(0...3) {
            switch int(0...3) {
            case 0: fields = fields.varint(int(21...200), number())
            case 1: fields = fields.bytes(pick([14, 19, 20, 30, 5000]), bytes(int(0...200)))
            case 2: fields = fields.fixed32(int(300...400), UInt32(truncatingIfNeeded: next()))
            default: fields = fields.fixed64(int(300...400), next())
            }
        }
        return fields.bytes
    }

    package mutating func fileInfo() -> FileInfo {
        var file = FileInfo(
            name: name(), kind: pick([.file, .file, .file, .directory, .symlink]),
            permissions: UInt32(int(0...0o7777)), modifiedSeconds: signedNumber(),
            modifiedNanoseconds: Int32(int(0...999_999_999)), isDeleted: isOne(in: 5), isInvalid: isOne(in: 5),
            hasNoPermissions: isOne(in: 4), version: realVersion(), sequence: Int64(next() >> 1),
            modifiedBy: ShortID(rawValue: next()), carriedFields: unknownFields())
        if file.kind == .symlink { file.symlinkTarget = bytes(int(0...100)).filter { $0 != 0 } }
        guard file.kind == .file else { return file }
        file.blockSize = Int32(pick([0, BlockSize.minimum, 1 << 20, BlockSize.maximum]))
        guard !file.isDeleted, !file.isInvalid else { return file }
        let blockCount = int(1...6)
        for index in 0..<blockCount {
            let isLast = index == blockCount - 1
            let size =
                isLast
                ? int(blockCount == 1 ? 0...file.effectiveBlockSize : 1...file.effectiveBlockSize)
                : file
                    .effectiveBlockSize
            file.blocks.append(
                BlockInfo(
                    offset: file.size, size: Int32(size), hash: digest(),
                    weakHash: isOne(in: 2) ? 0 : UInt32(truncatingIfNeeded: next())))
            file.size += Int64(size)
        }
        file.blocksHash = FileInfo.blocksHash(of: file.blocks)
        return file
    }

    package mutating func clusterConfig() -> ClusterConfig {
        ClusterConfig(
            folders: (0..<int(0...4)).map { index in
                ClusterConfig.Folder(
                    id: FolderID("\(index)" + text(0...12)), label: text(0...12), type: Int32(int(0...3)),
                    stopReason: Int32(int(0...1)), devices: (0..<int(0...4)).map { _ in clusterDevice() })
            }, isSecondary: isOne(in: 4))
    }

    private mutating func clusterDevice() -> ClusterConfig.Device {
        ClusterConfig.Device(
            id: deviceID(), name: text(0...12), addresses: (0..<int(0...3)).map { _ in "tcp://" + text(1...12) },
            compression: pick([.metadata, .never, .always]), certificateName: text(0...8),
            maxSequence: Int64(next() >> 1), isIntroducer: isOne(in: 2), indexID: IndexID(rawValue: number()),
            skipsIntroductionRemovals: isOne(in: 2), encryptionPasswordToken: bytes(int(0...40)))
    }

    package mutating func downloadProgress() -> DownloadProgress {
        DownloadProgress(
            folder: FolderID(text(1...12)),
            updates: (0..<int(0...5)).map { _ in
                DownloadProgress.Update(
                    kind: pick([.append, .forget]), name: name(), version: realVersion(),
                    blockIndexes: (0..<int(0...12)).map { _ in Int32(int(0...5000)) },
                    blockSize: Int32(pick([0, BlockSize.minimum])))
            })
    }

    package mutating func blockRequest() -> BlockRequest {
        BlockRequest(
            folder: FolderID(text(1...12)), name: name(), offset: Int64(next() >> 20), size: Int32(int(0...32 << 20)),
            hash: isOne(in: 4) ? nil : digest(), isFromTemporary: isOne(in: 2),
            weakHash: UInt32(truncatingIfNeeded: next()), blockIndex: Int32(int(0...100_000)))
    }

    package mutating func hello() -> Hello {
        Hello(
            deviceName: text(0...30), clientName: text(0...30), clientVersion: text(0...30),
            connectionCount: Int32(truncatingIfNeeded: number()), timestamp: signedNumber())
    }
}
