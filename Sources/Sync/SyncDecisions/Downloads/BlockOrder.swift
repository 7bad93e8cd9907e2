import BlockExchange

/// In which order the blocks of a file are asked for. Pure.
package enum BlockOrder {
    /// Blocks for one of several devices that download the same file at the same time: each begins with another part, so that each
    /// soon has what the others lack. The parts are Syncthing's: as many as devices share the folder. Parts that nobody begins with
    /// follow, taken from both ends, and at last those that the others began with, which they may have by then.
    ///
    /// - Parameters:
    ///   - blocks: indexes into the file's blocks, ascending.
    ///   - count: how many blocks the file has.
    ///   - sharers: the other devices that share the folder.
    ///   - others: those of them that may be downloading the file.
    package static func shared(
        _ blocks: [Int], of count: Int, local: DeviceID, sharers: Set<DeviceID>, others: Set<DeviceID>
    ) -> [Int] {
        let all = sharers.union([local]).sorted()
        let downloading = others.union([local])
        guard !others.isEmpty, count > 0, let part = all.firstIndex(of: local),
            let rank = downloading.sorted().firstIndex(of: local)
        else { return blocks }
        let length = (count - 1) / all.count + 1
        let owner = { (block: Int) in all[min(block / length, all.count - 1)] }
        let unowned = blocks.filter { !downloading.contains(owner($0)) }
        let theirs = blocks.filter { others.contains(owner($0)) }
        return blocks.filter { owner($0) == local } + (rank.isMultiple(of: 2) ? unowned : unowned.reversed())
            + theirs.filter { $0 / length > part } + theirs.filter { $0 / length < part }
    }
}
