import Phrases

/// A zip or an ISO 9660 image of which only the directory is read, and of a member only the member. Pure: what it reads
/// comes from an `ArchiveSource`.
///
/// Everything in it may be somebody's who means harm: what is read and kept is bounded by `ArchiveLimits`, and errors are
/// `ArchiveError`s or what the source throws.
package struct Archive: Sendable {
    package enum Format: String, Sendable { case zip, iso }

    private enum Directory: Sendable {
        case zip(ZipDirectory)
        case image([ArchiveMember])
    }

    private let reader: WindowReader
    private let directory: Directory

    /// Reads the directory: of a zip the end of the file, of an image its beginning.
    ///
    /// - Parameter name: which of the two is looked for first, by its ending.
    /// - Throws: `ArchiveError` (`notArchive`, `damaged`, `unsupported`, `encrypted`, `tooLarge`); what `source`
    ///   throws.
    package init(_ source: any ArchiveSource, name: String) async throws {
        reader = WindowReader(source)
        let zip = { @Sendable [reader] in try await ZipDirectory(reader).map { Directory.zip($0) } }
        let image = { @Sendable [reader] in try await ImageDirectory.members(reader).map { Directory.image($0) } }
        let isImage = name.utf8.suffix(4).elementsEqual(".iso".utf8) || name.utf8.suffix(4).elementsEqual(".ISO".utf8)
        for find in isImage ? [image, zip] : [zip, image] {
            if let directory = try await find() {
                self.directory = directory
                return
            }
        }
        throw ArchiveError(
            .notArchive, "\(name) is not a zip file or an ISO 9660 image, so it has no contents to list.")
    }

    package var format: Format {
        switch directory {
        case .zip: .zip
        case .image: .iso
        }
    }

    package var memberCount: Int {
        switch directory {
        case .zip(let zip): zip.memberCount
        case .image(let members): members.count
        }
    }

    /// Members in the order of the archive, from one on.
    package func members(offset: Int, limit: Int) throws(ArchiveError) -> [ArchiveMember] {
        switch directory {
        case .zip(let zip): try zip.members(offset: offset, limit: limit)
        case .image(let members): Array(members.dropFirst(max(0, offset)).prefix(max(0, limit)))
        }
    }

    /// The file of this path, compared byte by byte. Throws `noSuchMember` and `notFile`.
    package func file(_ path: String) throws(ArchiveError) -> ArchiveMember {
        let found: ArchiveMember?
        switch directory {
        case .zip(let zip): found = try zip.member(path)
        case .image(let members): found = members.last { $0.path.utf8.elementsEqual(path.utf8) }
        }
        guard let found else {
            throw ArchiveError(
                .noSuchMember, "\(path): not found in the archive; `synctrain zip ls` lists its contents.")
        }
        guard found.kind == .file else {
            throw ArchiveError(.notFile, "\(path) is not a file; `zip cat` needs one.")
        }
        return found
    }

    /// Gives the bytes of a member in order.
    ///
    /// - Parameter range: within the member's size; nil for all, and the only choice if the member is not seekable. All of
    ///   a zip's member is checked against its checksum before the last bytes are given.
    /// - Throws: `ArchiveError` (`damaged`, `unsupported`, `encrypted`); what the source and `emit` throw.
    package func read(
        _ member: ArchiveMember, range: ClosedRange<Int64>?, emit: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        switch (member.content, directory) {
        case (.extents(let extents), _):
            try await read(range.map { Self.part($0, of: extents) } ?? extents, emit)
        case (.zip(let data), .zip(let zip)):
            let decoder = try MemberDecoder(member, data)
            let place = try await zip.range(of: data, reader: reader)
            if let range {
                guard member.isSeekable else {
                    throw ArchiveError(
                        .unsupported, "\(member.path) is compressed and can only be read from beginning to end.")
                }
                return try await read(Self.part(range, of: [place]), emit)
            }
            try await read([place]) { try await decoder.take($0, emit: emit) }
            try await decoder.finish(emit: emit)
        case (.interleaved, _):
            throw ArchiveError(
                .unsupported, "\(member.path) is interleaved with other files. Fetch the image and mount it.")
        case (.none, _), (.zip, .image): break
        }
    }

    private func read(_ ranges: [Range<Int64>], _ emit: @Sendable ([UInt8]) async throws -> Void) async throws {
        for range in ranges where !range.isEmpty {
            guard range.lowerBound >= 0, range.upperBound <= reader.size else {
                throw ArchiveError.damaged(Phrase("a member is beyond its end"))
            }
            try await reader.source.read(range, emit: emit)
        }
    }

    /// The ranges of the archive that hold `part` of the bytes in `extents`.
    static func part(_ part: ClosedRange<Int64>, of extents: [Range<Int64>]) -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        var before: Int64 = 0
        for extent in extents {
            let count = Int64(extent.count)
            let first = max(part.lowerBound - before, 0)
            let last = min(part.upperBound - before, count - 1)
            if first <= last { ranges.append(extent.lowerBound + first..<extent.lowerBound + last + 1) }
            before += count
        }
        return ranges
    }
}
