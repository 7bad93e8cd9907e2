import BlockExchange
import Reconciliation
import Testing

@Suite struct ReversalTests {
    static let me = ShortID(rawValue: 1)
    static let rules = FolderRules(kind: .sendReceive, device: me)

    static func version(_ counters: (UInt64, UInt64)...) -> VersionVector {
        VersionVector(counters.map { .init(id: ShortID(rawValue: $0.0), value: $0.1) })
    }

    static let base = FileInfo(name: "f", size: 3, modifiedSeconds: 50, version: version((1, 5)))
    static let changed = FileInfo(name: "f", size: 4, modifiedSeconds: 60, version: version((1, 5), (2, 9)))
    static let aside = FileInfo(name: "f", size: 5, modifiedSeconds: 70, version: version((3, 7)))
    static let gone = FileInfo(name: "f", isDeleted: true, version: version((1, 5), (2, 9)))

    static func reversal(_ refused: [FileInfo], _ local: LocalVersion?, _ global: FileInfo?) -> LocalChanges.Reversal {
        LocalChanges.reverting(refused, local: local, global: global, rules: rules, unixSeconds: 100)
    }

    static let here = LocalVersion(file: base, isOnDisk: true)

    @Test(arguments: [[changed], [gone], [changed, aside], [aside]])
    func whatIsHereIsGivenBack(_ refused: [FileInfo]) throws {
        guard case .announce(let given) = Self.reversal(refused, Self.here, Self.base) else {
            Issue.record("nothing is announced")
            return
        }
        #expect(given.isOnDisk && given.isValid && !given.file.isDeleted)
        #expect(given.file.size == 3 && given.file.modifiedSeconds == 50 && given.file.modifiedBy == Self.me)
        for other in refused + [Self.base] { #expect(given.file.version.compare(other.version) == .greater) }
    }

    @Test func whatNobodyElseHasIsDeleted() throws {
        let tombstone = FileInfo(name: "f", isDeleted: true, version: Self.version((1, 6), (4, 2)))
        for global in [nil, tombstone] {
            guard case .announce(let given) = Self.reversal([Self.changed, Self.aside], nil, global) else {
                Issue.record("nothing is announced")
                continue
            }
            #expect(given.file.isDeleted && !given.isOnDisk && given.file.modifiedSeconds == 100)
            for other in [Self.changed, Self.aside] + [global].compactMap({ $0 }) {
                #expect(given.file.version.compare(other.version) == .greater)
            }
        }
    }

    @Test func whatCannotBeGivenBackIsSaid() {
        let ignored = LocalVersion(file: Self.base, flags: .ignored, isOnDisk: true)
        let older = LocalVersion(
            file: FileInfo(name: "f", size: 3, version: Self.version((1, 4))), isOnDisk: true)
        for local in [nil, ignored, older] {
            #expect(Self.reversal([Self.changed], local, Self.base) == .notHere)
        }
        #expect(Self.reversal([Self.gone], nil, nil) == .lost)
        #expect(Self.reversal([Self.changed], ignored, nil) == .inTheWay)
    }
}
