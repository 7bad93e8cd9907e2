import Foundation
import Glibc
import SyncTestKit
import Synchronization
import Testing

@testable import FileAccess

/// Replacing and removing, cut short at every call: whatever somebody put into the place meanwhile is still there.
@Suite struct SwapTests {
    /// Lets a user act right before one of the calls, and the process die before or after one of them.
    private final class Interruption: DiskInterposer {
        private let state: Mutex<(calls: Int, isDead: Bool, hasActed: Bool)> = Mutex((0, false, false))
        /// The call, counted from 0, before which the user acts.
        let userActs: Int?
        /// Says whether it worked.
        let act: @Sendable () -> Bool
        /// The call before which the process dies; nil for none.
        let dies: Int?

        init(userActs: Int?, act: @escaping @Sendable () -> Bool, dies: Int?) {
            self.userActs = userActs
            self.act = act
            self.dies = dies
        }

        var calls: Int { state.withLock { $0.calls } }
        var hasActed: Bool { state.withLock { $0.hasActed } }

        func verdict(on change: DiskChange) -> DiskVerdict {
            let (call, isDead) = state.withLock { state in
                defer { state.calls += 1 }
                if state.calls == dies { state.isDead = true }
                return (state.calls, state.isDead)
            }
            if isDead { return .fail(EIO) }
            if call == userActs {
                let hasActed = act()
                state.withLock { $0.hasActed = hasActed }
            }
            return .proceed
        }
    }

    private enum Operation: CaseIterable { case replace, rename, link, remove }
    private enum Edit: CaseIterable {
        case none, inPlace, byRenaming, removed
        /// Opened for writing, and written to only when all is over.
        case held
    }

    /// What a user has opened.
    private final class OpenedFile: Sendable {
        private let descriptor = Mutex<CInt>(-1)

        func open(_ path: String) -> Bool {
            descriptor.withLock { descriptor in
                descriptor = Glibc.open(path, O_WRONLY | O_NOFOLLOW)
                return descriptor >= 0
            }
        }

        func writeAndClose(_ text: String) {
            descriptor.withLock { descriptor in
                guard descriptor >= 0 else { return }
                _ = pwrite(descriptor, text, text.utf8.count, 0)
                close(descriptor)
                descriptor = -1
            }
        }
    }

    private let names = ["f", String(repeating: "n", count: 250)]

    /// Runs an operation on `name`, which holds "old"; what takes its place is "new".
    private func run(
        _ operation: Operation, _ name: String, _ edit: Edit, at userActs: Int?, dies: Int?
    ) throws -> (calls: Int, hasEdited: Bool, found: Set<String>) {
        let directory = try TemporaryTree()
        try directory.write("old", to: name)
        let (path, aside) = (directory.path(name), directory.outside("aside"))
        // A time that no edit has.
        let times = [timespec(tv_sec: 1, tv_nsec: 1), timespec(tv_sec: 1, tv_nsec: 1)]
        utimensat(AT_FDCWD, path, times, 0)
        let target = try relative(name)
        let seen = try #require(try directory.root.status(of: target))
        if operation == .rename { try directory.write("new", to: "source") }

        let opened = OpenedFile()
        let interruption = Interruption(
            userActs: userActs,
            act: {
                switch edit {
                case .none: return true
                case .inPlace:
                    let file = open(path, O_WRONLY | O_NOFOLLOW)
                    defer { close(file) }
                    return Glibc.write(file, "edited", 6) == 6
                case .byRenaming:
                    try? Data("edited".utf8).write(to: URL(fileURLWithPath: aside))
                    return Glibc.rename(aside, path) == 0
                case .removed: return unlink(path) == 0
                case .held: return opened.open(path)
                }
            }, dies: dies)
        let root = try RootDirectory(path: directory.path(""), interposer: interruption)
        _ = failure {
            switch operation {
            case .replace:
                let staged = try root.stage(target)
                try staged.write(Array("new".utf8), at: 0)
                _ = try staged.commit(replacing: .exactly(seen), permissions: nil, modified: nil)
            case .rename: try root.rename(relative("source"), to: target, replacing: .exactly(seen))
            case .link: try root.createSymlink(target, target: Array("new".utf8), replacing: .exactly(seen))
            case .remove: try root.remove(target, expecting: seen)
            }
        }
        opened.writeAndClose("edited")
        return (interruption.calls, interruption.hasActed, try afterRestart(directory))
    }

