extension String {
    /// The text that `bytes` are in UTF-8; nil if they are not.
    init?(validUTF8 bytes: UnsafeRawBufferPointer) {
        // Most texts are ASCII, and need none of the checks that make `String(validating:as:)` slow.
        var seen: UInt8 = 0
        for byte in bytes { seen |= byte }
        if seen < 0x80 {
            self = String(decoding: bytes, as: UTF8.self)
        } else {
            self.init(validating: bytes, as: UTF8.self)
        }
    }

    /// The longest part of this text that starts it, has no more than `byteCount` bytes and cuts no character's code.
    func prefix(utf8ByteCount byteCount: Int) -> String {
        guard utf8.count > byteCount else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: max(byteCount, 0))
        while end > utf8.startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
