/// Files as cameras and others write them, as far as a head goes.
enum Pictures {
    static func number(_ value: Int, _ count: Int, big: Bool = true) -> [UInt8] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return big ? bytes.reversed() : bytes
    }

    static func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        [0xFF, marker] + number(body.count + 2, 2) + body
    }

    static func frame(_ width: Int, _ height: Int) -> [UInt8] {
        segment(0xC0, [8] + number(height, 2) + number(width, 2) + [1, 1, 0x11, 0])
    }

    /// A JPEG with no pixels to speak of.
    static func jpeg(_ width: Int, _ height: Int, before segments: [UInt8] = []) -> [UInt8] {
        [0xFF, 0xD8] + segments + frame(width, height) + segment(0xDA, [1, 1, 0, 0, 63, 0]) + [0x12, 0x34, 0xFF, 0xD9]
    }

    /// The segment with which a camera says which way up a photo is, and keeps its preview.
    static func exif(orientation: Int?, preview: [UInt8]?, big: Bool = true) -> [UInt8] {
        func entry(_ tag: Int, _ type: Int, _ value: Int) -> [UInt8] {
            number(tag, 2, big: big) + number(type, 2, big: big) + number(1, 4, big: big)
                + (type == 3 ? number(value, 2, big: big) + [0, 0] : number(value, 4, big: big))
        }
        func directory(_ entries: [[UInt8]], next: Int) -> [UInt8] {
            number(entries.count, 2, big: big) + entries.flatMap { $0 } + number(next, 4, big: big)
        }
        let own = orientation.map { [entry(0x0112, 3, $0)] } ?? []
        let ownEnd = 8 + 2 + 12 * own.count + 4
        var tiff: [UInt8] = big ? [0x4D, 0x4D, 0, 42] : [0x49, 0x49, 42, 0]
        tiff += number(8, 4, big: big) + directory(own, next: preview == nil ? 0 : ownEnd)
        if let preview {
            let end = ownEnd + 2 + 36 + 4
            tiff += directory(
                [entry(0x0103, 3, 6), entry(0x0201, 4, end), entry(0x0202, 4, preview.count)], next: 0)
            tiff += preview
        }
        return segment(0xE1, [0x45, 0x78, 0x69, 0x66, 0, 0] + tiff)
    }

    static func box(_ type: StaticString, _ body: [UInt8], long: Bool = false) -> [UInt8] {
        let name = type.withUTF8Buffer { Array($0) }
        return long
            ? number(1, 4) + name + number(body.count + 16, 8) + body : number(body.count + 8, 4) + name + body
    }

    struct Track {
        var handler: StaticString = "vide"
        var syncs: [Int]? = [1]
        var sizes = [1000]
        /// First chunk, counted from 1, and samples in each from there on.
        var runs = [(1, 1)]
        var chunks = [40]
        var long = false

        var box: [UInt8] {
            func table(_ type: StaticString, _ rows: [[UInt8]], count: Int? = nil) -> [UInt8] {
                Pictures.box(type, number(0, 4) + number(count ?? rows.count, 4) + rows.flatMap { $0 })
            }
            var samples = syncs.map { table("stss", $0.map { number($0, 4) }) } ?? []
            samples += Pictures.box(
                "stsz", number(0, 4) + number(0, 4) + number(sizes.count, 4) + sizes.flatMap { number($0, 4) })
            samples += table("stsc", runs.map { number($0.0, 4) + number($0.1, 4) + number(1, 4) })
            samples += table(long ? "co64" : "stco", chunks.map { number($0, long ? 8 : 4) })
            let handlerBox = Pictures.box(
                "hdlr", number(0, 4) + number(0, 4) + handler.withUTF8Buffer { Array($0) } + number(0, 4))
            let information = Pictures.box("minf", Pictures.box("stbl", samples))
            return Pictures.box("trak", Pictures.box("mdia", handlerBox + information))
        }
    }
}
