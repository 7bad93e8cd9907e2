/// Whether bytes may be shown as a thumbnail, wherever they come from: a program in the sandbox, the cache, a folder that
/// others write into. Pure.
package enum ThumbnailCheck {
    /// Bytes of a thumbnail; one of 255 by 255 pixels has about 20,000.
    package static let byteLimit = 256 << 10

    package static func isThumbnail(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= byteLimit, bytes.suffix(2) == [0xFF, 0xD9], let head = JPEGHead(bytes), head.isWhole,
            let size = head.size
        else { return false }
        let sides = 1...PixelSize.thumbnailSide
        return sides.contains(size.width) && sides.contains(size.height)
    }
}
