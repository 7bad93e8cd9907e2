// bounded-names: offset: an index that a caller took from this queue

/// First in, first out, in amortized constant time for each element; taken elements' room is used again.
struct Queue<Element: Sendable>: Sendable {
    private var storage: [Element] = []
    private var head = 0

    var count: Int { storage.count - head }
    var isEmpty: Bool { head == storage.count }

    /// The element that `offset` others come before.
    subscript(offset: Int) -> Element {
        get { storage[head + offset] }
        _modify { yield &storage[head + offset] }
    }

    mutating func append(_ element: Element) { storage.append(element) }

    mutating func append(contentsOf elements: some Collection<Element>) { storage.append(contentsOf: elements) }

    /// Takes out the first `count` elements, or all if there are fewer.
    mutating func removeFirst(_ count: Int) -> [Element] {
        let end = head + min(max(count, 0), self.count)
        let taken = Array(storage[head..<end])
        head = end
        reuse()
        return taken
    }

    /// Drops the first `count` elements, or all if there are fewer.
    mutating func dropFirst(_ count: Int) {
        head += min(max(count, 0), self.count)
        reuse()
    }

    mutating func removeAll() {
        storage = []
        head = 0
    }

    /// Moves what is left to the front once as much has been taken: each element is moved at most once on average.
    private mutating func reuse() {
        if head == storage.count {
            // A large buffer is given back: most connections are idle most of the time.
            storage.removeAll(keepingCapacity: storage.capacity <= 4096)
            head = 0
        } else if head >= 64, head * 2 >= storage.count {
            storage.removeSubrange(..<head)
            head = 0
        }
    }
}
