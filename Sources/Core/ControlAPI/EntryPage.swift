// bounded-names: bytes: text

/// By what the entries of a directory are in order.
package enum EntrySort: String, CaseIterable, Sendable {
    /// The bytes of the names.
    case name
    /// Names as people count, directories first: `IMG_2` before `IMG_10`.
    case natural
    /// Of directories, all that is below.
    case size
    case modified
}

/// Asks for a part of what is in a directory.
package struct EntryQuery: Equatable, Sendable, PathRequest {
    package enum Filter: String, CaseIterable, Sendable {
        case all
        /// On this disk.
        case here
        /// Selected, by itself or with a directory above, or on the way to something selected.
        case selected
        /// Conflict copies.
        case conflicts
        /// On this disk without being selected.
        case extraneous
        /// What has something in it, and nothing else: what a tree shows.
        case directories
    }

    package var path: PathReference
    package var offset: Int
    package var limit: Int
    package var sort: EntrySort
    package var isDescending: Bool
    package var filter: Filter
    /// The part begins with the first name at or after `offset`, or else before it, that begins with this, whatever the case and accents;
    /// it is empty if there is none.
    package var beginning: String?

    package init(
        path: PathReference, offset: Int = 0, limit: Int = PageLimits.entries, sort: EntrySort = .name,
        isDescending: Bool = false, filter: Filter = .all, beginning: String? = nil
    ) {
        self.path = path
        self.offset = offset
        self.limit = limit
        self.sort = sort
        self.isDescending = isDescending
        self.filter = filter
        self.beginning = beginning
    }

    /// - Throws: `tooLarge` for a path or a beginning that is too long.
    func check() throws(ControlError) {
        try PathReference.check([path])
        guard let beginning, beginning.utf8.count > ControlLimits.path else { return }
        throw ControlError(.tooLarge, "`beginning` has at most \(ControlLimits.path) bytes.")
    }
}

/// Asks for a part of what a search finds.
package struct SearchQuery: Equatable, Sendable {
    /// May be empty if there is a filter.
    package var text: String
    package var folder: String?
    package var filter: SearchFilter
    package var offset: Int
    package var limit: Int

    package init(
        text: String, folder: String? = nil, filter: SearchFilter = SearchFilter(), offset: Int = 0,
        limit: Int = PageLimits.entries
    ) {
        self.text = text
        self.folder = folder
        self.filter = filter
        self.offset = offset
        self.limit = limit
    }
}

/// Asks for the entries in a directory, or all below it.
package struct ListQuery: Equatable, Sendable, PathRequest {
    package var path: PathReference
    package var isRecursive: Bool
    /// The order in each directory.
    package var sort: EntrySort
    package var isDescending: Bool

    package init(
        path: PathReference, isRecursive: Bool = false, sort: EntrySort = .name, isDescending: Bool = false
    ) {
        self.path = path
        self.isRecursive = isRecursive
        self.sort = sort
        self.isDescending = isDescending
    }
}

/// Asks for all that a search finds; nil for all folders.
package struct FindQuery: Equatable, Sendable {
    /// May be empty if there is a filter.
    package var text: String
    package var folder: String?
    package var filter: SearchFilter
    package var limit: Int

    package init(
        text: String, folder: String? = nil, filter: SearchFilter = SearchFilter(), limit: Int = .max
    ) {
        self.text = text
        self.folder = folder
        self.filter = filter
        self.limit = limit
    }
}

/// A part of a list, in one document.
package struct EntryPage: Codable, Equatable, Sendable {
    package var schema = 1
    package var entries: [Entry]
    package var offset: Int
    /// Of the whole list.
    package var total: Int
    /// There is more than `total` says: a search ends after so many.
    package var isTruncated: Bool?
    /// Not all names were looked at that a filter may be true of.
    package var isIncomplete: Bool?

    package init(
        entries: [Entry], offset: Int, total: Int, isTruncated: Bool? = nil, isIncomplete: Bool? = nil
    ) {
        self.entries = entries
        self.offset = offset
        self.total = total
        self.isTruncated = isTruncated
        self.isIncomplete = isIncomplete
    }

    enum CodingKeys: String, CodingKey {
        case schema, entries, offset, total, isTruncated = "truncated", isIncomplete = "incomplete"
    }

    /// The page as JSON, with the entries written by hand.
    func json() throws(ControlError) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, entry) in entries.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += try EntryLine.json(entry)
        }
        return Self.json(
            of: bytes, offset: offset, total: total, isTruncated: isTruncated ?? false,
            isIncomplete: isIncomplete ?? false)
    }

    /// A part of any list as JSON.
    ///
    /// - Parameters:
    ///   - elements: the JSON of each, with commas between.
    ///   - total: nil if the end of the list was not reached.
    package static func json(
        of elements: [UInt8], offset: Int, total: Int?, isTruncated: Bool = false,
        isIncomplete: Bool = false
    ) -> [UInt8] {
        var bytes = Array(#"{"schema":1,"entries":["#.utf8) + elements + #"],"offset":\#(offset)"#.utf8
        if let total { bytes += #","total":\#(total)"#.utf8 }
        if isTruncated { bytes += #","truncated":true"#.utf8 }
        if isIncomplete { bytes += #","incomplete":true"#.utf8 }
        return bytes + "}".utf8
    }
}

/// What lists are cut by.
package enum PageLimits {
    /// Of a page.
    package static let entries = 1000
    /// No list is looked into further than this.
    package static let offset = 1_000_000_000
    /// What a paged search finds at most.
    package static let found = 10_000
}

/// Which part of a list is asked for.
package struct PageRange: Equatable, Sendable {
    package var offset: Int
    package var limit: Int

    package init(offset: Int, limit: Int) {
        self.offset = offset
        self.limit = limit
    }

    /// Nil if a query asks for the whole list as a stream. Throws `invalidRequest` for what is no part.
    ///
    /// - Parameter isLimitAlone: a `limit` without an `offset` asks for a part, too; there are streams that have one.
    package init?(_ query: RequestQuery, isLimitAlone: Bool = true) throws(ControlError) {
        let (offset, limit) = (try query.number("offset"), try query.number("limit"))
        guard offset != nil || isLimitAlone && limit != nil else { return nil }
        self.init(offset: offset ?? 0, limit: limit ?? PageLimits.entries)
        guard (1...PageLimits.entries).contains(self.limit), (0...PageLimits.offset).contains(self.offset) else {
            throw ControlError(
                .invalidRequest,
                "A page has a limit from 1 to \(PageLimits.entries) and an offset from 0 to \(PageLimits.offset).")
        }
    }
}
