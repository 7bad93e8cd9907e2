import ControlAPI

/// Cuts a stream of bytes into lines, each without its line feed.
struct LineSplitter {
    private var bytes: [UInt8] = []
    private var start = 0
    /// From here on no line feed has been looked for.
    private var searched = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Whether every line has come out and nothing is left.
    var isEmpty: Bool { start == bytes.count }

    /// Throws `tooLarge` when a line grows past the limit. Call `next` until nil before the next `append`.
    mutating func append(_ chunk: some Collection<UInt8>) throws(ControlError) {
        if start > 0 {
            bytes.removeFirst(start)
            searched -= start
            start = 0
        }
        guard bytes.count + chunk.count <= limit else {
            throw ControlError(.tooLarge, "The agent sent a line of more than \(ByteText.size(Int64(limit))).")
        }
        bytes += chunk
    }

    mutating func next() -> [UInt8]? {
        guard let feed = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            return nil
        }
        defer {
            start = feed + 1
            searched = start
        }
        return Array(bytes[start..<feed])
    }
}
