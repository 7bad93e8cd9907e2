/// The requests of one kind that were sent and not answered yet, each with how much it asked for.
struct OpenRequests {
    /// The id of the next request, unless that id is taken.
    var nextID: Int32 = 0
    private var sizes: [Int32: Int] = [:]

    var count: Int { sizes.count }
    /// What the largest of them asks for; nil if there is none.
    var largestSize: Int? { sizes.values.max() }

    subscript(id: Int32) -> Int? { sizes[id] }

    /// An id that no open request has.
    mutating func takeID() -> Int32 {
        while sizes[nextID] != nil { nextID = nextID == .max ? 0 : nextID + 1 }
        defer { nextID = nextID == .max ? 0 : nextID + 1 }
        return nextID
    }

    mutating func open(_ id: Int32, size: Int) { sizes[id] = size }

    /// What the request asked for; nil if none is open by this id.
    @discardableResult
    mutating func close(_ id: Int32) -> Int? { sizes.removeValue(forKey: id) }
}
