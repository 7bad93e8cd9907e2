import BlockExchange
import Testing

@testable import Reconciliation

@Suite struct DirectoryClaimTests {
    typealias S = Sample

    private static let mine = S.version((S.me, 1))
    private static let theirs = S.version((S.other, 1))

    private static func claim(
        _ local: LocalVersion?, global: FileInfo? = nil, announced: [FileInfo] = [], _ rules: FolderRules = S.rules()
    ) -> DirectoryClaim? {
        DirectoryClaim.decide(
            local: local, global: global ?? local?.file, announced: announced, rules: rules, unixSeconds: S.now)
    }

    private static func by(_ device: ShortID, _ file: FileInfo) -> FileInfo {
        var file = file
        file.modifiedBy = device
        return file
    }

    private static let rival = by(S.other, S.directory(theirs))
    private static let ours = S.here(by(S.me, S.file("one", mine)))
    private static let foreign = S.here(by(S.third, S.file("one", S.version((S.third, 1)))))

    @Test func aFileGivesWayToADirectoryThatHasNotSeenIt() throws {
        for local in [Self.ours, Self.foreign] {
            let claim = try #require(Self.claim(local, announced: [Self.rival]))
            #expect(claim.winner == S.other)
            let directory = claim.directory.file
            #expect(directory.kind == .directory && !directory.isDeleted && directory.modifiedBy == S.me)
            // It wins over both.
            #expect(directory.version.compare(local.file.version) == .greater)
            #expect(directory.version.compare(Self.rival.version) == .greater)
        }
    }

    /// So the file's copy gets the same name on each.
    @Test func devicesThatClaimAtOnceNameTheSameWinner() throws {
        let another = Self.by(S.third, Self.rival)
        let claims = try [S.me, ShortID(rawValue: 40)].map { device in
            try #require(
                Self.claim(
                    Self.foreign, announced: [another, Self.rival], FolderRules(kind: .sendReceive, device: device)))
        }
        #expect(claims.map(\.winner) == [S.other, S.other])
    }

    /// What is below was made by a device that knows no directory there: who made the file knows what it replaced.
    @Test func whoMadeTheFileNeedsNoRival() {
        #expect(Self.claim(Self.ours)?.winner == S.me)
        #expect(Self.claim(Self.foreign) == nil)
    }

    @Test func aDirectoryThatTheFileReplacedIsNoRival() {
        var seen = Self.rival
        seen.version = Self.foreign.file.version
        var later = Self.foreign.file
        later.version = later.version.merged(with: Self.theirs)
        #expect(Self.claim(S.here(later), announced: [Self.rival]) == nil)
        #expect(Self.claim(Self.foreign, announced: [seen]) == nil)
        var deleted = Self.rival
        deleted.isDeleted = true
        #expect(Self.claim(Self.foreign, announced: [deleted]) == nil)
        var invalid = Self.rival
        invalid.isInvalid = true
        #expect(Self.claim(Self.foreign, announced: [invalid]) == nil)
    }

    /// It has to give way where it is, else it would be lost.
    @Test func anotherFileInThePlaceIsNotOverruled() throws {
        let another = Self.by(S.third, S.file("another", S.version((S.third, 7))))
        let claim = try #require(Self.claim(Self.ours, announced: [Self.rival, another]))
        #expect(claim.directory.file.version.compare(another.version).isConcurrent)
    }

    @Test func whatIsNotSettledStays() {
        #expect(Self.claim(nil, announced: [Self.rival]) == nil)
        #expect(Self.claim(S.here(S.directory(Self.mine)), announced: [Self.rival]) == nil)
        #expect(Self.claim(S.here(Self.ours.file, .ignored), announced: [Self.rival]) == nil)
        #expect(Self.claim(S.here(Self.ours.file, .mustRescan), announced: [Self.rival]) == nil)
        // Another version is to come first.
        let newer = S.file("two", S.version((S.me, 1), (S.other, 3)))
        #expect(Self.claim(Self.ours, global: newer, announced: [Self.rival]) == nil)
        var withoutCopies = S.rules()
        withoutCopies.conflictLimit = 0
        #expect(Self.claim(Self.ours, announced: [Self.rival], withoutCopies) == nil)
        for kind in [FolderKind.sendOnly, .receiveOnly] {
            #expect(Self.claim(Self.ours, announced: [Self.rival], S.rules(kind)) == nil)
        }
    }
}
