import BlockExchange

/// The names of conflict copies: `STEM.sync-conflict-YYYYMMDD-HHMMSS-SHORTID.EXTENSION`, as Syncthing has them.
///
/// The extension begins at the last dot of the last component, even where that is its first character.
package enum ConflictName {
    /// Bytes that a component of a path may have.
    package static let componentByteCountLimit = 255
    /// A component of fewer bytes was not cut.
    private static let cutByteCount = 200
    private static let mark = ".sync-conflict-"
    private static let tagLength = mark.utf8.count + 23

    /// The name for a copy of the file `name`, next to it.
    ///
    /// The copy of a conflict copy is named as another copy of the original, so that names do not grow. A stem that
    /// would make the component too long is cut at the end of a character.
    ///
    /// - parameters:
    ///   - device: who made the winning version: its `modifiedBy`.
    ///   - isTaken: whether there is a file of that name; the time then moves on by a second, until there is none.
    package static func copy(
        of name: String, at time: ConflictTime, by device: ShortID, isTaken: (String) -> Bool = { _ in false }
    ) -> String {
        let original = original(of: name) ?? name
        var time = time
        // More than this many copies made in as many seconds are no accident; the caller then finds the name taken.
        for _ in 0..<3600 {
            let candidate = tagged(original, "\(mark)\(time)-\(device)")
            if !isTaken(candidate) { return candidate }
            time = time.next
        }
        return tagged(original, "\(mark)\(time)-\(device)")
    }

    /// Whether the last component of `name` is that of a conflict copy, by Syncthing's measure.
    package static func isCopy(_ name: String) -> Bool {
        // By bytes: every name that is scanned is asked for.
        let bytes = name.utf8
        let component = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes[$0...] } ?? bytes[...]
        return component.indices.contains {
            component[$0] == UInt8(ascii: ".") && component[$0...].starts(with: mark.utf8)
        }
    }

    /// The name of the file that `name` is a conflict copy of; nil if it does not have exactly the form of one.
    ///
    /// A stem that was cut is not made whole again. `.` and `..` are not names of files.
    package static func original(of name: String) -> String? {
        let path = Path(name)
        // Without an extension of the original, the tag looks like one.
        let stem = untagged(path.stem).map { $0 + path.fileExtension } ?? untagged(path.component)
        guard let stem, !["", ".", ".."].contains(stem) else { return nil }
        return path.directory + stem
    }

    /// Whether the name of the file that `name` is a copy of may have been cut.
    package static func mayBeCut(_ name: String) -> Bool {
        Path(name).component.utf8.count >= cutByteCount && original(of: name) != nil
    }

    /// The same as `original(of:)`, but for a stem that was cut the one file whose copy gets that name.
    ///
    /// - parameter siblings: names in the same directory. If copies of several of them, or of none, get that name, the stem stays cut.
    package static func original(of name: String, among siblings: some Sequence<String>) -> String? {
        guard mayBeCut(name) else { return original(of: name) }
        let path = Path(name)
        let tagged = untagged(path.stem) == nil ? path.component : path.stem
        let tag = String(decoding: tagged.utf8.suffix(tagLength), as: UTF8.self)
        let whole = siblings.filter { sibling in
            original(of: sibling) == nil && self.tagged(sibling, tag).utf8.elementsEqual(name.utf8)
        }
        return whole.count == 1 ? whole[0] : original(of: name)
    }

    /// Which device made the version that won, by the name of the copy that the other one became: its id's first seven
    /// characters. Nil if the name does not have exactly the form of a copy's.
    package static func winner(of name: String) -> String? {
        let path = Path(name)
        for text in [path.stem, path.component] where untagged(text) != nil {
            return String(decoding: text.utf8.suffix(7), as: UTF8.self)
        }
        return nil
    }

    /// An ordinary name for a conflict copy of `name` that stays: `STEM (LABEL).EXTENSION`, next to it.
    ///
    /// - parameters:
    ///   - label: such as a device's name; what no name can have is replaced, and it is cut where it is long.
    ///   - isTaken: whether there is a file of that name; a number is added to the label until there is none.
    package static func ordinary(
        for name: String, label: String, isTaken: (String) -> Bool = { _ in false }
    ) -> String {
        let original = original(of: name) ?? name
        var scalars = String.UnicodeScalarView()
        for scalar in label.unicodeScalars.prefix(40) {
            let isUsable = scalar != "/" && scalar.properties.generalCategory != .control
            scalars.append(isUsable ? scalar : "-")
        }
        let label = String(scalars)
        for number in 1..<1000 {
            let candidate = tagged(original, number == 1 ? " (\(label))" : " (\(label) \(number))")
            if !isTaken(candidate) { return candidate }
        }
        return tagged(original, " (\(label) 1000)")
    }

    /// `text` without the tag at its end: the mark, 8 digits, 6 digits and the short id, joined by dashes. Nil if there
    /// is none.
    private static func untagged(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count >= tagLength else { return nil }
        let tag = bytes[(bytes.count - tagLength)...]
        guard tag.starts(with: mark.utf8) else { return nil }
        let fields = tag.dropFirst(mark.utf8.count)
            .split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        func isBase32(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(byte)
        }
        guard fields.count == 3, fields[0].count == 8, fields[1].count == 6, fields[2].count == 7,
            fields[0].allSatisfy(isDigit), fields[1].allSatisfy(isDigit), fields[2].allSatisfy(isBase32)
        else { return nil }
        return String(decoding: bytes.dropLast(tagLength), as: UTF8.self)
    }

    /// Those of `siblings` that have exactly the form of a conflict copy's name of `name`.
    ///
    /// - parameter siblings: names in the same directory, with it.
    package static func copies(of name: String, among siblings: [String]) -> [String] {
        let all = siblings.contains { $0.utf8.elementsEqual(name.utf8) } ? siblings : siblings + [name]
        return siblings.filter { original(of: $0, among: all)?.utf8.elementsEqual(name.utf8) ?? false }
    }

    /// Which of the conflict copies of one file are more than `limit`, oldest last.
    ///
    /// - parameters:
    ///   - copies: with the time at which each came to this disk. Their names tell the time of the clocks of other devices.
    ///   - made: the copy that was made last. It stays, and counts.
    ///   - limit: `FolderRules.conflictLimit`; negative keeps all.
    package static func excess(
        among copies: [(name: String, seen: some Comparable)], besides made: String, limit: Int
    ) -> [String] {
        guard limit >= 0 else { return [] }
        let others = copies.filter { !$0.name.utf8.elementsEqual(made.utf8) }
        let newestFirst = others.sorted {
            $0.seen == $1.seen ? PathOrder.precedes($1.name, $0.name) : $0.seen > $1.seen
        }
        return newestFirst.dropFirst(max(0, limit - (copies.count - others.count))).map(\.name)
    }

    /// `name` with `tag` before its extension; the stem is cut where that would be too long.
    static func tagged(_ name: String, _ tag: String) -> String {
        let path = Path(name)
        var (stem, fileExtension) = (path.stem, path.fileExtension)
        // A component that is nearly all extension is shortened as if it had none.
        if fileExtension.utf8.count + tag.utf8.count > componentByteCountLimit {
            (stem, fileExtension) = (path.component, "")
        }
        let room = componentByteCountLimit - tag.utf8.count - fileExtension.utf8.count
        return path.directory + cut(stem, toByteCount: room) + tag + fileExtension
    }

    /// The longest start of `text` of so many bytes that ends with a character, or within one that alone is too long,
    /// with a scalar.
    private static func cut(_ text: String, toByteCount limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var byteCount = 0
        var end = text.startIndex
        for index in text.indices {
            byteCount += text[index].utf8.count
            if byteCount > limit { break }
            end = text.index(after: index)
        }
        guard end == text.startIndex else { return String(text[..<end]) }
        var scalars = String.UnicodeScalarView()
        byteCount = 0
        for scalar in text.unicodeScalars {
            byteCount += UTF8.width(scalar)
            if byteCount > limit { break }
            scalars.append(scalar)
        }
        return String(scalars)
    }

    /// A name, taken apart as Syncthing does.
    struct Path {
        /// Up to and with the last slash.
        var directory: String
        var stem: String
        /// From the last dot on, with it; empty if there is none.
        var fileExtension: String

        var component: String { stem + fileExtension }

        init(_ name: String) {
            let utf8 = name.utf8
            let start = utf8.lastIndex(of: PathOrder.separator).map(utf8.index(after:)) ?? utf8.startIndex
            let end = utf8[start...].lastIndex(of: UInt8(ascii: ".")) ?? utf8.endIndex
            directory = String(name[..<start])
            stem = String(name[start..<end])
            fileExtension = String(name[end...])
        }
    }
}
