import GRDB

/// Hands out the children of a directory by the bytes of their names, forwards or backwards.
///
/// They are read some at a time: one look-up for each would cost more than all else, and a statement left open would
/// be in the way of the directories below.
struct ChildReader {
    enum Order {
        case forwards
        case backwards
    }

    struct Child {
        var id: Int64
        var name: ArraySlice<UInt8>
    }

    let directory: Int64
    /// The name after which (in the order of the walk) the next rows come; nil before the first.
    private var last: [UInt8]?
    private var ids: [Int64] = []
    /// Where each name ends in `names`.
    private var ends: [Int] = []
    private var names: [UInt8] = []
    private var position = 0
    private var isComplete = false

    private static let rowsAtATime = 200

    /// - parameter after: the name to go on after, nil for all; it need not exist.
    init(of directory: Int64, after: [UInt8]? = nil) {
        self.directory = directory
        last = after
    }

    static func statement(_ database: Database, _ order: Order) throws -> RawStatement {
        // Nothing but the index by name is read.
        let (comparison, direction) = order == .forwards ? (">", "ASC") : ("<", "DESC")
        return try RawStatement(
            database,
            """
            SELECT id, name FROM entry WHERE parent = ?1 AND name \(comparison) ?2
            ORDER BY name \(direction) LIMIT \(rowsAtATime)
            """)
    }

    /// The next child; nil at the end. `statement` is one of `order`.
    mutating func next(_ statement: RawStatement, _ order: Order) throws -> Child? {
        if position == ids.count {
            if isComplete { return nil }
            try fill(statement, order)
            if ids.isEmpty { return nil }
        }
        defer { position += 1 }
        return Child(id: ids[position], name: names[(position == 0 ? 0 : ends[position - 1])..<ends[position]])
    }

    private mutating func fill(_ statement: RawStatement, _ order: Order) throws {
        if let end = ends.last { last = Array(names[(ends.count == 1 ? 0 : ends[ends.count - 2])..<end]) }
        ids.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        names.removeAll(keepingCapacity: true)
        position = 0
        try statement.bind(1, directory)
        switch (last, order) {
        case (let last?, _): try statement.bindText(2, last)
        case (nil, .forwards): try statement.bindText(2, [])
        // No text is greater than a blob.
        case (nil, .backwards): try statement.bind(2, [0])
        }
        defer { statement.reset() }
        while try statement.step() {
            ids.append(statement.integer(0))
            names.append(contentsOf: statement.bytes(1))
            ends.append(names.count)
        }
        isComplete = ids.count < Self.rowsAtATime
    }
}
