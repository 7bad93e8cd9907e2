/// What the watch program says. docs/decisions/watching.md has the bytes.
enum WatchFrame: Hashable, Sendable {
    /// The first frame: which directory the program found at the root's path.
    case hello(device: UInt64, inode: UInt64)
    /// The directory of the request is watched; `wasWatched` if it was before, under this or another name.
    case watching(request: UInt32, watch: Int32, wasWatched: Bool)
    case failed(request: UInt32, error: Int32)
    case event(WatchEvent)
    /// The kernel has removed the watch: its directory is gone.
    case gone(watch: Int32)
    /// Events were lost.
    case overflow
    /// The program ends because it cannot go on.
    case fatal(stage: FatalStage, error: Int32)

    enum FatalStage: UInt8, Sendable, CaseIterable {
        case root = 1
        case instance = 2
        case command = 3
        case events = 4
    }
}

/// One inotify event.
struct WatchEvent: Hashable, Sendable {
    var watch: Int32
    /// The bits of inotify(7).
    var mask: UInt32
    var cookie: UInt32
    /// The name in the watched directory; empty if the event is about the directory itself.
    var name: [UInt8]
}

/// What the watch program is told.
enum WatchCommand: Hashable, Sendable {
    /// Watch the directory at `path` below the root; an empty path is the root.
    case watch(request: UInt32, path: String)
    case unwatch(watch: Int32)

    /// Adds the command's frame to `bytes`.
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .watch(let request, let path):
            // A RelativePath has at most 4095 bytes.
            Self.encode(kind: UInt8(ascii: "w"), number: request, rest: path.utf8, into: &bytes)
        case .unwatch(let watch):
            Self.encode(kind: UInt8(ascii: "u"), number: UInt32(bitPattern: watch), rest: "".utf8, into: &bytes)
        }
    }

    private static func encode(kind: UInt8, number: UInt32, rest: String.UTF8View, into bytes: inout [UInt8]) {
        let length = UInt16(clamping: rest.count + 5)
        bytes.append(UInt8(truncatingIfNeeded: length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(kind)
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
        bytes.append(contentsOf: rest)
    }
}

/// Cuts the watch program's output into frames. Holds what was fed and is not yet taken.
struct WatchFrameDecoder {
    /// Why bytes are no frames; nothing after them can be trusted.
    enum Flaw: String, Error, Sendable, CaseIterable {
        case length = "a frame has an impossible length"
        case kind = "a frame is of an unknown kind"
        case content = "a frame's content does not fit its kind"
        case version = "the program speaks another version of the protocol"
    }

    /// Kind, watch, mask, cookie and the longest name that Linux knows.
    static let lengthLimit = 1 + 12 + 255
    static let version: UInt8 = 1

    private var bytes: [UInt8] = []
    private var start = 0

    /// How many bytes wait for the rest of their frame.
    var heldCount: Int { bytes.count - start }

    mutating func feed(_ more: some Collection<UInt8>) {
        bytes.removeFirst(start)
        start = 0
        bytes.append(contentsOf: more)
    }

    /// The next whole frame; nil until more is fed.
    mutating func next() throws(Flaw) -> WatchFrame? {
        guard heldCount >= 2 else { return nil }
        let length = Int(bytes[start]) << 8 | Int(bytes[start + 1])
        guard length >= 1, length <= Self.lengthLimit else { throw .length }
        guard heldCount >= 2 + length else { return nil }
        let kind = bytes[start + 2]
        var content = Content(bytes: bytes[(start + 3)..<(start + 2 + length)])
        start += 2 + length
        return try content.frame(kind: kind)
    }

    private struct Content {
        var bytes: ArraySlice<UInt8>

        mutating func frame(kind: UInt8) throws(Flaw) -> WatchFrame {
            let frame: WatchFrame
            switch kind {
            case UInt8(ascii: "h"):
                guard try byte() == WatchFrameDecoder.version else { throw .version }
                frame = .hello(device: try long(), inode: try long())
            case UInt8(ascii: "w"):
                let request = try number()
                let watch = try watchNumber()
                frame = .watching(request: request, watch: watch, wasWatched: try byte() & 1 == 1)
            case UInt8(ascii: "f"): frame = .failed(request: try number(), error: Int32(bitPattern: try number()))
            case UInt8(ascii: "e"):
                let watch = try watchNumber()
                let mask = try number()
                let cookie = try number()
                frame = .event(WatchEvent(watch: watch, mask: mask, cookie: cookie, name: Array(bytes)))
                bytes = []
            case UInt8(ascii: "g"): frame = .gone(watch: try watchNumber())
            case UInt8(ascii: "o"): frame = .overflow
            case UInt8(ascii: "x"):
                guard let stage = WatchFrame.FatalStage(rawValue: try byte()) else { throw .content }
                frame = .fatal(stage: stage, error: Int32(bitPattern: try number()))
            default: throw .kind
            }
            guard bytes.isEmpty else { throw .content }
            return frame
        }

        private mutating func byte() throws(Flaw) -> UInt8 {
            guard let byte = bytes.popFirst() else { throw .content }
            return byte
        }

        private mutating func number() throws(Flaw) -> UInt32 {
            var number: UInt32 = 0
            for _ in 0..<4 { number = number << 8 | UInt32(try byte()) }
            return number
        }

        private mutating func long() throws(Flaw) -> UInt64 { UInt64(try number()) << 32 | UInt64(try number()) }

        /// The kernel counts watches from 1.
        private mutating func watchNumber() throws(Flaw) -> Int32 {
            let watch = Int32(bitPattern: try number())
            guard watch > 0 else { throw .content }
            return watch
        }
    }
}
