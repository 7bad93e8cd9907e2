import SyncTestKit
import Testing

@testable import Thumbnails

@Suite struct JPEGHeadTests {
    private static let preview = Pictures.jpeg(160, 120)

    @Test(arguments: [true, false], [1, 3, 6, 8])
    func aCamerasPhoto(big: Bool, orientation: Int) throws {
        let exif = Pictures.exif(orientation: orientation, preview: Self.preview, big: big)
        let photo = Pictures.jpeg(4000, 3000, before: exif)
        let head = try #require(JPEGHead(photo))
        #expect(head.size == PixelSize(width: 4000, height: 3000))
        #expect(head.orientation == UInt8(orientation))
        #expect(head.preview.map { Array(photo[$0]) } == Self.preview)
        #expect(head.isWhole)

        // The preview taken out is turned as the photo is.
        let preview = try #require(Preview(head: photo))
        let own = try #require(JPEGHead(preview.bytes))
        #expect(own.orientation == UInt8(orientation))
        #expect(own.size == PixelSize(width: 160, height: 120))
        #expect(preview.frame == .whole)
    }

    /// What stands before the pixels is enough: the rest need not be known.
    @Test func theBeginningIsEnough() throws {
        let exif = Pictures.exif(orientation: 6, preview: Self.preview)
        let photo = Pictures.jpeg(4000, 3000, before: exif)
        let cut = try #require(JPEGHead(Array(photo.prefix(2 + exif.count))))
        #expect(cut.preview != nil)
        #expect(cut.size == nil)
        #expect(!cut.isWhole)
        // Not a byte of the preview may be missing.
        #expect(JPEGHead(Array(photo.prefix(1 + exif.count)))?.preview == nil)
    }

    @Test func whatIsNoPreview() {
        let some: [(String, [UInt8]?)] = [
            ("none", nil), ("no JPEG", [UInt8](repeating: 7, count: 400)), ("small", Pictures.jpeg(100, 75)),
            ("no size", Pictures.jpeg(0, 200)), ("no pixels", [0xFF, 0xD8] + Pictures.frame(160, 120)),
        ]
        for (what, preview) in some {
            let exif = Pictures.exif(orientation: 1, preview: preview)
            #expect(JPEGHead(Pictures.jpeg(4000, 3000, before: exif))?.preview == nil, "\(what)")
        }
    }

    @Test(arguments: [0, 9, 65535]) func anOrientationThatThereIsNot(orientation: Int) {
        let exif = Pictures.exif(orientation: orientation, preview: nil)
        #expect(JPEGHead(Pictures.jpeg(10, 10, before: exif))?.orientation == 1)
    }

    @Test func bytesBetweenSegments() throws {
        let filled = [0xFF, 0xD8, 0xFF, 0xFF, 0xFF] + Pictures.frame(7, 9).dropFirst() + Pictures.segment(0xDA, [0])
        #expect(JPEGHead(filled)?.size == PixelSize(width: 7, height: 9))
        #expect(JPEGHead([0xFF, 0xD8, 1, 2, 3])?.size == nil)
        #expect(JPEGHead([0x89, 0x50]) == nil)
        #expect(JPEGHead([]) == nil)
    }

    /// Black bars are cut off: preview and photo, and what is shown of the preview.
    @Test(
        arguments: [
            (160, 120, 4000, 3000, nil), (160, 120, 6000, 4000, (160, 106)), (160, 120, 3000, 4000, (90, 120)),
            (160, 120, 4000, 2250, (160, 90)), (160, 120, 12000, 100, (160, 1)), (640, 480, 6000, 4000, (255, 169)),
            (160, 120, 0, 0, nil), (160, 120, 65535, 1, (160, 1)),
        ] as [(Int, Int, Int, Int, (Int, Int)?)])
    func theFrame(width: Int, height: Int, photoWidth: Int, photoHeight: Int, shown: (Int, Int)?) {
        let frame = ThumbnailFrame(
            preview: PixelSize(width: width, height: height), of: PixelSize(width: photoWidth, height: photoHeight))
        #expect(frame.isFilled == (shown != nil))
        #expect(frame.size == (shown.map { PixelSize(width: $0.0, height: $0.1) } ?? ThumbnailFrame.whole.size))
    }

    /// A photo on its side is cut as it will stand.
    @Test func theFrameIsTurned() throws {
        let exif = Pictures.exif(orientation: 6, preview: Self.preview)
        let frame = try #require(Preview(head: Pictures.jpeg(6000, 4000, before: exif))).frame
        #expect(frame.size == PixelSize(width: 106, height: 160))
    }

