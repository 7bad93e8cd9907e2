/// Finds what of a film in MP4's or QuickTime's boxes (ISO/IEC 14496-12) has to be there for its first picture: the box that
/// describes the film, wherever it is, and the first key frame. Reads what anybody wrote; pure.
package struct FilmLayout: Sendable {
    package enum Step: Equatable, Sendable {
        /// These bytes are needed to say more.
        case need(Range<Int64>)
        /// All that is needed is known.
        case ready
        /// The film is in pieces that begin here: its first picture lies in what follows.
        case inPieces(from: Int64)
        /// This is no film, or not one that can be understood.
        case none
    }

    /// Boxes that are looked at, at one level.
    private static let boxLimit = 10_000
    /// Bytes of the box that describes the film: some hours have a few MiB.
    package static let descriptionLimit: Int64 = 32 << 20
    /// Bytes of a key frame.
    private static let pictureLimit = 32 << 20

    /// Of the file, in bytes.
    let size: Int64
    /// The bytes at an offset; nil if they are not all known. Never asked for what lies beyond the end.
    let read: @Sendable (_ offset: Int64, _ count: Int) -> [UInt8]?

    package init(size: Int64, read: @escaping @Sendable (_ offset: Int64, _ count: Int) -> [UInt8]?) {
        self.size = size
        self.read = read
    }

    package func next() -> Step {
        var place: Int64 = 0
        for _ in 0..<Self.boxLimit {
            guard size - place >= 8 else { return .none }
            let count = Int(min(16, size - place))
            guard let head = read(place, count) else { return .need(place..<(place + Int64(count))) }
            guard let box = Box(head: ByteReading(bytes: head[...]), room: size - place) else { return .none }
            guard box.type == Box.movie else {
                place += box.byteCount
                continue
            }
            guard box.byteCount <= Self.descriptionLimit else { return .none }
            let range = place..<(place + box.byteCount)
            guard let bytes = read(place, Int(box.byteCount)) else { return .need(range) }
            return step(MovieBox(bytes.dropFirst(box.headByteCount)), after: range.upperBound)
        }
        return .none
    }

    private func step(_ movie: MovieBox, after end: Int64) -> Step {
        switch movie.firstPicture() {
        case .at(let offset, let count):
            guard offset >= 0, count > 0, count <= Self.pictureLimit, offset < size, Int64(count) <= size - offset
            else { return .none }
            return read(offset, count) == nil ? .need(offset..<(offset + Int64(count))) : .ready
        case .inPieces: return .inPieces(from: end)
        case .none: return .none
        }
    }
}

/// A box's head: its type and how long it is, itself included.
struct Box: Equatable {
    static let movie = fourLetters("moov")

    var type: Int
    var headByteCount: Int
    var byteCount: Int64

    /// - Parameter room: bytes from the box's beginning to the end of what it lies in. Nil if it does not fit.
    init?(head: ByteReading, room: Int64) {
        guard let short = head.uint32(0), let type = head.uint32(4) else { return nil }
        self.type = type
        headByteCount = 8
        switch short {
        case 0: byteCount = room
        case 1:
            guard let long = head.uint64(8), let count = Int64(exactly: long) else { return nil }
            byteCount = count
            headByteCount = 16
        default: byteCount = Int64(short)
        }
        guard byteCount >= headByteCount, byteCount <= room else { return nil }
    }

    static func fourLetters(_ text: StaticString) -> Int {
        text.withUTF8Buffer { $0.reduce(0) { $0 << 8 | Int($1) } }
    }
}

/// The box that describes a film.
struct MovieBox {
    enum Picture: Equatable {
        case at(offset: Int64, byteCount: Int)
        /// It is described piece by piece, further on.
        case inPieces
        case none
    }

    private static let boxLimit = 10_000

    let body: ArraySlice<UInt8>

    init(_ body: ArraySlice<UInt8>) { self.body = body }

