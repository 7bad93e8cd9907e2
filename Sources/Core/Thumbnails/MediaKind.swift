/// What a file is by its first bytes: what it is read as, whatever its name says. Only kinds that the tools are told by
/// name are here; nothing is left for them to guess. Pure.
package enum MediaKind: Equatable, Sendable {
    case picture(PictureFormat)
    case film(FilmContainer)

    package enum PictureFormat: Equatable, Sendable, CaseIterable {
        case jpeg, png, gif, webp, tiff, heif
    }

    /// The raw value is ffmpeg's name of what reads it.
    package enum FilmContainer: String, Sendable, CaseIterable {
        case mov, matroska, avi, mpegts, mpeg, flv, ogg, asf
    }

    /// Bytes from the beginning of a file that are looked at.
    package static let headByteCount = 400

    /// Nil for anything else, and for what is too short to tell.
    package init?(head: [UInt8]) {
        func begins(_ text: StaticString, at offset: Int = 0) -> Bool {
            text.withUTF8Buffer { head.dropFirst(offset).starts(with: $0) }
        }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .picture(.jpeg)
        } else if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .picture(.png)
        } else if begins("GIF87a") || begins("GIF89a") {
            self = .picture(.gif)
        } else if begins("RIFF"), begins("WEBP", at: 8) {
            self = .picture(.webp)
        } else if begins("RIFF"), begins("AVI ", at: 8) {
            self = .film(.avi)
        } else if head.starts(with: [0x49, 0x49, 0x2A, 0]) || head.starts(with: [0x4D, 0x4D, 0, 0x2A]) {
            self = .picture(.tiff)
        } else if begins("ftyp", at: 4) {
            let isStill = ["heic", "heix", "heim", "heis", "mif1", "avif", "msf1", "avis"].contains {
                head.dropFirst(8).starts(with: $0.utf8)
            }
            self = isStill ? .picture(.heif) : .film(.mov)
        } else if begins("moov", at: 4) || begins("mdat", at: 4) || begins("wide", at: 4) || begins("pnot", at: 4) {
            // QuickTime's films before there was a box that names the kind.
            self = .film(.mov)
        } else if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            self = .film(.matroska)
        } else if begins("FLV\u{1}") {
            self = .film(.flv)
        } else if begins("OggS") {
            self = .film(.ogg)
        } else if head.starts(with: [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]) {
            self = .film(.asf)
        } else if head.starts(with: [0, 0, 1, 0xBA]) {
            self = .film(.mpeg)
        } else if Self.isTransportStream(head, packet: 188, sync: 0)
            || Self.isTransportStream(head, packet: 192, sync: 4)
        {
            self = .film(.mpegts)
        } else {
            return nil
        }
    }

    private static func isTransportStream(_ head: [UInt8], packet: Int, sync: Int) -> Bool {
        head.count > sync + packet && head[sync] == 0x47 && head[sync + packet] == 0x47
    }

    /// Whether a file of this name is worth asking for its first block.
    package static func isLikely(path: String) -> Bool {
        let bytes = path.utf8
        let name = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes[bytes.index(after: $0)...] } ?? bytes[...]
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return false }
        return endings.contains(Substring(name[name.index(after: dot)...]).lowercased())
    }

    private static let endings: Set<String> = [
        "jpg", "jpeg", "jpe", "png", "gif", "webp", "tif", "tiff", "heic", "heif", "avif",
        "mp4", "m4v", "mov", "3gp", "3g2", "mkv", "webm", "avi", "ts", "mts", "m2ts", "mpg", "mpeg", "vob", "flv",
        "ogv", "wmv", "asf",
    ]
}
