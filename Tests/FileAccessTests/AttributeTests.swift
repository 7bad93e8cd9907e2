import Foundation
import Glibc
import SyncTestKit
import Synchronization
import Testing

@testable import FileAccess

/// Needs a disk that keeps attributes of users, as ext4, XFS and Btrfs do.
@Suite struct AttributeTests {
    let directory: TemporaryTree
    var root: RootDirectory { directory.root }
    private let access = AttributeAccess(permits: { $0.hasPrefix("user.") }, usesOwner: true)

    init() throws { directory = try TemporaryTree() }

    private func attribute(_ name: String, _ text: String) -> DiskAttribute {
        DiskAttribute(name: name, value: Array(text.utf8))
    }

    private func has(_ path: String, _ access: AttributeAccess? = nil) throws -> DiskAttributes {
        let path = try relative(path)
        return try #require(try root.directory(path.parent).attributes(ofName: path.name, access ?? self.access))
    }

    private func commit(
        _ path: String, _ wanted: DiskAttributes, _ access: AttributeAccess? = nil, permissions: UInt32 = 0o444
    ) throws -> StagedFile {
        let staged = try root.stage(relative(path))
        try staged.write([1], at: 0)
        _ = try staged.commit(
            replacing: .anything, permissions: permissions, modified: FileTime(seconds: 5),
            attributes: AttributeChange(wanted, access ?? self.access))
        return staged
    }

    @Test func aFileComesWithItsAttributes() throws {
        let long = DiskAttribute(name: "user.long", value: [UInt8](repeating: 9, count: 3000))
        let staged = try commit("f", DiskAttributes(extended: [attribute("user.a", ""), long]))
        let extended = try #require(try has("f").extended)
        #expect(Set(extended) == [attribute("user.a", ""), long])
        #expect(try staged.appliedAttributes == has("f"))
        let status = try #require(try root.status(of: relative("f")))
        #expect(status.permissions == 0o444 && status.modified == FileTime(seconds: 5))
    }

    @Test func whatNothingIsSaidOfStaysWhenAFileIsReplaced() throws {
        _ = try commit("f", DiskAttributes(extended: [attribute("user.a", "1")]))
        _ = try commit("f", DiskAttributes())
        #expect(try has("f").extended == [attribute("user.a", "1")])
        _ = try commit("f", DiskAttributes(extended: []))
        #expect(try has("f").extended == [])
    }

    @Test func onlyWhatIsPermittedIsReadRemovedAndSet() throws {
        _ = try commit("f", DiskAttributes(extended: [attribute("user.a", "1"), attribute("user.b", "2")]))
        let some = AttributeAccess(permits: { $0 == "user.a" }, usesOwner: false)
        #expect(try has("f", some) == DiskAttributes(extended: [attribute("user.a", "1")]))
        let now = try root.set(
            permissions: nil,
            AttributeChange(DiskAttributes(extended: [attribute("user.c", "3")]), some), of: relative("f"))
        #expect(now.extended == [])
        #expect(try has("f").extended == [attribute("user.b", "2")])
        #expect(try root.status(of: relative("f"))?.permissions == 0o444)
    }

    @Test func directoriesHaveAttributesToo() throws {
        try directory.makeDirectory("d")
        let now = try root.set(
            permissions: 0o555, AttributeChange(DiskAttributes(extended: [attribute("user.a", "1")]), access),
            of: relative("d"))
        #expect(now.extended == [attribute("user.a", "1")])
        #expect(try root.status(of: relative("d"))?.permissions == 0o555)
        #expect(try has("d") == now)
    }

    @Test func accessControlListsAreKeptBesidePermissions() throws {
        // user::rw- user:1000:r-- group::r-- mask::r-- other::---
        let list: [UInt8] =
            [2, 0, 0, 0] + [1, 0, 6, 0, 255, 255, 255, 255] + [2, 0, 4, 0, 0xE8, 3, 0, 0]
            + [4, 0, 4, 0, 255, 255, 255, 255] + [16, 0, 4, 0, 255, 255, 255, 255] + [32, 0, 0, 0, 255, 255, 255, 255]
        let name = "system.posix_acl_access"
        let all = AttributeAccess(permits: { _ in true }, usesOwner: false)
        _ = try commit(
            "f", DiskAttributes(extended: [DiskAttribute(name: name, value: list)]), all, permissions: 0o640)
        #expect(try has("f", all).extended == [DiskAttribute(name: name, value: list)])
        #expect(try root.status(of: relative("f"))?.permissions == 0o640)
    }

