import BlockExchange
import IndexStore
import Testing

@testable import FolderSync

/// What is said of announcements that could not be stored, and how long.
struct IndexGapsTests {
    private static let nas = DeviceID(certificateDER: [1])
    private static let phone = DeviceID(certificateDER: [2])

    @Test func aGapEndsWithTheLastThatIsMissing() {
        var gaps = IndexGaps()
        gaps.exchange(with: Self.nas, known: 0, announced: 3000)
        gaps.stored(from: Self.nas, through: 1000)
        #expect(gaps.reason(among: [Self.nas]) == nil)
        gaps.failed(from: Self.nas, reason: "full")
        #expect(gaps.reason(among: [Self.phone, Self.nas]) == "full")
        #expect(gaps.reason(among: [Self.phone]) == nil, "one that the folder is no longer shared with")
        // A part of it is not all of it.
        gaps.exchange(with: Self.nas, known: 1000, announced: 3000)
        gaps.stored(from: Self.nas, through: 2000)
        gaps.stored(from: Self.phone, through: 9000)
        #expect(gaps.reason(among: [Self.nas]) == "full")
        gaps.stored(from: Self.nas, through: 3000)
        #expect(gaps.reason(among: [Self.nas]) == nil)
    }

    @Test func aGapEndsWhereNothingIsMissing() {
        var gaps = IndexGaps()
        gaps.failed(from: Self.nas, reason: "full")
        gaps.exchange(with: Self.nas, known: 7, announced: .max)
        #expect(gaps.reason(among: [Self.nas]) == "full")
        gaps.exchange(with: Self.nas, known: 7, announced: 7)
        #expect(gaps.reason(among: [Self.nas]) == nil)
    }

    @Test func aFolderThatIsNotThereIsNoGap() {
        #expect(!IndexStoreError(.noSuchFolder, path: "/i").isAboutStoring)
        #expect(IndexStoreError(.diskFull, path: "/i").isAboutStoring)
    }
}
