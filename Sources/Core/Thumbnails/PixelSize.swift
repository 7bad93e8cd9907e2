/// Width and height of a picture, in pixels.
package struct PixelSize: Equatable, Hashable, Sendable {
    package var width: Int
    package var height: Int

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Neither side of a thumbnail is longer.
    package static let thumbnailSide = 255
    /// A picture of more pixels is not given to any program: what unpacks to gigabytes is rather an attack than a photo.
    static let pixelLimit = 1 << 28

    /// Whether a program may be given a picture of this size.
    package var isReasonable: Bool {
        let (pixels, isOver) = width.multipliedReportingOverflow(by: height)
        return width > 0 && height > 0 && !isOver && pixels <= Self.pixelLimit
    }

    /// What the beginning of a picture says of its size; nil if it does not, or not for this format.
    package init?(of format: MediaKind.PictureFormat, head: [UInt8]) {
        var reading = ByteReading(bytes: head[...])
        switch format {
        case .jpeg:
            guard let size = JPEGHead(head)?.size else { return nil }
            self = size
        case .png:
            guard let width = reading.uint32(16), let height = reading.uint32(20) else { return nil }
            self.init(width: width, height: height)
        case .gif:
            reading.isBigEndian = false
            guard let width = reading.uint16(6), let height = reading.uint16(8) else { return nil }
            self.init(width: width, height: height)
        case .webp:
            reading.isBigEndian = false
            guard let form = reading.uint32(12) else { return nil }
            switch form {
            case 0x5838_5056:  // VP8X: 24 bits each, less one
                guard let low = reading.uint32(24), let high = reading.uint16(28) else { return nil }
                self.init(width: (low & 0xFF_FFFF) + 1, height: (low >> 24 | high << 8) + 1)
            case 0x4C38_5056:  // VP8L: 14 bits each, less one
                guard let bits = reading.uint32(21) else { return nil }
                self.init(width: (bits & 0x3FFF) + 1, height: (bits >> 14 & 0x3FFF) + 1)
            case 0x2038_5056:  // VP8
                guard let width = reading.uint16(26), let height = reading.uint16(28) else { return nil }
                self.init(width: width & 0x3FFF, height: height & 0x3FFF)
            default: return nil
            }
        case .tiff, .heif: return nil
        }
    }
}
