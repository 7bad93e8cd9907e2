import Testing

@testable import PeerLinks

@Suite struct SlowRecordsTests {
    @Test(arguments: [
        (0, [0]), (1, [1]), (4200, [4200]), (4201, [2100, 2101]), (8400, [4200, 4200]), (8401, [2800, 2800, 2801]),
    ])
    func recordsAreOfEqualLength(_ total: Int, _ lengths: [Int]) {
        #expect(SlowRecords.lengths(of: total) == lengths)
    }

    @Test func noRecordIsTooLongAndNoByteIsLost() {
        for total in stride(from: 0, through: 100_000, by: 977) {
            let lengths = SlowRecords.lengths(of: total)
            #expect(lengths.reduce(0, +) == total)
            #expect(lengths.allSatisfy { $0 <= SlowRecords.byteCount })
            #expect((lengths.max() ?? 0) - (lengths.min() ?? 0) <= 1)
        }
    }
}
