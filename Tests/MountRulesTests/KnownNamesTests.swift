import Testing

@testable import MountRules

@Suite struct KnownNamesTests {
    /// With times in milliseconds.
    private final class Known {
        var names: KnownNames

        init(directoryLimit: Int = 64, nameLimit: Int = 20_000) {
            names = KnownNames(directoryLimit: directoryLimit, nameLimit: nameLimit)
        }

        /// Whether a name in vain has the list asked for.
        func missed(in directory: String = "d", at time: Int) -> Bool {
            names.missed(in: directory, at: .milliseconds(time))
        }

        /// So many names in vain that the list is asked for.
        func ask(in directory: String = "d", at time: Int) {
            let asked = (0..<KnownNames.missLimit).map { _ in missed(in: directory, at: time) }
            #expect(asked == Array(repeating: false, count: KnownNames.missLimit - 1) + [true])
        }

        /// How many milliseconds it holds that nobody has the name.
        func isNobodys(_ name: String, in directory: String = "d", at time: Int) -> Int? {
            names.isNobodys(name, in: directory, at: .milliseconds(time)).map { Int($0 / .milliseconds(1)) }
        }
    }

    @Test func whatIsNotInTheListIsNobodysForASecond() {
        let known = Known()
        known.ask(at: 100)
        #expect(known.isNobodys("new", at: 150) == nil)
        known.names.listed(["a", "b"], isAll: true, in: "d")
        #expect(known.isNobodys("new", at: 300) == 800)
        #expect(known.isNobodys("a", at: 300) == nil)
        #expect(known.isNobodys("new", in: "e", at: 300) == nil)
        #expect(known.isNobodys("new", at: 1_100) == nil)
    }

    @Test func aFewNamesInVainAreNotEnough() {
        let known = Known()
        for number in 0..<50 { #expect(!known.missed(at: number * 1_000)) }
        for number in 1..<KnownNames.missLimit { #expect(!known.missed(in: "e", at: number)) }
    }

    @Test func theListIsAskedForOnceASecond() {
        let known = Known()
        known.ask(at: 0)
        #expect(!known.missed(at: 10))
        known.names.listed([], isAll: true, in: "d")
        #expect(!known.missed(at: 900))
        #expect(known.missed(at: 1_000))
        #expect(!known.missed(at: 1_999))
        // The answer did not come: as if nothing had been asked.
        known.ask(at: 2_000)
    }

    @Test func whatIsMadeIsSomebodys() {
        let known = Known()
        known.ask(at: 0)
        known.names.making("early", in: "d")
        known.names.listed(["a"], isAll: true, in: "d")
        known.names.making("late", in: "d")
        for name in ["early", "a", "late"] { #expect(known.isNobodys(name, at: 1) == nil) }
        #expect(known.isNobodys("other", at: 1) != nil)
    }

    @Test func aNameThatChangedMayBeSomebodys() {
        let known = Known()
        known.ask(at: 0)
        // The answer may be of before the change.
        known.names.changed("d/early")
        known.names.listed([], isAll: true, in: "d")
        known.names.changed("d/late")
        for name in ["early", "late"] { #expect(known.isNobodys(name, at: 1) == nil) }
        #expect(known.isNobodys("other", at: 1) != nil)
    }

    @Test(arguments: ["d", nil]) func aDirectoryThatChangedIsNotKnown(path: String?) {
        let known = Known()
        known.ask(at: 0)
        known.names.listed([], isAll: true, in: "d")
        if let path { known.names.changed(path) } else { known.names.changedEverywhere() }
        #expect(known.isNobodys("new", at: 1) == nil)
    }

    @Test func anotherSpellingIsAnotherName() {
        let known = Known()
        known.ask(at: 0)
        known.names.listed(["\u{E9}"], isAll: true, in: "d")
        #expect(known.isNobodys("e\u{301}", at: 1) == 999)
        known.names.making("e\u{301}", in: "d")
        #expect(known.isNobodys("e\u{301}", at: 1) == nil)
        known.ask(in: "\u{E9}", at: 0)
        known.names.listed([], isAll: true, in: "\u{E9}")
        #expect(
            known.isNobodys("new", in: "\u{E9}", at: 1) == 999 && known.isNobodys("new", in: "e\u{301}", at: 1) == nil)
    }

    @Test func aLargeDirectoryIsLeftAlone() {
        let known = Known()
        known.ask(at: 0)
        known.names.listed(["a"], isAll: false, in: "d")
        #expect(known.isNobodys("new", at: 1) == nil)
        for number in 1..<100 { #expect(!known.missed(at: number * 10)) }
    }

    @Test func whatIsRememberedIsBounded() {
        let known = Known(directoryLimit: 2, nameLimit: 2)
        for directory in ["a", "b"] {
            known.ask(in: directory, at: 0)
            known.names.listed([], isAll: true, in: directory)
        }
        _ = known.missed(in: "c", at: 1)
        #expect(known.isNobodys("new", in: "a", at: 1) == nil)
        known.ask(in: "a", at: 1)
        known.names.listed([], isAll: true, in: "a")
        for name in ["1", "2"] { known.names.making(name, in: "a") }
        #expect(known.isNobodys("new", in: "a", at: 2) != nil)
        known.names.making("3", in: "a")
        #expect(known.isNobodys("new", in: "a", at: 2) == nil)
    }
}