    /// Where the first key frame of the first film track is.
    func firstPicture() -> Picture {
        for track in Self.boxes("trak", in: body) {
            guard let media = Self.boxes("mdia", in: track).first,
                let handler = Self.boxes("hdlr", in: media).first,
                ByteReading(bytes: handler).uint32(8) == Box.fourLetters("vide"),
                let information = Self.boxes("minf", in: media).first,
                let table = Self.boxes("stbl", in: information).first
            else { continue }
            let samples = SampleTable(
                syncs: Self.boxes("stss", in: table).first, sizes: Self.boxes("stsz", in: table).first,
                runs: Self.boxes("stsc", in: table).first, offsets: Self.boxes("stco", in: table).first,
                longOffsets: Self.boxes("co64", in: table).first)
            if let (offset, count) = samples.firstKeyFrame() { return .at(offset: offset, byteCount: count) }
            if !Self.boxes("mvex", in: body).isEmpty { return .inPieces }
        }
        return .none
    }

    /// The bodies of the boxes of a type right in `body`.
    private static func boxes(_ type: StaticString, in body: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var found: [ArraySlice<UInt8>] = []
        var rest = body
        for _ in 0..<boxLimit {
            guard let box = Box(head: ByteReading(bytes: rest.prefix(16)), room: Int64(rest.count)) else { break }
            if box.type == Box.fourLetters(type) {
                found.append(rest.prefix(Int(box.byteCount)).dropFirst(box.headByteCount))
            }
            rest = rest.dropFirst(Int(box.byteCount))
        }
        return found
    }
}

/// Where a track's samples lie in the file: bodies of the boxes that say so, each with four bytes of version and flags.
private struct SampleTable {
    /// Samples before the first key frame that are looked through.
    private static let searchLimit = 100_000

    var syncs: ArraySlice<UInt8>?
    var sizes: ArraySlice<UInt8>?
    var runs: ArraySlice<UInt8>?
    var offsets: ArraySlice<UInt8>?
    var longOffsets: ArraySlice<UInt8>?

    func firstKeyFrame() -> (offset: Int64, byteCount: Int)? {
        var sample = 0
        if let syncs {
            let table = ByteReading(bytes: syncs)
            guard let count = table.uint32(4), count > 0, let first = table.uint32(8), first >= 1 else { return nil }
            sample = first - 1
        }
        guard sample <= Self.searchLimit, let (chunk, first) = chunk(of: sample), let start = offset(ofChunk: chunk),
            let own = byteCount(of: sample)
        else { return nil }
        var place = start
        for earlier in first..<sample {
            guard let count = byteCount(of: earlier) else { return nil }
            place = place.addingReportingOverflow(Int64(count)).partialValue
        }
        return (place, own)
    }

    /// The chunk that a sample is in, and the first sample of that chunk; all counted from 0.
    private func chunk(of sample: Int) -> (chunk: Int, first: Int)? {
        guard let runs else { return nil }
        let table = ByteReading(bytes: runs)
        guard let count = table.uint32(4) else { return nil }
        var first = 0
        for index in 0..<min(count, Self.searchLimit) {
            let place = 8 + 12 * index
            guard let firstChunk = table.uint32(place), firstChunk >= 1, let perChunk = table.uint32(place + 4),
                perChunk > 0
            else { return nil }
            let within = (sample - first) / perChunk
            let next = index + 1 < count ? table.uint32(place + 12) : nil
            guard let next, next - firstChunk <= within else {
                return (firstChunk - 1 + within, first + within * perChunk)
            }
            guard next > firstChunk else { return nil }
            // At most `within` chunks are passed: the product is no more than `sample`.
            first += (next - firstChunk) * perChunk
        }
        return nil
    }

    private func offset(ofChunk chunk: Int) -> Int64? {
        if let offsets {
            let table = ByteReading(bytes: offsets)
            guard let count = table.uint32(4), chunk < count else { return nil }
            return table.uint32(8 + 4 * chunk).map { Int64($0) }
        }
        guard let longOffsets else { return nil }
        let table = ByteReading(bytes: longOffsets)
        guard let count = table.uint32(4), chunk < count else { return nil }
        return table.uint64(8 + 8 * chunk).flatMap { Int64(exactly: $0) }
    }

    private func byteCount(of sample: Int) -> Int? {
        guard let sizes else { return nil }
        let table = ByteReading(bytes: sizes)
        guard let same = table.uint32(4), let count = table.uint32(8), sample < count else { return nil }
        return same > 0 ? same : table.uint32(12 + 4 * sample)
    }
}
