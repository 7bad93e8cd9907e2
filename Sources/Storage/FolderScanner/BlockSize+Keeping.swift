import BlockExchange

extension BlockSize {
    /// The size for a file of `fileSize` bytes that had blocks of `previous` bytes: those are kept when they are within
    /// one step of what a new file would get, so that a file that grows a little keeps its blocks, as in Syncthing.
    static func forFile(ofSize fileSize: Int64, keeping previous: Int) -> Int {
        let size = forFile(ofSize: fileSize)
        guard isValid(previous), previous == size * 2 || previous * 2 == size else { return size }
        return previous
    }
}
