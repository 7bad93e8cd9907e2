/// What stands before the pixels of a JPEG file (ISO/IEC 10918-1, annex B; EXIF 2.3, 4.5): its size, which way up it is,
/// and the preview that cameras put there. Reads what anybody wrote; pure.
package struct JPEGHead: Equatable, Sendable {
    private static let segmentLimit = 1000

    /// Nil if no frame header is in what was read.
    package private(set) var size: PixelSize?
    /// As EXIF counts, 1 to 8; 1 is upright.
    package private(set) var orientation: UInt8 = 1
    /// Where the preview lies in what was read, if it lies there whole and is a JPEG itself.
    package private(set) var preview: Range<Int>?
    /// Whether the pixels begin in what was read: nothing of the head is missing.
    package private(set) var isWhole = false

    /// - Parameter bytes: the file from its beginning, as much as there is. Nil for what is no JPEG.
    package init?(_ bytes: [UInt8]) { self.init(bytes[...], withPreview: true) }

    private init?(_ bytes: ArraySlice<UInt8>, withPreview: Bool) {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        let reading = ByteReading(bytes: bytes)
        var place = 2
        for _ in 0..<Self.segmentLimit {
            guard reading.byte(place) == 0xFF else { return }
            // A marker may have more of the bytes before it.
            while reading.byte(place + 1) == 0xFF { place += 1 }
            guard let marker = reading.byte(place + 1) else { return }
            place += 2
            switch marker {
            case 0x01, 0xD0...0xD7: continue
            case 0xDA:
                isWhole = true
                return
            case 0x00, 0xD8, 0xD9: return
            default: break
            }
            guard let length = reading.uint16(place), length >= 2 else { return }
            if Self.isFrameHeader(marker), size == nil, let height = reading.uint16(place + 3),
                let width = reading.uint16(place + 5)
            {
                size = PixelSize(width: width, height: height)
            }
            if withPreview, marker == 0xE1, let body = reading.slice(place + 2, length - 2),
                body.starts(with: [0x45, 0x78, 0x69, 0x66, 0, 0])
            {
                read(exif: body.dropFirst(6), of: bytes)
            }
            place += length
        }
    }

    /// SOF0 to SOF15 without what shares their row: Huffman tables, arithmetic coding, JPG.
    private static func isFrameHeader(_ marker: UInt8) -> Bool {
        (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
    }

    private mutating func read(exif: ArraySlice<UInt8>, of bytes: ArraySlice<UInt8>) {
        guard let exif = EXIFDirectories(exif) else { return }
        orientation = exif.orientation
        guard let place = exif.preview else { return }
        let body = bytes[place]
        // The preview's own preview is nobody's.
        guard let head = JPEGHead(body, withPreview: false), head.isWhole, let size = head.size,
            max(size.width, size.height) >= Self.smallestPreview, min(size.width, size.height) >= 1
        else { return }
        preview = (place.lowerBound - bytes.startIndex)..<(place.upperBound - bytes.startIndex)
        previewSize = size
    }

    /// The longer side of a preview that is worth showing; cameras write 160.
    private static let smallestPreview = 120

    /// Of the preview, if there is one.
    package private(set) var previewSize: PixelSize?
}

/// The two directories that a camera writes into a photo: of the photo, and of its preview (TIFF 6.0, section 2).
private struct EXIFDirectories {
    private static let entryLimit = 1000

    private(set) var orientation: UInt8 = 1
    /// In the array that the bytes are a part of.
    private(set) var preview: Range<Int>?

    init?(_ bytes: ArraySlice<UInt8>) {
        var reading = ByteReading(bytes: bytes)
        switch reading.uint16(0) {
        case 0x4949: reading.isBigEndian = false
        case 0x4D4D: break
        default: return nil
        }
        guard reading.uint16(2) == 42, let first = reading.uint32(4), let own = Self.entries(reading, at: first) else {
            return nil
        }
        if let value = own.values[0x0112], (1...8).contains(value) { orientation = UInt8(value) }
        guard own.next != 0, own.next != first, let other = Self.entries(reading, at: own.next),
            let offset = other.values[0x0201], let count = other.values[0x0202], count > 0,
            let body = reading.slice(offset, count)
        else { return }
        preview = body.startIndex..<body.endIndex
    }

    /// The values of entries that are one number, by their tags, and where the next directory is.
    private static func entries(_ reading: ByteReading, at offset: Int) -> (values: [Int: Int], next: Int)? {
        guard let count = reading.uint16(offset), count <= entryLimit else { return nil }
        var values: [Int: Int] = [:]
        for index in 0..<count {
            let place = offset + 2 + 12 * index
            guard let tag = reading.uint16(place), let type = reading.uint16(place + 2),
                let number = reading.uint32(place + 4)
            else { return nil }
            guard number == 1 else { continue }
            switch type {
            case 3: values[tag] = reading.uint16(place + 8)
            case 4: values[tag] = reading.uint32(place + 8)
            default: break
            }
        }
        return (values, reading.uint32(offset + 2 + 12 * count) ?? 0)
    }
}