    /// What all names hold once swaps are settled; those that hold what somebody put there are shown as "kept".
    private func afterRestart(_ directory: TemporaryTree) throws -> Set<String> {
        let root = directory.root
        for name in directory.names() where try relative(name).isSwap {
            #expect(names.contains { (try? relative(name).isSwap(with: $0)) == true })
            if case .displaced = try root.settleSwap(relative(name)) {
                try root.rename(relative(name), to: relative("kept"))
            }
        }
        let left = directory.names()
        #expect(!left.contains { (try? relative($0).isSwap) == true })
        return Set(
            try left.map { name in
                let link = try? FileManager.default.destinationOfSymbolicLink(atPath: directory.path(name))
                return try link ?? #require(directory.text(name))
            })
    }

    @Test(arguments: Operation.allCases, Edit.allCases)
    private func nothingIsLostAtAnyMoment(operation: Operation, edit: Edit) throws {
        for name in names {
            // Nobody interferes.
            let (calls, _, found) = try run(operation, name, .none, at: nil, dies: nil)
            #expect(found == (operation == .remove ? [] : ["new"]))
            for moment in 0..<calls {
                let deaths: [Int?] = [nil] + (0...calls + 2).map { $0 }
                for death in deaths where death.map({ $0 > moment }) ?? true {
                    let (_, hasEdited, found) = try run(operation, name, edit, at: moment, dies: death)
                    switch edit {
                    case .inPlace, .byRenaming, .held:
                        #expect(
                            !hasEdited || found.contains("edited"),
                            "\(operation) \(edit) before call \(moment), death before \(death ?? -1): \(found)")
                    case .none, .removed: break
                    }
                    // What was there goes only where something else comes, or was to go.
                    if edit == .none, operation != .remove {
                        #expect(found.contains("old") || found.contains("new"))
                    }
                    // A staged file may be empty yet.
                    #expect(found.isSubset(of: ["old", "new", "edited", ""]))
                }
            }
        }
    }

    @Test func aSwapThatSomebodyIsAtIsLeftAlone() throws {
        let directory = try TemporaryTree()
        try directory.write("old", to: "f")
        let seen = try #require(try directory.root.status(of: relative("f")))
        let staged = try directory.root.stage(relative("f"))
        let swap = SwapName(target: "f", source: staged.opened.inode, expected: seen).text
        #expect(rename(directory.path(staged.temporaryName), directory.path(swap)) == 0)
        guard case .busy = try directory.root.settleSwap(relative(swap)) else {
            Issue.record("not busy")
            return
        }
        #expect(directory.names() == ["f", swap])
    }

    @Test func swapNamesAreReadBack() throws {
        let status = FileStatus(type: .regular, size: 1, modified: FileTime(seconds: 2), inode: 3)
        for name in ["f", "a.b.swap", String(repeating: "é", count: 72), String(repeating: "x", count: 255)] {
            let swap = SwapName(target: name, source: .max, expected: status)
            #expect(SwapName(swap.text) == swap)
            #expect(swap.text.utf8.count <= 255)
            let path = try relative("d/" + swap.text)
            #expect(path.isSwap && path.isTemporary && path.isSwap(with: name) && !path.isSwap(with: name + "y"))
            #expect(
                swap.isExpected(status)
                    && !swap.isExpected(FileStatus(type: .regular, size: 1, modified: FileTime(seconds: 2), inode: 4)))
        }
        for other in [
            ".syncthing.f.tmp", ".syncthing.swap", ".syncthing.f.swap", ".syncthing.f.0000000000000000.swap",
            ".syncthing..0000000000000000.0000000000000000.swap", "f.0000000000000000.0000000000000000.swap",
            ".syncthing.f.000000000000000g.0000000000000000.swap",
            ".syncthing.f.+000000000000000.0000000000000000.swap",
        ] { #expect(SwapName(other) == nil, "\(other)") }
    }
}
