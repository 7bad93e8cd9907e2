/// A photo's preview as a picture of its own: turned as the photo is, and cut to its shape. Pure.
package struct Preview: Equatable, Sendable {
    /// A JPEG that says which way up it is.
    package let bytes: [UInt8]
    /// What it is to be made to fill.
    package let frame: ThumbnailFrame

    /// Nil if there is none in the beginning of the file.
    package init?(head bytes: [UInt8]) {
        guard let head = JPEGHead(bytes), let place = head.preview, let size = head.previewSize else { return nil }
        let turned = head.orientation >= 5
        var frame = ThumbnailFrame(preview: size, of: head.size ?? size)
        if turned { frame.size = PixelSize(width: frame.size.height, height: frame.size.width) }
        self.frame = frame
        // FF D8, then a segment with nothing but the orientation in a TIFF directory of one entry, then the rest.
        let note: [UInt8] = [
            0xFF, 0xE1, 0, 34, 0x45, 0x78, 0x69, 0x66, 0, 0, 0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1,
            0, 0, 0, head.orientation, 0, 0, 0, 0, 0, 0, 0,
        ]
        self.bytes = [0xFF, 0xD8] + note + bytes[place].dropFirst(2)
    }
}

/// The room that a thumbnail is fitted into.
package struct ThumbnailFrame: Equatable, Sendable {
    package var size: PixelSize
    /// Whether it is filled, and what sticks out cut off evenly; else the whole picture is shown.
    package var isFilled: Bool

    /// The room for whole pictures.
    package static let whole = ThumbnailFrame(
        size: PixelSize(width: PixelSize.thumbnailSide, height: PixelSize.thumbnailSide), isFilled: false)

    init(size: PixelSize, isFilled: Bool) {
        self.size = size
        self.isFilled = isFilled
    }

    /// Previews are 4:3 whatever the photo is, with black bars: what of one has the photo's shape.
    init(preview: PixelSize, of photo: PixelSize) {
        guard photo.width > 0, photo.height > 0 else {
            self = .whole
            return
        }
        var (width, height) = (preview.width, preview.height)
        // Sides of JPEGs have 16 bits: no product overflows.
        if width * photo.height > height * photo.width {
            width = max(1, height * photo.width / photo.height)
        } else {
            height = max(1, width * photo.height / photo.width)
        }
        guard preview.width - width > 1 || preview.height - height > 1 else {
            self = .whole
            return
        }
        let longest = max(width, height)
        if longest > PixelSize.thumbnailSide {
            width = max(1, width * PixelSize.thumbnailSide / longest)
            height = max(1, height * PixelSize.thumbnailSide / longest)
        }
        self.init(size: PixelSize(width: width, height: height), isFilled: true)
    }
}
