import BlockExchange
import Reconciliation
import Testing

@Suite struct FreeingTests {
    typealias S = Sample

    static let old = S.version((S.other, 1))
    static let new = S.version((S.other, 2))
    static let mine = S.version((S.other, 1), (S.me, 1))

    private func reason(
        _ local: LocalVersion?, _ global: FileInfo?, copies: Int = 1, away: Int = 0, minimum: Int = 1,
        _ sight: Freeing.Sight = .unchanged
    ) -> Freeing.Reason? {
        let copies = Copies(
            count: copies, uncertain: (0..<away).map { DeviceID(certificateDER: Array("away \($0)".utf8)) })
        return Freeing.reason(against: local, global: global, copies: copies, minimumCopies: minimum, sight: sight)
    }

    @Test func whatOthersHoldGoes() {
        for file in [S.file("one", Self.old), S.directory(Self.old), S.symlink("x", Self.old)] {
            #expect(reason(S.here(file), file) == nil)
            #expect(reason(S.here(file, .ignored), file) == nil)
            #expect(reason(S.here(file, .ignored), file, copies: 3, minimum: 3) == nil)
        }
    }

    @Test func whatMayBeAllThereIsStays() {
        let file = S.file("one", Self.old)
        let local = S.here(file, .ignored)
        #expect(reason(local, file, copies: 0) == .noOtherCopy)
        #expect(reason(local, nil) == .noOtherCopy)
        #expect(reason(local, file, copies: 1, minimum: 2) == .tooFewCopies)
        // A number of copies that no setting allows never makes the last one go.
        #expect(reason(local, file, copies: 0, minimum: 0) == .noOtherCopy)
        #expect(reason(local, file, copies: 0, minimum: -1) == .noOtherCopy)
        var invalid = file
        invalid.isInvalid = true
        #expect(reason(local, invalid) == .noOtherCopy)
        // Whoever holds an older version does not hold this one.
        #expect(reason(S.here(S.file("two", Self.mine), .ignored), file) == .noOtherCopy)
        #expect(reason(S.here(S.file("two", Self.mine)), file) == .noOtherCopy)
    }

    @Test func copiesThatMayGoAreNoCopies() {
        let file = S.file("one", Self.old)
        let local = S.here(file, .ignored)
        #expect(reason(local, file, copies: 0, away: 1) == .uncertainCopies)
        #expect(reason(local, file, copies: 1, away: 1) == nil)
        #expect(reason(local, file, copies: 1, away: 1, minimum: 2) == .uncertainCopies)
        #expect(reason(local, file, copies: 0, away: 1, minimum: 2) == .tooFewCopies)
        #expect(reason(local, file, copies: 1, away: 1, minimum: 3) == .tooFewCopies)
    }

    @Test func whatIsOtherThanTheGlobalVersionStays() {
        let global = S.file("two", Self.new)
        #expect(reason(S.here(S.file("one", Self.old), .ignored), global) == .outdated)
        #expect(reason(S.here(S.file("two", Self.mine), .ignored), global) == .outdated, "concurrent, though the same")
        #expect(reason(S.here(S.file("one", Self.old)), S.tombstone(Self.new)) == .deletedElsewhere)
        let wrong = S.file("one", Self.new)
        #expect(reason(S.here(wrong, .ignored), global) == .notCompared, "the version says it is, the contents are not")
        #expect(reason(S.here(S.symlink("y", Self.new), .ignored), S.symlink("x", Self.new)) == .notCompared)
        #expect(reason(S.here(S.directory(Self.new), .ignored), global) == .notCompared)
        var unhashed = global
        unhashed.blocks = []
        unhashed.blocksHash = nil
        #expect(reason(S.here(unhashed, .ignored), global) == .notCompared)
        let touched = S.file("two", Self.new, modified: 101)
        #expect(reason(S.here(touched, .ignored), global) == .changedHere)
    }

    @Test func doubtStays() {
        let file = S.file("one", Self.old)
        #expect(reason(S.here(file), file, .changed) == .changedHere)
        #expect(reason(S.here(file), file, .unsettled) == .unsettled)
        #expect(reason(S.here(file, [.receiveOnlyChanged]), file) == .changedHere)
        #expect(reason(S.here(file, [.receiveOnlyChanged, .ignored]), file) == .changedHere)
        #expect(reason(S.here(file, [.mustRescan]), file) == .notCompared)
        #expect(reason(S.here(file, [.mustRescan, .ignored]), file) == .notCompared)
        #expect(reason(S.here(file, [.unsupported]), file) == .unknown)
        #expect(reason(nil, file) == .unknown)
        #expect(reason(S.here(S.tombstone(Self.old)), file) == .unknown)
        #expect(reason(LocalVersion(file: file, isOnDisk: false), file) == .unknown)
    }

    /// Nothing but one combination lets a file go.
    @Test func onlyTheVerySameGoes() {
        let contents = ["one", "two"]
        let versions = [Self.old, Self.new, Self.mine, VersionVector()]
        let flags: [LocalVersion.Flags] = [
            [], .ignored, .mustRescan, .unsupported, .receiveOnlyChanged, [.ignored, .mustRescan],
        ]
        var gone = 0
        for (content, version) in contents.flatMap({ content in versions.map { (content, $0) } }) {
            for flag in flags {
                for (copies, minimum) in [(0, 1), (1, 1), (1, 2), (2, 1)] {
                    for sight in [Freeing.Sight.unchanged, .changed, .unsettled] {
                        let local = S.here(S.file(content, version), flag)
                        let global = S.file("two", Self.new)
                        guard reason(local, global, copies: copies, minimum: minimum, sight) == nil else { continue }
                        gone += 1
                        #expect(content == "two" && version == Self.new && sight == .unchanged && copies >= minimum)
                        #expect(flag == [] || flag == .ignored)
                    }
                }
            }
        }
        #expect(gone == 4)
    }
}
