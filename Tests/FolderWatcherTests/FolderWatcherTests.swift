import FileAccess
import Foundation
import Glibc
import Testing

@testable import FolderWatcher

/// The real program on a real folder. Nothing waits for a time: each test waits for the report that must come.
@Suite(.timeLimit(.minutes(2))) struct FolderWatcherTests {
    private func path(_ text: String) throws -> RelativePath { try RelativePath(parsing: text) }

    @Test func filesMadeWrittenAndRemoved() async throws {
        let folder = try WatchedFolder()
        try folder.makeDirectory("d")
        try await folder.watching {
            try await folder.untilSet()
            #expect(folder.watcher.state == .running(watched: 2))
            try folder.write("x", to: "d/f")
            try await folder.untilCovered(["d/f"])
            folder.forget()
            #expect(unlink(folder.path("d/f")) == 0)
            try await folder.untilCovered(["d/f"])
            folder.forget()
            #expect(symlink("nowhere", folder.path("link")) == 0)
            try await folder.untilCovered(["link"])
        }
        #expect(try folder.programs().isEmpty)
        #expect(folder.all.last == .state(.stopped))
    }

    @Test func directoriesThatComeAndGoAreCounted() async throws {
        let folder = try WatchedFolder()
        try await folder.watching {
            try await folder.untilSet()
            try folder.makeDirectory("d/e")
            try await folder.until { $0.contains(.state(.running(watched: 3))) }
            #expect(rmdir(folder.path("d/e")) == 0)
            try await folder.until { $0.contains(.state(.running(watched: 2))) }
        }
    }

    @Test func aFileIsNotReportedBeforeItIsClosed() async throws {
        let folder = try WatchedFolder()
        try await folder.watching {
            try await folder.untilSet()
            let file = open(folder.path("slow"), O_WRONLY | O_CREAT, 0o644)
            #expect(Glibc.write(file, "abc", 3) == 3)
            let slow = try path("slow")
            // A whole report cycle of another file passes meanwhile.
            try folder.write("x", to: "other")
            try await folder.untilCovered(["other"])
            #expect(!Coverage(folder.all).covers(slow))
            #expect(folder.watcher.isBeingWritten(slow))
            close(file)
            try await folder.untilCovered(["slow"])
            #expect(!folder.watcher.isBeingWritten(slow))
        }
    }

    @Test func renamesWithinTheFolder() async throws {
        let folder = try WatchedFolder()
        try folder.makeDirectory("a/b/c")
        try folder.makeDirectory("z")
        try folder.write("x", to: "a/f")
        try await folder.watching {
            try await folder.untilSet()
            try folder.move(folder.path("a/f"), folder.path("z/g"))
            let renamed = WatchReport.renamed(from: try path("a/f"), to: try path("z/g"), isDirectory: false)
            try await folder.until { $0.contains(renamed) }
            folder.forget()
            try folder.move(folder.path("a"), folder.path("z/y"))
            let moved = WatchReport.renamed(from: try path("a"), to: try path("z/y"), isDirectory: true)
            try await folder.until { $0.contains(moved) }
            folder.forget()
            // Events below carry the new path, at every depth.
            try folder.write("x", to: "z/y/b/c/deep")
            try await folder.untilCovered(["z/y/b/c/deep"])
            folder.forget()
            // The old name is free for another directory.
            try folder.makeDirectory("a/b")
            try await folder.untilCovered(["a/b"])
            folder.forget()
            try folder.write("x", to: "a/b/new")
            try await folder.untilCovered(["a/b/new"])
        }
    }

    @Test func aDirectoryMovedOutAndAnotherMovedInWithContent() async throws {
        let folder = try WatchedFolder()
        try folder.makeDirectory("d/e")
        try FileManager.default.createDirectory(
            atPath: folder.outside("in/x/y"), withIntermediateDirectories: true)
        try "1".write(toFile: folder.outside("in/x/y/f"), atomically: false, encoding: .utf8)
        try await folder.watching {
            try await folder.untilSet()
            let inner = try path("d/e")
            try folder.move(folder.path("d"), folder.outside("d"))
            try await folder.until { Coverage($0).covers(inner) }
            folder.forget()
            try folder.move(folder.outside("in"), folder.path("in"))
            try await folder.untilCovered(["in/x/y/f"])
            folder.forget()
            try folder.write("2", to: "in/x/y/g")
            try await folder.untilCovered(["in/x/y/g"])
            folder.forget()
            // What left the folder is of no concern.
            try "1".write(toFile: folder.outside("d/e/f"), atomically: false, encoding: .utf8)
            try folder.write("3", to: "last")
            try await folder.untilCovered(["last"])
            #expect(!Coverage(folder.all).covers(try path("d/e/f")))
        }
    }

    @Test func aTreeMadeAtOnceIsCoveredToItsLeaves() async throws {
        let folder = try WatchedFolder()
        try await folder.watching {
            try await folder.untilSet()
            var names: [String] = []
            for index in 0..<20 {
                let directory = "t\(index)/" + (0..<12).map { "n\($0)" }.joined(separator: "/")
                try folder.makeDirectory(directory)
                try folder.write("x", to: "\(directory)/leaf")
                names.append("\(directory)/leaf")
            }
            try await folder.untilCovered(names)
            folder.forget()
            try folder.write("y", to: names[7])
            try await folder.untilCovered([names[7]])
            folder.forget()
            try FileManager.default.removeItem(atPath: folder.path("t7"))
            try await folder.untilCovered(["t7", names[7]])
            folder.forget()
            // The same names again, after their watches went with them.
            try folder.makeDirectory("t7/n0/n1")
            try folder.write("y", to: "t7/n0/n1/again")
            try await folder.untilCovered(["t7/n0/n1/again"])
        }
    }

    @Test func aBurstOfFilesIsCovered() async throws {
        let folder = try WatchedFolder()
        try folder.makeDirectory("d")
        try await folder.watching {
            try await folder.untilSet()
            let names = (0..<5000).map { "d/file-\($0)" }
            for name in names { try folder.write("x", to: name) }
            try await folder.untilCovered(names)
        }
    }

    @Test func temporaryNamesAreSilentAndTheOwnFilesSpeak() async throws {
        let folder = try WatchedFolder()
        try await folder.watching {
            try await folder.untilSet()
            try folder.write("x", to: ".syncthing.f.tmp")
            try folder.move(folder.path(".syncthing.f.tmp"), folder.path("f"))
            try await folder.untilCovered(["f"])
            #expect(!Coverage(folder.all).covers(try path(".syncthing.f.tmp")))
            folder.forget()
            try folder.write("*", to: ".stignore")
            try await folder.until { $0.contains(.ignoreFileChanged) }
            folder.forget()
            #expect(rmdir(folder.path(".stfolder")) == 0)
            try await folder.until { $0.contains(.markerChanged) }
        }
    }

    @Test func onlySelectedBranchesAreWatched() async throws {
        let selected = SelectedBranch("a/b")
        let folder = try WatchedFolder(isWatched: { selected.holds($0) })
        for name in ["a/b/c", "a/x/y", "u/v/w/z"] { try folder.makeDirectory(name) }
        try await folder.watching {
            try await folder.untilSet()
            #expect(folder.watcher.state == .running(watched: 4))
            selected.set("u")
            folder.watcher.selectionChanged()
            try await folder.untilCovered(["u/v/w"])
            try await folder.until { $0.contains(.state(.running(watched: 5))) }
            folder.forget()
            try folder.write("x", to: "a/b/c/unseen")
            try folder.write("x", to: "u/v/w/seen")
            try await folder.untilCovered(["u/v/w/seen"])
            #expect(!Coverage(folder.all).covers(try path("a/b/c/unseen")))
        }
    }

    @Test func aKilledProgramIsStartedAgainAndTheFolderRescanned() async throws {
        let folder = try WatchedFolder()
        try folder.makeDirectory("d")
        try await folder.watching {
            try await folder.untilSet()
            let first = try folder.programs()
            #expect(first.count == 1)
            for process in first { #expect(kill(process, SIGKILL) == 0) }
            try await folder.until { $0.contains(.rescan(nil, .restarted)) }
            #expect(folder.logged.contains { $0.contains("The watch program was ended by signal 9.") })
            folder.forget()
            let second = try folder.programs()
            #expect(second.count == 1 && Set(second).isDisjoint(with: first))
            try folder.write("x", to: "d/f")
            try await folder.untilCovered(["d/f"])
        }
        #expect(try folder.programs().isEmpty)
    }

    @Test func aRootThatIsMovedAwayIsSaidAndFoundAgain() async throws {
        let folder = try WatchedFolder()
        try await folder.watching {
            try await folder.untilSet()
            try folder.move(folder.path(""), folder.outside("moved"))
            try await folder.until { $0.contains { self.code($0) == .rootGone } }
            // Another directory in its place is not the folder.
            try FileManager.default.createDirectory(atPath: folder.path(""), withIntermediateDirectories: true)
            #expect(rmdir(folder.path("")) == 0)
            try folder.move(folder.outside("moved"), folder.path(""))
            try await folder.untilSet(.restarted)
            try folder.write("x", to: "f")
            try await folder.untilCovered(["f"])
        }
    }

    private func code(_ report: WatchReport) -> WatchImpairment.Code? {
        if case .state(.impaired(let impairment)) = report { return impairment.code }
        return nil
    }

    @Test func aMissingProgramIsSaid() async throws {
        let folder = try WatchedFolder(program: "/nonexistent/synctrain-watch")
        try await folder.watching {
            try await folder.until { $0.contains { self.code($0) == .programMissing } }
        }
    }

    /// The real limit, in a user namespace of its own: nothing outside it is touched.
    @Test(.enabled(if: NamespaceProbe.canLimit)) func theSystemsLimitIsSaidWithItsRemedy() async throws {
        let scripts = try WatchedFolder()
        let program = try scripts.script(
            """
            exec unshare --user --map-root-user sh -c \
            'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"' sh \(WatchedFolder.program) "$@"
            """)
        let folder = try WatchedFolder(program: program)
        for index in 0..<10 { try folder.makeDirectory("d\(index)") }
        try await folder.watching {
            try await folder.until { $0.contains { self.code($0) == .watchLimit } }
            guard case .impaired(let impairment) = folder.watcher.state else {
                Issue.record("\(folder.watcher.state)")
                return
            }
            #expect(impairment.watched == 3)
            #expect(impairment.message.contains("sudo sysctl fs.inotify.max_user_watches="))
            #expect(impairment.message.contains("/etc/sysctl.d/"))
            // What could be watched is watched.
            try folder.write("x", to: "top")
            try await folder.untilCovered(["top"])
        }
    }

    @Test(arguments: [
        // Hello with an impossible length; another version; an answer before the greeting; nothing at all.
        "printf '\\377\\377'", "printf '\\0\\022h\\002'; printf '%016d' 0", "printf '\\0\\005g\\0\\0\\0\\001'",
        "exit 3",
        "printf '\\0\\022h\\001'",
    ])
    func nonsenseFromTheProgramEndsAndRestartsIt(_ script: String) async throws {
        let scripts = try WatchedFolder()
        let folder = try WatchedFolder(program: try scripts.script(script))
        try await folder.watching {
            try await folder.until { $0.contains { self.code($0) == .programEnded } }
        }
        #expect(try folder.programs().isEmpty)
    }

    /// A program that watches the root and says that the limit is reached for all else.
    @Test func aLimitToldByTheProgramLeavesTheRestWatched() async throws {
        let scripts = try WatchedFolder()
        let folder = try WatchedFolder(program: try scripts.script(Self.limitedProgram(scripts.url.path)))
        try folder.makeDirectory("d")
        let status = try folder.root.status()
        try hello(status).write(to: scripts.url.appending(path: "hello"))
        try await folder.watching {
            try await folder.until { $0.contains { self.code($0) == .watchLimit } }
            guard case .impaired(let impairment) = folder.watcher.state else { return }
            #expect(impairment.watched == 1)
        }
    }

    /// A program that may not read `d` at first, and reports then that its permissions have changed.
    @Test func aDirectoryThatBecomesReadableIsWatched() async throws {
        let scripts = try WatchedFolder()
        let folder = try WatchedFolder(program: try scripts.script(Self.forbiddenProgram(scripts.url.path)))
        try folder.makeDirectory("d")
        try hello(try folder.root.status()).write(to: scripts.url.appending(path: "hello"))
        try await folder.watching {
            try await folder.until { $0.contains(.state(.running(watched: 2))) }
            try await folder.untilCovered(["d"])
        }
    }

    /// A program that is told to watch `d` a second time, after the watch that it gave was taken back.
    @Test func whereADiskWasMountedItIsWatchedAndNotWhatWasThere() async throws {
        let scripts = try WatchedFolder()
        let folder = try WatchedFolder(program: try scripts.script(Self.remountedProgram(scripts.url.path)))
        try folder.makeDirectory("d")
        try hello(try folder.root.status()).write(to: scripts.url.appending(path: "hello"))
        try await folder.watching {
            try await folder.untilSet()
            let place = try path("d")
            folder.watcher.mountsChanged(at: [place])
            try await folder.until { $0.contains(.changed([.tree(place)])) }
        }
    }

    private func hello(_ status: FileStatus) -> Data {
        var bytes: [UInt8] = [0, 18, UInt8(ascii: "h"), 1]
        for number in [status.device, status.inode] {
            bytes += stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
        }
        return Data(bytes)
    }

    /// Greets, waits for the request for the root and grants it, waits for that for `d` and says ENOSPC.
    private static func limitedProgram(_ directory: String) -> String {
        """
        cat \(directory)/hello
        head -c 7 > /dev/null
        printf '\\0\\012w\\0\\0\\0\\001\\0\\0\\0\\001\\0'
        head -c 8 > /dev/null
        printf '\\0\\011f\\0\\0\\0\\002\\0\\0\\0\\034'
        cat > /dev/null
        """
    }

    /// Greets, grants the root and `d`, has the watch of `d` taken back, and grants another one.
    private static func remountedProgram(_ directory: String) -> String {
        """
        cat \(directory)/hello
        head -c 7 > /dev/null
        printf '\\0\\012w\\0\\0\\0\\001\\0\\0\\0\\001\\0'
        head -c 8 > /dev/null
        printf '\\0\\012w\\0\\0\\0\\002\\0\\0\\0\\002\\0'
        test "$(head -c 15 | od -An -v -tx1 | tr -d ' \\n')" = 000575000000020006770000000364 || exit 1
        printf '\\0\\012w\\0\\0\\0\\003\\0\\0\\0\\003\\0'
        cat > /dev/null
        """
    }

    /// Greets, grants the root, says EACCES of `d`, then that of `d` something has changed (IN_ATTRIB, IN_ISDIR), and grants it.
    private static func forbiddenProgram(_ directory: String) -> String {
        """
        cat \(directory)/hello
        head -c 7 > /dev/null
        printf '\\0\\012w\\0\\0\\0\\001\\0\\0\\0\\001\\0'
        head -c 8 > /dev/null
        printf '\\0\\011f\\0\\0\\0\\002\\0\\0\\0\\015'
        printf '\\0\\016e\\0\\0\\0\\001\\100\\0\\0\\004\\0\\0\\0\\0d'
        head -c 8 > /dev/null
        printf '\\0\\012w\\0\\0\\0\\003\\0\\0\\0\\002\\0'
        cat > /dev/null
        """
    }
}

/// Which branch is selected, as the engine would say it.
private final class SelectedBranch: Sendable {
    private let branch: MutexBox<String>
    init(_ branch: String) { self.branch = MutexBox(branch) }
    func set(_ branch: String) { self.branch.set(branch) }

    func holds(_ directory: RelativePath?) -> Bool {
        guard let directory, let selected = RelativePath(branch.get()) else { return true }
        return directory == selected || directory.isBelow(selected) || selected.isBelow(directory)
    }
}

/// Whether this machine lets tests make a user namespace and limit the watches in it.
enum NamespaceProbe {
    static let canLimit: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = [
            "--user", "--map-root-user", "sh", "-c", "echo 3 > /proc/sys/user/max_inotify_watches",
        ]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()
}
