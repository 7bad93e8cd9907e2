import BlockExchange
import Cryptography
import Glibc
import NIOCore

/// How many index entries a second one core decodes and encodes.
///
///     swift build -c release --product CodecBenchmark && .build/release/CodecBenchmark [MESSAGES]
@main
enum CodecBenchmark {
    static let entriesPerMessage = 1000

    static func main() {
        let messages = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1000
        // A tenth of the messages is made, and sent ten times: the peer's work is not what is measured.
        let distinct = max(1, messages / 10)
        let batches = (0..<distinct).map { message in
            (0..<entriesPerMessage).map { entry(message * entriesPerMessage + $0, isIgnored: false) }
        }
        let ignored = (0..<distinct).map { message in
            (0..<entriesPerMessage).map { entry(message * entriesPerMessage + $0, isIgnored: true) }
        }
        print("entries: \(messages * entriesPerMessage) in \(messages) messages")
        for (name, policy) in [("plain", CompressionPolicy.never), ("LZ4", .metadata)] {
            let frames = frames(batches, policy)
            report("decode, \(name), read in 64 KiB", messages, bytes: frames) {
                decode(frames, times: messages / distinct)
            }
        }
        for (name, policy) in [("plain", CompressionPolicy.never), ("LZ4", .metadata)] {
            report("encode ignored, \(name)", messages, bytes: frames(ignored, policy)) {
                var count = 0
                for _ in 0..<messages / distinct { count += frames(ignored, policy).count }
                return count * entriesPerMessage
            }
        }
    }

    static func report(_ name: String, _ messages: Int, bytes frames: [ByteBuffer], _ run: () -> Int) {
        let (start, processorStart) = (ContinuousClock.now, processorSeconds())
        let count = run()
        let processor = processorSeconds() - processorStart
        let wall = (ContinuousClock.now - start) / .seconds(1)
        let entryBytes = frames.reduce(0) { $0 + $1.readableBytes } / (frames.count * entriesPerMessage)
        func rate(_ seconds: Double) -> Int { seconds > 0 ? Int(Double(count) / seconds) : 0 }
        print(
            "\(name): \(rate(processor)) entries per second of processor time, \(rate(wall)) of the clock's "
                + "(\(count) entries, \(entryBytes) bytes each on the wire)")
    }

    /// Time that this process had a core, which other processes do not take away.
    static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func frames(_ batches: [[FileInfo]], _ policy: CompressionPolicy) -> [ByteBuffer] {
        var sender = ConnectionMachine(compression: policy, now: .zero)
        return batches.map {
            sender.send(
                .index(folder: FolderID("bench"), files: $0, isFullIndex: false, previousSequence: 0), at: .zero)
        }
    }

    static func decode(_ frames: [ByteBuffer], times: Int) -> Int {
        var sender = ConnectionMachine(now: .zero)
        var receiver = ConnectionMachine(now: .zero)
        receiver.receive(sender.start(Hello(deviceName: "", clientName: "", clientVersion: ""), at: .zero), at: .zero)
        receiver.receive(sender.send(.clusterConfig(ClusterConfig()), at: .zero), at: .zero)
        var count = 0
        do {
            for _ in 0..<times {
                for frame in frames {
                    var rest = frame
                    while let piece = rest.readSlice(length: min(64 << 10, rest.readableBytes)), piece.readableBytes > 0
                    {
                        // As a socket gives it: a buffer of its own.
                        receiver.receive(ByteBuffer(piece.readableBytesView), at: .zero)
                        while let event = try receiver.nextEvent() {
                            if case .index(let batch) = event { count += batch.files.count }
                        }
                    }
                }
            }
        } catch {
            print("refused: \(error)")
        }
        return count
    }

    /// An entry with a name of 50 to 80 bytes and one block.
    static func entry(_ number: Int, isIgnored: Bool) -> FileInfo {
        let hash = SHA256.digest(Array("\(number)".utf8))
        let name = "photographs/2026/\(number / 1000)/" + hash.description.prefix(28 + number % 28) + "-\(number).jpg"
        var file = FileInfo(
            name: name, modifiedSeconds: 1_795_233_847, modifiedNanoseconds: Int32(number % 1_000_000_000),
            isInvalid: isIgnored,
            version: VersionVector([.init(id: ShortID(rawValue: 5_845_852_627_655_463_452), value: 1_795_233_847)]),
            sequence: Int64(number + 1), modifiedBy: ShortID(rawValue: 5_845_852_627_655_463_452))
        guard !isIgnored else { return file }
        file.size = Int64(number % 100_000 + 1)
        file.blockSize = Int32(BlockSize.minimum)
        file.blocks = [
            BlockInfo(offset: 0, size: Int32(file.size), hash: hash, weakHash: UInt32(truncatingIfNeeded: number))
        ]
        file.blocksHash = FileInfo.blocksHash(of: file.blocks)
        return file
    }
}
