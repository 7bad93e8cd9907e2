/// What a file is said to be when it is sent, by the ending of its name. Pure.
struct MediaType: Equatable, Sendable {
    /// As in `Content-Type`.
    var text: String
    /// Whether a browser shows it; else it is offered to be saved. Nothing that can hold a script is shown.
    var isShown: Bool

    init(path: String) {
        let name = Self.name(of: path) ?? ""
        let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        if let text = Self.shown[ending] {
            self.init(text: text, isShown: true)
        } else if Self.texts.contains(ending) {
            self.init(text: "text/plain; charset=utf-8", isShown: true)
        } else {
            self.init(text: Self.saved[ending] ?? "application/octet-stream", isShown: false)
        }
    }

    // By bytes: to Characters a `/` with a combining mark behind it is no `/`.
    private static func name(of path: String) -> Substring? {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { Substring($0) }
    }

    private init(text: String, isShown: Bool) {
        self.text = text
        self.isShown = isShown
    }

    /// What a browser lets the file do, alone or in a frame of the page: be seen.
    var contentSecurityPolicy: String {
        "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox"
    }

    /// `Content-Disposition` for a file of this type: how it is shown, and its name in ASCII and in full (RFC 6266).
    func disposition(path: String) -> String {
        let name = Self.name(of: path) ?? "file"
        // What could end the quotes or the line is not let into them.
        let plain = String(
            decoding: name.utf8.map { (0x20..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C ? $0 : 0x5F },
            as: UTF8.self)
        let digits = Array("0123456789ABCDEF".utf8)
        var full: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: full.append(byte)
            default: full += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return "\(isShown ? "inline" : "attachment"); filename=\"\(plain)\"; "
            + "filename*=UTF-8''\(String(decoding: full, as: UTF8.self))"
    }

    private static let shown = [
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "mkv": "video/x-matroska",
        "webm": "video/webm", "avi": "video/x-msvideo", "mpg": "video/mpeg", "mpeg": "video/mpeg", "ts": "video/mp2t",
        "m2ts": "video/mp2t", "ogv": "video/ogg", "wmv": "video/x-ms-wmv", "flv": "video/x-flv", "3gp": "video/3gpp",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "m4b": "audio/mp4", "aac": "audio/aac", "ogg": "audio/ogg",
        "oga": "audio/ogg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/wav", "wma": "audio/x-ms-wma",
        "aiff": "audio/aiff", "mid": "audio/midi", "weba": "audio/webm",
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif", "heic": "image/heic", "heif": "image/heif", "bmp": "image/bmp", "tif": "image/tiff",
        "tiff": "image/tiff", "ico": "image/x-icon", "jxl": "image/jxl",
        "pdf": "application/pdf", "vtt": "text/vtt; charset=utf-8",
    ]

    /// Shown as they are written, not as what they mean.
    private static let texts: Set<String> = [
        "txt", "text", "md", "markdown", "log", "csv", "tsv", "srt", "nfo", "ini", "conf", "toml", "yaml", "yml",
        "json",
        "ndjson", "tex", "rst", "org", "diff", "patch", "c", "h", "cpp", "hpp", "swift", "py", "rs", "go", "java", "sh",
    ]

    /// Scripts and styles are sent as text: from the page's own address they would be what its policy calls `'self'`.
    private static let saved = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8", "svg": "image/svg+xml",
        "xml": "application/xml", "js": "text/plain; charset=utf-8", "mjs": "text/plain; charset=utf-8",
        "css": "text/plain; charset=utf-8",
        "zip": "application/zip", "gz": "application/gzip", "xz": "application/x-xz", "zst": "application/zstd",
        "bz2": "application/x-bzip2", "7z": "application/x-7z-compressed", "rar": "application/vnd.rar",
        "tar": "application/x-tar", "iso": "application/x-iso9660-image", "epub": "application/epub+zip",
        "doc": "application/msword", "xls": "application/vnd.ms-excel", "ppt": "application/vnd.ms-powerpoint",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "odt": "application/vnd.oasis.opendocument.text", "ods": "application/vnd.oasis.opendocument.spreadsheet",
        "odp": "application/vnd.oasis.opendocument.presentation", "m3u8": "application/vnd.apple.mpegurl",
        "m3u": "audio/x-mpegurl", "torrent": "application/x-bittorrent",
    ]
}
