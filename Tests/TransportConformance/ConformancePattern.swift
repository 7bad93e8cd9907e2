import NIOCore

/// Bytes of which each is known from its place, so that a receiver sees at once what is lost, doubled or out of order.
struct ConformancePattern: Sendable {
    let seed: UInt64

    /// The byte at `offset`: of a number that depends on all bits of the place.
    func byte(at offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: word(UInt64(truncatingIfNeeded: offset / 8)) >> UInt64(offset % 8 * 8))
    }

    func bytes(_ range: Range<Int>) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let word = word(UInt64(truncatingIfNeeded: offset / 8))
            if offset % 8 == 0, range.upperBound - offset >= 8 {
                buffer.writeInteger(word, endianness: .little)
                offset += 8
                continue
            }
            for position in offset % 8..<8 where offset < range.upperBound {
                buffer.writeInteger(UInt8(truncatingIfNeeded: word >> UInt64(position * 8)))
                offset += 1
            }
        }
        return buffer
    }

    /// Throws unless `piece` is what stands at `offset`.
    func check(_ piece: ByteBuffer, at offset: Int) throws {
        guard piece != bytes(offset..<offset + piece.readableBytes) else { return }
        let wrong = piece.readableBytesView.enumerated().first { $1 != byte(at: offset + $0) }?.offset ?? 0
        throw ConformanceFailure("the byte at \(offset + wrong) is another one than was sent")
    }

    private func word(_ number: UInt64) -> UInt64 {
        var mixed = (number &+ seed &+ 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        return mixed ^ mixed >> 31
    }
}

/// The same sizes for the same seed.
struct ConformanceSizes: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}
