import BlockExchange
import Testing

@testable import Reconciliation

private typealias S = Sample

/// What follows from extended attributes and owners.
@Suite struct AttributeTests {
    private static let v1 = S.version((S.other, 1))
    private static let owner = UnixOwner(ownerName: "al", groupName: "st", uid: 1, gid: 1)
    private static let stranger = UnixOwner(ownerName: "bo", groupName: "st", uid: 2, gid: 1)

    private func rules(_ extended: AttributeRules.Use, _ owner: AttributeRules.Use = .none) -> FolderRules {
        var rules = S.rules()
        rules.attributes = AttributeRules(extended: extended, owner: owner)
        return rules
    }

    private func list(_ names: [String]?) -> [ExtendedAttribute]? {
        names.map { $0.map { ExtendedAttribute(name: $0, value: Array($0.utf8)) } }
    }

    /// A file that is announced and of which the disk was seen so.
    private func file(said: [String]?, noted: [String]??, version: VersionVector = v1) -> FileInfo {
        var file = S.file("one", version)
        let note: FileAttributes? = noted.map { FileAttributes(extended: list($0)) }
        file.setAttributes(FileAttributes(extended: list(said)), onDisk: note)
        return file
    }

    private func update(_ before: FileInfo, seen: [String]?, _ rules: FolderRules, global: FileInfo? = nil)
        -> LocalUpdate
    {
        var item = S.item("one")
        item.attributes = FileAttributes(extended: list(seen))
        return LocalChanges.update(
            of: "f", observed: .item(item), previous: S.here(before), global: global ?? before, isKept: true,
            rules: rules, unixSeconds: S.now)
    }

    private enum Outcome: Equatable {
        case unchanged
        /// Remembered under the same version.
        case noted
        /// Others have the better right: an empty version.
        case yields
        /// A new version with these names.
        case announced([String])
    }

    private func outcome(_ update: LocalUpdate, since before: FileInfo) -> Outcome? {
        guard case .set(let version) = update else { return update == .unchanged ? .unchanged : nil }
        if version.file.version.isEmpty { return .yields }
        if version.file.version == before.version { return .noted }
        return .announced(version.file.attributes.extended?.map(\.name) ?? [])
    }

    @Test(
        arguments: [
            // announced, noted of the disk, seen now, with `send`, with `sync`
            (["user.a"], ["user.a"], ["user.a"], .unchanged, .unchanged),
            (["user.a"], ["user.a"], [], .announced([]), .announced([])),
            (["user.a"], ["user.a"], ["user.b"], .announced(["user.b"]), .announced(["user.b"])),
            (nil, [], [], .unchanged, .unchanged),
            (nil, [], ["user.a"], .announced(["user.a"]), .announced(["user.a"])),
            // Could not be set: what is missing is no change of this user's, and a change beside it is one.
            (["user.a"], [], [], .unchanged, .unchanged),
            (["user.a"], [], ["user.b"], .announced(["user.b"]), .announced(["user.b"])),
            // Never seen before.
            (nil, nil, ["user.a"], .announced(["user.a"]), .announced(["user.a"])),
            (nil, nil, [], .noted, .noted),
            (["user.a"], nil, ["user.a"], .noted, .noted),
            (["user.a"], nil, [], .noted, .yields),
            (["user.a"], nil, ["user.b"], .noted, .yields),
            // The disk keeps none, or they could not be read.
            (["user.a"], ["user.a"], nil, .unchanged, .unchanged),
            (["user.a"], nil, nil, .unchanged, .unchanged),
        ] as [([String]?, [String]?, [String]?, Outcome, Outcome)])
    private func whatIsSeenIsJudgedByWhatWasSeenBefore(
        said: [String]?, noted: [String]?, seen: [String]?, sent: Outcome, synced: Outcome
    ) {
        let before = file(said: said, noted: noted.map { $0 })
        #expect(outcome(update(before, seen: seen, rules(.sent)), since: before) == sent)
        #expect(outcome(update(before, seen: seen, rules(.synced)), since: before) == synced)
        #expect(update(before, seen: seen, rules(.none)) == .unchanged)
    }