    /// Whatever becomes of the bytes: nothing traps, and what is found lies in them and is a JPEG.
    @Test(arguments: 1...20) func changedBytes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let exif = Pictures.exif(orientation: 6, preview: Self.preview, big: seed.isMultiple(of: 2))
        let photo = Pictures.jpeg(6000, 4000, before: exif)
        for _ in 0..<1000 {
            var bytes = Array(photo.prefix(random.int(0...photo.count)))
            for _ in 0..<random.int(0...4) where !bytes.isEmpty {
                bytes[random.int(0...bytes.count - 1)] = random.pick([0, 1, 0xFF, 0x7F, 0x80, random.bytes(1)[0]])
            }
            guard let head = JPEGHead(bytes) else { continue }
            #expect((1...8).contains(head.orientation))
            if let preview = head.preview {
                #expect(bytes[preview].starts(with: [0xFF, 0xD8]))
                #expect(Preview(head: bytes) != nil)
            }
        }
    }
}

@Suite struct ThumbnailCheckTests {
    @Test(arguments: [
        (255, 255, true), (1, 255, true), (256, 255, false), (255, 256, false), (0, 10, false), (10, 0, false),
    ])
    func sides(width: Int, height: Int, isGood: Bool) {
        #expect(ThumbnailCheck.isThumbnail(Pictures.jpeg(width, height)) == isGood)
    }

    @Test func whatIsNone() {
        let good = Pictures.jpeg(200, 100)
        #expect(!ThumbnailCheck.isThumbnail(good.dropLast()))
        #expect(!ThumbnailCheck.isThumbnail(Array("<html></html>".utf8)))
        #expect(!ThumbnailCheck.isThumbnail([]))
        #expect(!ThumbnailCheck.isThumbnail([0xFF, 0xD8, 0xFF, 0xD9]))
        let large = Pictures.jpeg(
            200, 100,
            before: (0..<5).flatMap { _ in
                Pictures.segment(0xE2, [UInt8](repeating: 0, count: 65_000))
            })
        #expect(!ThumbnailCheck.isThumbnail(large))
    }
}

@Suite struct MediaKindTests {
    @Test(
        arguments: [
            ([0xFF, 0xD8, 0xFF, 0xE0], .picture(.jpeg)), (Array("GIF89a".utf8), .picture(.gif)),
            (Array("RIFF....WEBPVP8 ".utf8), .picture(.webp)), (Array("RIFF....AVI LIST".utf8), .film(.avi)),
            (Array("\0\0\0\u{18}ftypheic".utf8), .picture(.heif)), (Array("\0\0\0\u{18}ftypisom".utf8), .film(.mov)),
            (Array("\0\0\0\u{8}wide".utf8), .film(.mov)), ([0x1A, 0x45, 0xDF, 0xA3], .film(.matroska)),
            ([0x49, 0x49, 0x2A, 0], .picture(.tiff)), (Array("OggS".utf8), .film(.ogg)),
            ([0x47] + [UInt8](repeating: 0, count: 187) + [0x47], .film(.mpegts)),
            // What names other files, or is drawn from a text, is none.
            (Array("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n".utf8), nil),
            (Array("ffconcat version 1.0\nfile /etc/passwd\n".utf8), nil),
            (Array("<svg xmlns=\"http://www.w3.org/2000/svg\">".utf8), nil), (Array("%PDF-1.4".utf8), nil),
            (Array("RIFF....WAVE".utf8), nil), ([], nil), ([0x47], nil),
        ] as [([UInt8], MediaKind?)])
    func kinds(head: [UInt8], kind: MediaKind?) { #expect(MediaKind(head: head) == kind) }

    @Test(arguments: [
        ("a/b.JPG", true), ("x.mkv", true), ("jpg", false), ("a.jpg/b", false), (".jpg", true), ("a.txt", false),
        ("a.svg", false), ("a.m3u8", false), ("", false), ("a.", false), ("a.zip", false),
        ("a.b/\u{301}.jpg", true), ("a.jpg/\u{301}", false),
    ])
    func names(path: String, isLikely: Bool) { #expect(MediaKind.isLikely(path: path) == isLikely) }

    @Test func sizes() {
        let png =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + Pictures.number(50_000, 4) + Pictures.number(40_000, 4)
        #expect(PixelSize(of: .png, head: png) == PixelSize(width: 50_000, height: 40_000))
        #expect(PixelSize(of: .png, head: png)?.isReasonable == false)
        #expect(PixelSize(of: .png, head: png.dropLast()) == nil)
        #expect(PixelSize(of: .gif, head: Array("GIF89a".utf8) + [3, 1, 4, 0]) == PixelSize(width: 259, height: 4))
        let extended = Array("RIFF....WEBPVP8X".utf8) + [UInt8](repeating: 0, count: 8) + [0xFF, 1, 0, 0xFF, 0, 0]
        #expect(PixelSize(of: .webp, head: extended) == PixelSize(width: 512, height: 256))
        #expect(PixelSize(width: 16_384, height: 16_384).isReasonable)
        #expect(!PixelSize(width: 16_384, height: 16_385).isReasonable)
        #expect(!PixelSize(width: .max, height: 2).isReasonable)
        #expect(!PixelSize(width: 0, height: 2).isReasonable)
    }
}
