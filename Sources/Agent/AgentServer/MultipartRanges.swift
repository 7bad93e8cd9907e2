/// The frame of a body that is several parts of a file (RFC 9110, 14.6). Pure.
struct MultipartRanges: Equatable, Sendable {
    let parts: [ClosedRange<Int64>]
    let size: Int64
    let contentType: String
    /// Nobody who wrote the file could know it.
    let boundary: String

    /// What stands before a part's bytes.
    func heading(of part: ClosedRange<Int64>) -> [UInt8] {
        Array(
            ("\r\n--\(boundary)\r\nContent-Type: \(contentType)\r\n"
                + "Content-Range: \(Self.contentRange(part, of: size))\r\n\r\n").utf8)
    }

    /// What stands behind the last part.
    var end: [UInt8] { Array("\r\n--\(boundary)--\r\n".utf8) }

    static func contentRange(_ part: ClosedRange<Int64>, of size: Int64) -> String {
        "bytes \(part.lowerBound)-\(part.upperBound)/\(size)"
    }

    /// Of the whole body.
    var byteCount: Int64 {
        parts.reduce(Int64(end.count)) { count, part in
            count + Int64(heading(of: part).count) + (part.upperBound - part.lowerBound + 1)
        }
    }
}
