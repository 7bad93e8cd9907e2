/// What a search asks for besides a text. With any of it only files are found.
package struct SearchFilter: Hashable, Sendable {
    /// Told by the end of the name.
    package enum Kind: String, CaseIterable, Sendable {
        case photo, video, music, document, archive
        /// None of these.
        case other

        /// Without the dot, in lower case; empty for `other`.
        package var endings: [String] {
            switch self {
            case .photo:
                [
                    "jpg", "jpeg", "png", "gif", "webp", "tif", "tiff", "heic", "heif", "avif", "bmp", "svg", "psd",
                    "xcf", "dng", "cr2",
                    "cr3", "nef", "arw", "orf", "rw2", "raf", "pef", "raw",
                ]
            case .video:
                [
                    "mp4", "m4v", "mov", "mkv", "webm", "avi", "mpg", "mpeg", "mts", "m2ts", "wmv", "flv", "ogv", "3gp",
                    "vob",
                ]
            case .music:
                [
                    "mp3", "flac", "ogg", "oga", "opus", "m4a", "m4b", "aac", "wav", "aif", "aiff", "wma", "ape", "mid",
                    "midi",
                ]
            case .document:
                [
                    "pdf", "txt", "md", "rst", "tex", "rtf", "csv", "html", "htm", "epub", "mobi", "djvu", "doc",
                    "docx", "odt", "pages",
                    "xls", "xlsx", "ods", "numbers", "ppt", "pptx", "odp", "key",
                ]
            case .archive:
                [
                    "zip", "7z", "rar", "tar", "gz", "tgz", "bz2", "tbz", "xz", "txz", "zst", "lz4", "iso", "img",
                    "dmg", "jar", "deb",
                    "rpm",
                ]
            case .other: []
            }
        }
    }

    /// `device` for the files that are on this disk.
    package static let here = "here"
    /// `device` for the files that are neither on this disk nor on a connected device.
    package static let nobody = "nobody"

    package var kind: Kind?
    /// Changed at this time or later; seconds since 1970.
    package var since: Int64?
    /// Changed before this time.
    package var before: Int64?
    /// Of at least so many bytes.
    package var over: Int64?
    /// Of at most so many bytes.
    package var under: Int64?
    /// `here`, `nobody`, or the id or name of a device that has the newest version.
    package var device: String?

    package init(
        kind: Kind? = nil, since: Int64? = nil, before: Int64? = nil, over: Int64? = nil, under: Int64? = nil,
        device: String? = nil
    ) {
        self.kind = kind
        self.since = since
        self.before = before
        self.over = over
        self.under = under
        self.device = device
    }

    package var isEmpty: Bool { self == SearchFilter() }

    /// Throws `invalidRequest` for a range that nothing is in.
    package func check() throws(ControlError) {
        if let since, let before, since >= before {
            throw ControlError(.invalidRequest, "`since` must be earlier than `before`.")
        }
        if let over, let under, over > under {
            throw ControlError(.invalidRequest, "`over` must not be more than `under`.")
        }
    }
}

extension SearchFilter {
    static let part = QueryPart<SearchFilter>(
        fields: [
            RequestField(
                name: "kind", value: .oneOf(Kind.allCases.map(\.rawValue)), description: "Told by the end of the name."),
            RequestField(
                name: "since", value: .number(0...Int.max), description: "Changed then or later; seconds since 1970."),
            RequestField(
                name: "before", value: .number(0...Int.max), description: "Changed before; seconds since 1970."),
            RequestField(name: "over", value: .number(0...Int.max), description: "The smallest size in bytes."),
            RequestField(name: "under", value: .number(0...Int.max), description: "The largest size in bytes."),
            RequestField(
                name: "device", value: .text(length: 1...ControlLimits.path),
                description: "Who has it: here, nobody (neither here nor connected), or the id or name of a device."),
        ],
        write: { filter in
            let numbers = [
                ("since", filter.since), ("before", filter.before), ("over", filter.over), ("under", filter.under),
            ]
            return (filter.kind.map { [("kind", $0.rawValue)] } ?? [])
                + numbers.compactMap { name, value in value.map { (name, String($0)) } }
                + (filter.device.map { [("device", $0)] } ?? [])
        },
        read: { query in
            func number(_ name: String) throws(ControlError) -> Int64? { try query.number(name).map { Int64($0) } }
            let filter = SearchFilter(
                kind: try query.choice("kind"), since: try number("since"), before: try number("before"),
                over: try number("over"), under: try number("under"),
                device: query["device"].flatMap { $0.isEmpty ? nil : $0 })
            try filter.check()
            return filter
        })
}
