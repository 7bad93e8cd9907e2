/// A place in a text, for people.
package struct TOMLPosition: Equatable, Sendable {
    /// Counted from 1.
    package var line: Int
    /// Counted from 1, in Unicode scalars.
    package var column: Int

    package static let start = TOMLPosition(line: 1, column: 1)

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// One part of a key.
package struct TOMLKey: Equatable, Sendable {
    /// Without quotes, escapes resolved.
    package var text: String
    package var position: TOMLPosition
    /// The bytes of the key in the text, with its quotes.
    package var range: Range<Int>
}

/// A value and its place.
package struct TOMLNode: Equatable, Sendable {
    package var value: TOMLValue
    package var position: TOMLPosition
    /// The bytes of the value in the text. For a table or list that headers or dotted keys make, those of the header or key
    /// that names it first.
    package var range: Range<Int>
}

package enum TOMLValue: Equatable, Sendable {
    case string(String)
    case integer(Int64)
    case float(Double)
    case boolean(Bool)
    case dateTime(TOMLDateTime)
    /// A list in brackets, or the tables of `[[…]]`: these have the style `element`.
    case array([TOMLNode])
    case table(TOMLTable)
}

/// The keys of a table in the order of the text.
package struct TOMLTable: Equatable, Sendable {
    /// How the text makes the table.
    package enum Style: Equatable, Sendable {
        /// By a header of a table inside it, or as the root.
        case implicit
        /// `[name]`
        case header
        /// `[[name]]`
        case element
        /// `name.key = value`
        case dotted
        /// `{ … }`
        case inline
    }

    package struct Entry: Equatable, Sendable {
        package var key: TOMLKey
        package var node: TOMLNode
    }

    package let style: Style
    package let entries: [Entry]
    /// By the bytes of a key: TOML tells `é` from `e` with an accent, which are equal as Swift strings.
    private let indices: [[UInt8]: Int]

    init(style: Style, entries: [Entry], indices: [[UInt8]: Int]) {
        self.style = style
        self.entries = entries
        self.indices = indices
    }

    package subscript(_ key: String) -> Entry? { indices[Array(key.utf8)].map { entries[$0] } }
}

/// The four kinds of dates and times that TOML has. Each is a day and time that exists; seconds may be 60.
package enum TOMLDateTime: Equatable, Sendable {
    package struct Day: Equatable, Sendable {
        package var year: Int
        package var month: Int
        package var day: Int
    }

    package struct Time: Equatable, Sendable {
        package var hour: Int
        package var minute: Int
        package var second: Int
        /// What of a fraction is finer than a nanosecond is dropped.
        package var nanosecond: Int
    }

    /// With the offset from UTC in minutes, positive to the east.
    case instant(Day, Time, offsetMinutes: Int)
    case local(Day, Time)
    case day(Day)
    case time(Time)
}