    @Test func whatTheFilterLeavesAloneGoesOn() throws {
        let before = file(said: ["security.x", "user.a"], noted: ["user.a"])
        let update = update(before, seen: ["user.b"], rules(.synced))
        #expect(outcome(update, since: before) == .announced(["security.x", "user.b"]))
    }

    @Test func editedContentDoesNotAnnounceWhatCouldNotBeSet() throws {
        let before = file(said: ["user.a"], noted: [])
        var item = S.item("two")
        item.attributes = FileAttributes(extended: [])
        let update = LocalChanges.update(
            of: "f", observed: .item(item), previous: S.here(before), global: before, isKept: true,
            rules: rules(.synced), unixSeconds: S.now)
        guard case .set(let version) = update else { throw UnexpectedUpdate() }
        #expect(version.file.attributes.extended?.map(\.name) == ["user.a"])
        #expect(version.file.diskAttributes?.extended == [])
    }

    @Test func anOwnerThatCouldNotBeSetIsNotAnnounced() throws {
        var before = S.file("one", Self.v1)
        before.setAttributes(
            FileAttributes(owner: Self.owner), onDisk: FileAttributes(owner: Self.stranger))
        func look(_ owner: UnixOwner) -> LocalUpdate {
            var item = S.item("one")
            item.attributes = FileAttributes(owner: owner)
            return LocalChanges.update(
                of: "f", observed: .item(item), previous: S.here(before), global: before, isKept: true,
                rules: rules(.none, .synced), unixSeconds: S.now)
        }
        #expect(look(Self.stranger) == .unchanged)
        #expect(before.missingAttributes(rules: rules(.none, .synced).attributes).owner == Self.owner)
        guard case .set(let version) = look(UnixOwner(uid: 7, gid: 7)) else { throw UnexpectedUpdate() }
        #expect(version.file.attributes.owner?.uid == 7)
        #expect(!version.file.lacksAttributes(rules: rules(.none, .synced).attributes))
    }

    @Test(
        arguments: [
            // noted here, announced by others, whether it is applied
            (["user.a"], ["user.a"], false), (["user.a"], ["user.b"], true), (["user.a"], [], true),
            (["user.a"], nil, false), (["user.a"], ["security.x", "user.a"], false), (nil, ["user.a"], true),
            (nil, [], false), (nil, nil, false),
        ] as [([String]?, [String]?, Bool)])
    func aNewVersionWithTheSameContentIsAppliedWithoutADownload(noted: [String]?, said: [String]?, applies: Bool) {
        let local = S.here(file(said: nil, noted: noted.map { $0 }))
        let global = file(said: said, noted: .none, version: S.version((S.other, 2)))
        func decide(_ rules: FolderRules) -> Action {
            Reconciler.decide(local: local, global: global, isKept: true, rules: rules, unixSeconds: S.now)
        }
        let expected: Action =
            applies ? .adopt(global, over: local, changing: .attributes) : .record(.current(global))
        #expect(decide(rules(.synced)) == expected)
        #expect(decide(rules(.sent)) == .record(.current(global)))
        #expect(decide(rules(.none)) == .record(.current(global)))
    }

    @Test func whatOthersSayNothingOfIsAnnouncedByTheNextLook() throws {
        // Found for the first time, equal to the global version but for attributes, which that says nothing of.
        let global = S.file("one", Self.v1)
        var item = S.item("one")
        item.attributes = FileAttributes(extended: list(["user.a"]))
        func look(_ previous: LocalVersion?) -> LocalUpdate {
            LocalChanges.update(
                of: "f", observed: .item(item), previous: previous, global: global, isKept: true,
                rules: rules(.synced), unixSeconds: S.now)
        }
        guard case .set(let first) = look(nil) else { throw UnexpectedUpdate() }
        #expect(first.file.version == global.version)
        #expect(outcome(look(first), since: first.file) == .announced(["user.a"]))
    }

    private struct UnexpectedUpdate: Error {}
}
