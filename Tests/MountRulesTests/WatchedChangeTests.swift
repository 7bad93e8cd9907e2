import MountProtocol
import Testing

@testable import MountRules

@Suite struct WatchedChangeTests {
    private static func file(_ version: UInt64, size: Int64 = 1, at seconds: Int64 = 1) -> SeenName {
        SeenName(kind: .file, version: version, size: size, seconds: seconds, nanoseconds: 5)
    }
    private static let directory = SeenName(kind: .directory, size: 0, seconds: 1, nanoseconds: 0)
    private static let later = SeenName(kind: .directory, size: 0, seconds: 9, nanoseconds: 9)
    private static let link = SeenName(kind: .symlink, version: 4, size: 1, seconds: 1, nanoseconds: 5)

    @Test(
        arguments: [
            (nil, nil, []),
            (nil, file(1), [.made(.file)]), (nil, directory, [.made(.directory)]), (nil, link, [.made(.symlink)]),
            (file(1), nil, [.removed(file(1))]), (directory, nil, [.removed(directory)]),
            // Of another version that is the same to programs, as once a write was scanned; and of none.
            (file(1), file(2), []), (file(0), file(2), []), (file(0), file(0), []),
            // Of the same version, whatever a disk makes of its time.
            (file(1), file(1, at: 2), []),
            (file(1), file(2, size: 2), [.changed]), (file(1), file(2, at: 2), [.changed]),
            (file(0), file(0, size: 2), [.changed]),
            (directory, later, []),
            (file(1), directory, [.removed(file(1)), .made(.directory)]),
            (link, file(1), [.removed(link), .made(.file)]),
        ] as [(SeenName?, SeenName?, [WatchedChange])])
    func theDifferenceIsWhatWatchersHear(before: SeenName?, after: SeenName?, changes: [WatchedChange]) {
        #expect(WatchedChange.between(before, after) == changes)
    }
}

@Suite struct ExpectedCallTests {
    private static let file = SeenName(kind: .file, version: 1, size: 1, seconds: 1, nanoseconds: 0)
    private static let directory = SeenName(kind: .directory, size: 0, seconds: 1, nanoseconds: 0)
    private static let calls: [ExpectedCall.Call] = [
        .look, .make(.file), .make(.directory), .make(.symlink), .remove(isDirectory: false),
        .remove(isDirectory: true),
        .setTime, .other,
    ]

    /// What of all calls at the path, each the first, is not refused.
    @Test(
        arguments: [
            (.made(.file), [.nobodys, .pretend, .refused, .refused, .refused, .refused, .refused, .refused]),
            (.made(.directory), [.nobodys, .refused, .pretend, .refused, .refused, .refused, .refused, .refused]),
            (.made(.symlink), [.nobodys, .refused, .refused, .pretend, .refused, .refused, .refused, .refused]),
            (.removed(file), [.former(file), .refused, .refused, .refused, .pretend, .refused, .refused, .refused]),
            (
                .removed(directory),
                [.former(directory), .refused, .refused, .refused, .refused, .pretend, .refused, .refused]
            ),
            (.changed, [.ordinary, .refused, .refused, .refused, .refused, .refused, .pretend, .refused]),
        ] as [(WatchedChange, [ExpectedCall.Verdict])])
    func oneCallIsExpected(change: WatchedChange, verdicts: [ExpectedCall.Verdict]) {
        for (call, verdict) in zip(Self.calls, verdicts) {
            var expected = ExpectedCall(path: "d/a", change: change)
            #expect(expected.verdict(on: call, at: "d/a") == verdict, "\(call)")
            // Of another name nothing is expected but that the kernel looks for it.
            var other = ExpectedCall(path: "d/a", change: change)
            for path in ["d", "d/b", "", "d/a/a"] {
                #expect(other.verdict(on: call, at: path) == (call == .look ? .ordinary : .refused), "\(call)")
            }
            // What was refused is expected still; what was answered is not.
            guard verdict == .pretend else { continue }
            for again in Self.calls {
                #expect(expected.verdict(on: again, at: "d/a") == (again == .look ? .ordinary : .refused), "\(again)")
            }
        }
    }

    @Test func withoutAnExpectationEveryChangeIsRefused() {
        for call in Self.calls {
            #expect(ExpectedCall.verdict(unexpected: call) == (call == .look ? .ordinary : .refused))
        }
    }

    /// What is at the name when the call is answered decides.
    @Test(
        arguments: [
            (.made(.file), .file, true), (.made(.file), nil, false), (.made(.file), .directory, false),
            (.made(.symlink), .file, false),
            (.removed(file), nil, true), (.removed(file), .file, false), (.removed(file), .directory, true),
            (.removed(directory), .directory, false), (.removed(directory), nil, true),
            (.changed, .file, true), (.changed, nil, false),
        ] as [(WatchedChange, MountEntry.Kind?, Bool)])
    func nothingIsToldThatIsNotTrueByThen(change: WatchedChange, now: MountEntry.Kind?, isTrue: Bool) {
        #expect(ExpectedCall(path: "a", change: change).isTrue(now: now) == isTrue)
    }
}