    @Test(.enabled(if: getuid() == 0, "needs root")) func namesComeBeforeNumbers() throws {
        _ = try commit(
            "f", DiskAttributes(owner: DiskOwner(uid: 4242, gid: 4343, ownerName: "daemon", groupName: "nobody-here")))
        let owner = try #require(try has("f").owner)
        #expect(owner.ownerName == "daemon" && owner.uid != 4242)
        #expect(owner.gid == 4343 && owner.groupName == "")
        // Nothing is said: it stays with whom it is.
        _ = try commit("f", DiskAttributes())
        #expect(try has("f").owner == owner)
    }

    @Test(.enabled(if: getuid() == 0, "needs root")) func contentComesWhereTheOwnerCannotBeSet() throws {
        chmod(directory.root.path, 0o777)
        try withoutPrivileges {
            let staged = try commit(
                "f", DiskAttributes(owner: DiskOwner(uid: 0, gid: 0), extended: [attribute("user.a", "1")]))
            #expect(staged.appliedAttributes?.owner?.uid == 65_534)
            #expect(staged.appliedAttributes?.extended == [attribute("user.a", "1")])
        }
        #expect(directory.text("f") == "\u{1}")
    }

    @Test func aSymbolicLinkIsNotFollowed() throws {
        _ = try commit("f", DiskAttributes())
        try root.createSymlink(relative("l"), target: Array("f".utf8))
        #expect(try root.directory(nil).attributes(ofName: "l", access) == nil)
        #expect(
            failure {
                _ = try root.set(
                    permissions: nil, AttributeChange(DiskAttributes(extended: [attribute("user.a", "1")]), access),
                    of: relative("l"))
            }?.code == .notARegularFile)
        #expect(try has("f").extended == [])
    }

    @Test func aCopyAndASecondNameKeepThem() throws {
        _ = try commit("f", DiskAttributes(extended: [attribute("user.a", "1")]))
        let seen = try #require(try root.status(of: relative("f")))
        try root.copy(relative("f"), to: relative("g"), in: root, expecting: seen)
        #expect(try has("g").extended == [attribute("user.a", "1")])
        try root.rename(relative("g"), to: relative("h"))
        #expect(try has("h").extended == [attribute("user.a", "1")])
    }

    /// Has a user act right after the last of the moves into place: the next call is about durability.
    private final class UserAtThatMoment: DiskInterposer {
        private let act: @Sendable () -> Void
        private let moves: Mutex<Int>

        init(moves: Int, act: @escaping @Sendable () -> Void) {
            self.moves = Mutex(moves)
            self.act = act
        }

        func verdict(on change: DiskChange) -> DiskVerdict {
            let isDue = moves.withLock { moves in
                if case .rename = change { moves -= 1 }
                guard moves == 0, case .rename = change else {
                    defer { if moves == 0 { moves = -1 } }
                    return moves == 0
                }
                return false
            }
            if isDue { act() }
            return .proceed
        }
    }

    enum UserEdit: CaseIterable { case attributes, contentsWithTheirOldTime }

    /// Else the index would take the user's change for what came with the file, and never tell it.
    @Test(arguments: [1, 9], UserEdit.allCases)
    func whatAUserChangesAtOnceShows(count: Int, edit: UserEdit) throws {
        let (path, first, usersRoot) = (directory.path("f0"), try relative("f0"), directory.root)
        let theirs = AttributeChange(DiskAttributes(extended: [attribute("user.mine", "2")]), access)
        let user = UserAtThatMoment(moves: count) {
            switch edit {
            case .attributes: _ = try? usersRoot.set(permissions: nil, theirs, of: first)
            case .contentsWithTheirOldTime:
                let file = open(path, O_WRONLY)
                write(file, "2", 1)
                futimens(file, [timespec(tv_sec: 5, tv_nsec: 0), timespec(tv_sec: 5, tv_nsec: 0)])
                close(file)
            }
        }
        let root = try RootDirectory(path: directory.path(""), interposer: user)
        let commits = try (0..<count).map { number in
            let staged = try root.stage(relative("f\(number)"))
            try staged.write([1], at: 0)
            return StagedCommit(
                staged, replacing: .nothing, permissions: 0o644, modified: FileTime(seconds: 5),
                attributes: AttributeChange(DiskAttributes(extended: []), access))
        }
        let given = try root.commit(commits).map { try $0.get() }
        for (number, given) in given.enumerated() {
            let path = try relative("f\(number)")
            let now = try #require(try root.status(of: path))
            #expect((given.changed == now.changed) == (number > 0))
            #expect(now.size == 1 && now.modified == FileTime(seconds: 5))
        }
        #expect(try has("f0").extended == (edit == .attributes ? [attribute("user.mine", "2")] : []))
    }

    @Test func whoseChangeATimeIsOfIsNotKnownOnceTheAttributesAreOthers() throws {
        let path = try relative("f")
        _ = try commit("f", DiskAttributes())
        let given = try root.set(
            permissions: nil, AttributeChange(DiskAttributes(extended: [attribute("user.a", "1")]), access), of: path)
        let status = try #require(try root.status(of: path, having: given, access))
        #expect(try status == root.status(of: path))
        _ = try root.set(
            permissions: nil, AttributeChange(DiskAttributes(extended: [attribute("user.a", "2")]), access), of: path)
        #expect(try root.status(of: path, having: given, access)?.changed == nil)
    }

    /// Changes what this device has set already, while it sets the next.
    private final class UserMeanwhile: DiskInterposer {
        private let calls = Mutex(0)
        private let act: @Sendable () -> Void

        init(act: @escaping @Sendable () -> Void) { self.act = act }

        func verdict(on change: DiskChange) -> DiskVerdict {
            guard case .setAttributes = change else { return .proceed }
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            if number == 2 { act() }
            return .proceed
        }
    }

    /// Else what a user sets while this device sets something counts as seen, and no device ever hears of it.
    @Test(
        arguments: [
            ["user.a": "mine", "user.b": "1"], ["user.b": "1"], ["user.a": "1", "user.c": "mine"],
        ])
    func whatAUserSetsMeanwhileIsNotWhatThisDeviceSet(theirs: [String: String]) throws {
        let path = try relative("f")
        _ = try commit("f", DiskAttributes(extended: [attribute("user.kept", "0")]), permissions: 0o644)
        let (usersRoot, access) = (directory.root, access)
        let user = UserMeanwhile {
            let all = theirs.merging(["user.kept": "0"]) { $1 }.map { DiskAttribute(name: $0, value: Array($1.utf8)) }
            let change = AttributeChange(DiskAttributes(extended: all), access)
            _ = try? usersRoot.set(permissions: nil, change, of: path)
        }
        let root = try RootDirectory(path: directory.path(""), interposer: user)
        let wanted = [("user.kept", "0"), ("user.a", "1"), ("user.b", "1")].map { attribute($0.0, $0.1) }
        let given = try root.set(
            permissions: nil, AttributeChange(DiskAttributes(extended: wanted), access), of: path)
        #expect(Set(given.extended ?? []) == Set(wanted))
        #expect(try root.status(of: path, having: given, access)?.changed == nil)
    }

    @Test func whatCannotBeSetIsNotSaidToBe() throws {
        let path = try relative("f")
        _ = try commit("f", DiskAttributes(extended: [attribute("user.a", "0")]))
        let full = FaultyAttributes()
        let root = try RootDirectory(path: directory.path(""), interposer: full)
        let wanted = [attribute("user.a", "1"), attribute("user.b", "1")]
        let given = try root.set(
            permissions: nil, AttributeChange(DiskAttributes(extended: wanted), access), of: path)
        #expect(given.extended == [attribute("user.a", "0")])
        #expect(try root.status(of: path, having: given, access)?.changed != nil)
    }

    private struct FaultyAttributes: DiskInterposer {
        func verdict(on change: DiskChange) -> DiskVerdict {
            if case .setAttributes = change { .fail(ENOSPC) } else { .proceed }
        }
    }

    @Test func whatIsOtherThanExpectedGetsNothing() throws {
        let path = try relative("f")
        _ = try commit("f", DiskAttributes())
        let change = AttributeChange(DiskAttributes(extended: [attribute("user.a", "1")]), access)
        _ = try root.set(permissions: nil, change, of: path, expecting: root.status(of: path))
        let stale = try #require(try root.status(of: path))
        _ = try root.set(permissions: 0o600, change, of: path)
        #expect(throws: FileAccessError.self) {
            try root.set(
                permissions: nil, AttributeChange(DiskAttributes(extended: []), access), of: path, expecting: stale)
        }
        #expect(try has("f").extended == [attribute("user.a", "1")])
    }

    @Test func aDiskWithoutAttributesHasNoneToTell() throws {
        #expect(root.keepsAttributes)
        let kernel = try RootDirectory(path: "/proc/self")
        #expect(try kernel.directory(nil).attributes(ofName: "status", access)?.extended ?? [] == [])
    }
}
