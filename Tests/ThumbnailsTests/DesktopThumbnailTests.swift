import Testing

@testable import Thumbnails

@Suite struct DesktopThumbnailTests {
    /// The example of the standard, whose address needs no escaping.
    @Test func itsNameIsTheStandards() throws {
        let place = try #require(DesktopThumbnail(path: "/home/jens/photos/me.png", modified: 0))
        #expect(place.address == "file:///home/jens/photos/me.png")
        #expect(place.name == "c6ee772d9e49320e97ec29a7eb5b1697.png")
    }

    /// As `gio info` of GLib 2.74 writes them.
    @Test(arguments: [
        ("/a b", "/a%20b"), ("/ä", "/%C3%A4"), ("/100%", "/100%25"), ("/a#b?c", "/a%23b%3Fc"),
        ("/[x]{y}", "/%5Bx%5D%7By%7D"),
        ("/a&b=c+d$e,f:g@h", "/a&b=c+d$e,f:g@h"), ("/(a)'b'!c*d~e", "/(a)'b'!c*d~e"), ("/a;b", "/a%3Bb"),
        ("/a\\b|c^d`e\"f<g>", "/a%5Cb%7Cc%5Ed%60e%22f%3Cg%3E"), ("/a\nb", "/a%0Ab"),
    ])
    func anAddressIsEscapedAsGLibDoes(path: String, escaped: String) {
        #expect(DesktopThumbnail.escaped(path) == escaped)
    }

    private static func chunk(_ kind: String, _ content: [UInt8]) -> PNGChunk { PNGChunk(kind: kind, content: content) }

    private static func picture(width: UInt8 = 2, isWide: Bool = false, _ others: [PNGChunk] = []) -> [UInt8] {
        let head = chunk("IHDR", [0, 0, isWide ? 1 : 0, width, 0, 0, 0, 3, 8, 2, 0, 0, 0])
        return PNGChunk.signature
            + ([head] + others + [chunk("IDAT", [1, 2, 3]), chunk("IDAT", [4]), chunk("IEND", [])]).flatMap(\.bytes)
    }

    private static let place = DesktopThumbnail(path: "/m/ä.jpg", modified: 1_700_000_000)

    @Test func aPictureIsLabelled() throws {
        let labelled = try #require(
            Self.place?.labelled(
                Self.picture([Self.chunk("tEXt", Array("Comment".utf8) + [0, 65]), Self.chunk("PLTE", [9, 9, 9])])))
        let chunks = try #require(PNGChunk.read(labelled))
        #expect(chunks.map(\.kind) == ["IHDR", "tEXt", "tEXt", "tEXt", "PLTE", "IDAT", "IDAT", "IEND"])
        #expect(
            chunks[1...3].map { String(decoding: $0.content, as: UTF8.self) } == [
                "Thumb::URI\0file:///m/%C3%A4.jpg", "Thumb::MTime\01700000000", "Software\0synctrain",
            ])
        #expect(chunks[5].content == [1, 2, 3])
    }

    /// The check of the first part of every PNG of this size and kind, as another program writes it.
    @Test func checksumsAreThoseOfPNG() {
        #expect(Self.chunk("IEND", []).bytes == [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
    }

    @Test func whatIsNoSmallPictureIsRefused() {
        let place = Self.place
        let good = Self.picture()
        #expect(place?.labelled(good) != nil)
        #expect(place?.labelled(Self.picture(width: 0, isWide: true)) != nil, "256 pixels")
        #expect(place?.labelled(Self.picture(width: 1, isWide: true)) == nil, "257 pixels")
        #expect(place?.labelled(Self.picture(width: 0)) == nil)
        for count in 0..<good.count { #expect(place?.labelled(Array(good.prefix(count))) == nil, "\(count)") }
        for index in good.indices {
            var bad = good
            bad[index] ^= 0x40
            #expect(place?.labelled(bad) == nil, "\(index)")
        }
        #expect(place?.labelled(PNGChunk.signature + Self.chunk("IEND", []).bytes) == nil)
    }
}
