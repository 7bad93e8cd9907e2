/// An ignore file with changes that are not written out yet, by the index of the lines it had.
struct IgnoreDraft {
    private let file: IgnoreFile
    private var removals: Set<Int> = []
    private var insertions: [Int: [String]] = [:]

    init(_ file: IgnoreFile) { self.file = file }

    mutating func remove(_ index: Int) { removals.insert(index) }

    /// Adds a line before the one at `index`, behind those added there earlier.
    mutating func insert(_ text: String, before index: Int) { insertions[index, default: []].append(text) }

    /// What added lines end in.
    static func ending(of file: IgnoreFile) -> [UInt8] {
        file.lines.first?.bytes.suffix(2) == [0x0D, 0x0A] ? [0x0D, 0x0A] : [UInt8(ascii: "\n")]
    }

    /// The file with the changes, and what they are; added lines end as the file's first line does.
    func finish() throws(IgnoreError) -> SelectionEdit {
        let ending = Self.ending(of: file)
        var bytes: [UInt8] = []
        var added: [String] = []
        for index in 0...file.lines.count {
            for text in insertions[index] ?? [] {
                if let last = bytes.last, last != ending.last { bytes += ending }
                bytes += Array(text.utf8) + ending
                added.append(text)
            }
            if index < file.lines.count, !removals.contains(index) { bytes += file.lines[index].bytes }
        }
        return SelectionEdit(
            file: try IgnoreFile(parsing: bytes, name: file.name), added: added,
            removed: removals.sorted().compactMap { index in
                let line = file.lines[index]
                if SelectionMark.read(line) == nil { return line.pattern?.text }
                return IgnoreFile.trimmed(String(decoding: line.bytes, as: UTF8.self))
            })
    }
}
