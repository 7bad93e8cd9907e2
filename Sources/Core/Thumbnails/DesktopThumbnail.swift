import Cryptography

/// A thumbnail where the desktop's programs look for one (the Thumbnail Managing Standard of freedesktop.org): a PNG that says of
/// which file it is, under a name made from the file's address. Pure.
package struct DesktopThumbnail: Equatable, Sendable {
    /// The address of the file, as GLib writes it.
    package let address: String
    /// When the file was changed, in seconds since 1970.
    package let modified: Int64
    /// In a directory for its size: `large/NAME.png` where neither side is over 256 pixels.
    package let name: String

    /// Nil where the system has no MD5.
    /// - Parameter path: of the file, absolute.
    package init?(path: String, modified: Int64) {
        address = "file://" + Self.escaped(path)
        guard let digest = MD5.text(of: Array(address.utf8)) else { return nil }
        name = digest + ".png"
        self.modified = modified
    }

    /// The path in an address: bytes that GLib leaves as they are in one, and `%XX`.
    static func escaped(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let plain = Set("-_.!~*'()/&=:@+$,".utf8)
        var escaped: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                escaped.append(byte)
            case _ where plain.contains(byte): escaped.append(byte)
            default: escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// Adds the file's address and time to a picture, and drops all other metadata.
    /// - Parameter picture: a PNG; nil is returned for anything else, and for one with a side over 256 pixels.
    package func labelled(_ picture: [UInt8]) -> [UInt8]? {
        guard let chunks = PNGChunk.read(picture), let head = chunks.first, head.kind == "IHDR",
            head.content.count == 13,
            chunks.last?.kind == "IEND"
        else { return nil }
        let sides = [head.content.prefix(4), head.content.dropFirst(4).prefix(4)].map {
            $0.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        guard sides.allSatisfy({ (1...256).contains($0) }) else { return nil }
        let shown: Set = ["PLTE", "tRNS", "IDAT"]
        let labels = [
            ("Thumb::URI", address), ("Thumb::MTime", String(modified)), ("Software", "synctrain"),
        ].map { PNGChunk(kind: "tEXt", content: Array($0.0.utf8) + [0] + Array($0.1.utf8)) }
        let body = chunks.filter { shown.contains($0.kind) }
        return PNGChunk.signature + ([head] + labels + body + [PNGChunk(kind: "IEND", content: [])]).flatMap(\.bytes)
    }
}
