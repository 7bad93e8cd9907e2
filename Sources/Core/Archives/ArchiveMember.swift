/// A name in an archive.
package struct ArchiveMember: Equatable, Sendable {
    package enum Kind: String, Sendable { case file, directory, symlink }

    /// As the archive has it, without a slash at the end. Nobody has checked it: it may be absolute or hold `..`, so it is
    /// shown and compared, and never opened.
    package var path: String
    package var kind: Kind
    /// Bytes when it is unpacked.
    package var size: Int64
    /// In seconds since 1970. Zips of the old kind have no zone: theirs is taken for UTC.
    package var modified: Int64?
    package var isEncrypted = false
    /// Where a symbolic link leads, if the archive's directory says it.
    package var target: String?
    var content: Content

    /// Whether any part of it can be read without what is before it.
    package var isSeekable: Bool {
        switch content {
        case .none, .extents, .interleaved: true
        case .zip(let data): data.method == .stored
        }
    }

    enum Content: Equatable, Sendable {
        case none
        /// Ranges of the archive one after the other, not empty each.
        case extents([Range<Int64>])
        /// Of an image: in blocks between those of others.
        case interleaved
        case zip(ZipData)
    }
}
