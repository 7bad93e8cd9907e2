/// A picture or film that anybody wrote. Built with the sources that read it: whatever comes, nothing traps, and what is
/// found lies in the file.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzThumbnail(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))

    if let head = JPEGHead(bytes) {
        precondition((1...8).contains(head.orientation), "an orientation that there is not")
        if let place = head.preview {
            precondition(place.upperBound <= bytes.count && bytes[place].starts(with: [0xFF, 0xD8]), "no preview")
            guard let preview = Preview(head: bytes) else { fatalError("a preview that cannot be taken out") }
            let sides = 1...PixelSize.thumbnailSide
            precondition(sides.contains(preview.frame.size.width) && sides.contains(preview.frame.size.height))
            let again = JPEGHead(preview.bytes)
            precondition(again?.orientation == head.orientation && again?.size == head.previewSize, "another picture")
        }
    }
    if ThumbnailCheck.isThumbnail(bytes) { precondition(JPEGHead(bytes)?.size != nil) }
    if let chunks = PNGChunk.read(bytes) {
        precondition(PNGChunk.signature + chunks.flatMap(\.bytes) == bytes, "parts that are not those of the file")
    }
    if case .picture(let format)? = MediaKind(head: bytes) { _ = PixelSize(of: format, head: bytes)?.isReasonable }

    // A film of which all that is asked for is known, in a file as long as it is, and in one that is longer.
    for size in [Int64(bytes.count), Int64.max] {
        let layout = FilmLayout(size: size) { offset, count in
            guard offset <= Int64(bytes.count), count <= bytes.count - Int(offset) else { return nil }
            return Array(bytes[Int(offset)..<(Int(offset) + count)])
        }
        switch layout.next() {
        case .need(let range): precondition(range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty)
        case .inPieces(let start): precondition(start <= size)
        case .ready, .none: break
        }
    }
    return 0
}
