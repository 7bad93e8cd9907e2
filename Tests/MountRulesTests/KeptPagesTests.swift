import Testing

@testable import MountRules

@Suite struct KeptPagesTests {
    private static let second: Int128 = 1_000_000_000
    private static let stamp = KeptPages.Stamp(
        device: 1, inode: 2, size: 3, modified: 10 * second, changed: 10 * second)

    @Test func pagesAreKeptWhileTheDiskSaysTheSame() {
        var pages = KeptPages()
        #expect(pages.opened(7, Self.stamp, at: 200 * Self.second, hasNoWriters: { false }) == false)
        #expect(pages.opened(7, Self.stamp, at: 201 * Self.second, hasNoWriters: { false }) == true)
        #expect(pages.opened(8, Self.stamp, at: 201 * Self.second, hasNoWriters: { false }) == false)
    }

    @Test(arguments: [true, false]) func aTimeThatChangedEndsIt(isOfContent: Bool) {
        var pages = KeptPages()
        _ = pages.opened(7, Self.stamp, at: 200 * Self.second, hasNoWriters: { false })
        var other = Self.stamp
        if isOfContent { other.modified -= 1 } else { other.changed -= 1 }
        #expect(pages.opened(7, other, at: 201 * Self.second, hasNoWriters: { false }) == false)
    }

    @Test func anotherSizeOrFileEndsIt() {
        var pages = KeptPages()
        for (size, inode) in [(3, 2), (4, 2), (4, 5)] as [(Int64, UInt64)] {
            var stamp = Self.stamp
            (stamp.size, stamp.inode) = (size, inode)
            #expect(pages.opened(7, stamp, at: 200 * Self.second, hasNoWriters: { false }) == false)
        }
    }

    /// A second change within the same step of the disk's clock would look like the first, as would one by a mapping that the disk has
    /// not written yet.
    @Test func aFileThatHasJustChangedIsReadAgain() {
        var pages = KeptPages()
        #expect(pages.opened(7, Self.stamp, at: 12 * Self.second, hasNoWriters: { false }) == false)
        #expect(pages.opened(7, Self.stamp, at: 101 * Self.second, hasNoWriters: { false }) == false)
        #expect(pages.opened(7, Self.stamp, at: 102 * Self.second, hasNoWriters: { false }) == true)
    }

    /// What nobody can write to changes no more unseen, once the clock has gone on.
    @Test func aFileWithoutWritersIsKeptSooner() {
        var pages = KeptPages()
        #expect(pages.opened(7, Self.stamp, at: 12 * Self.second, hasNoWriters: { true }) == false)
        #expect(pages.opened(7, Self.stamp, at: 14 * Self.second, hasNoWriters: { false }) == false)
        #expect(pages.opened(7, Self.stamp, at: 15 * Self.second, hasNoWriters: { true }) == false)
        // Who opens it for writing from now on changes its times.
        #expect(pages.opened(7, Self.stamp, at: 16 * Self.second, hasNoWriters: { false }) == true)
    }

    @Test func whatIsRememberedIsBounded() {
        var pages = KeptPages(limit: 2)
        for node in 1...3 as ClosedRange<UInt64> {
            _ = pages.opened(node, Self.stamp, at: 200 * Self.second, hasNoWriters: { false })
        }
        #expect(pages.opened(1, Self.stamp, at: 200 * Self.second, hasNoWriters: { false }) == false)
        #expect(pages.opened(3, Self.stamp, at: 200 * Self.second, hasNoWriters: { false }) == true)
    }
}
