extension String {
    /// The longest part of this text that starts it, has no more than `byteCount` bytes and cuts no character's code.
    func prefix(utf8ByteCount byteCount: Int) -> String {
        guard utf8.count > byteCount else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: max(byteCount, 0))
        while end > utf8.startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
