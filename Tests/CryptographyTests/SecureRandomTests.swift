import Cryptography
import Testing

@Suite struct SecureRandomTests {
    @Test(arguments: [0, 1, 32, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
    func bytesFillTheWholeCount(count: Int) {
        let bytes = SecureRandom.bytes(count: count)
        #expect(bytes.count == count)
        guard count >= 32 else { return }
        // 32 zeros in a row come once in 2^256.
        #expect(bytes.prefix(32).contains { $0 != 0 })
        #expect(bytes.suffix(32).contains { $0 != 0 })
        #expect(SecureRandom.bytes(count: count) != bytes)
    }

    @Test func everyBitOfANumberIsRandom() {
        var ones: UInt64 = 0
        var zeros: UInt64 = 0
        // Each bit misses one of its values with a chance of 2^-199.
        for _ in 0..<200 {
            let value = SecureRandom.uint64()
            ones |= value
            zeros |= ~value
        }
        #expect(ones == .max)
        #expect(zeros == .max)
    }
}
