import Glibc
import SyncTestKit
import Synchronization
import Testing

@testable import FileAccess

/// What is asked of disks and of directories, and what follows for the paths on them.
struct DiskTraitsTests {
    private let directory: TemporaryTree

    init() throws { directory = try TemporaryTree() }

    @Test(
        arguments: [
            ("a", "A", true), ("é", "É", true), ("ς", "Σ", true), ("ß", "ss", false), ("a", "b", false),
            ("é", "e\u{301}", false),
        ] as [(String, String, Bool)])
    func disksFoldLettersOneByOne(_ left: String, _ right: String, _ isOne: Bool) {
        #expect(DiskTraits(foldsCase: true).areOne(left, right) == isOne)
        #expect(!DiskTraits().areOne(left, right))
    }

    @Test func composedAndDecomposedAreOneWhereTheDiskNormalizes() {
        #expect(DiskTraits(normalizesNames: true).areOne("é", "e\u{301}"))
        #expect(!DiskTraits(normalizesNames: true).areOne("é", "É"))
        #expect(DiskTraits(foldsCase: true, normalizesNames: true).areOne("É", "e\u{301}"))
    }

    @Test(arguments: [("a.", true), ("a ", true), ("a", false), (".a", false), ("a. b", false)] as [(String, Bool)])
    func dotsAtTheEndAreDropped(_ name: String, _ changes: Bool) {
        #expect(DiskTraits(dropsTrailingDots: true).changes(name) == changes)
        #expect(!DiskTraits().changes(name))
    }

    @Test(
        arguments: [
            ("aux", true), ("CON", true), ("nul.txt", true), ("Lpt9.tar.gz", true), ("com1", true), ("com0", false),
            ("com10", false), ("auxiliary", false), (".aux", false), ("", false),
        ] as [(String, Bool)])
    func namesOfDevicesAreChangedByShares(_ name: String, _ changes: Bool) {
        #expect(DiskTraits(manglesDeviceNames: true).changes(name) == changes)
        #expect(!DiskTraits().changes(name))
    }

    /// Also the names of directories above.
    @Test func aShareChangesNames() throws {
        try directory.write("", to: ".stfolder")
        let disk = PartlyFolding(below: directory.root.path, isOrdinary: false, isShare: true)
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        try root.learnDisk(marker: ".stfolder")
        #expect(root.traits.manglesDeviceNames)
        for (path, changes) in [("a/aux.txt", true), ("aux/a/b", true), ("a/b", false)] {
            #expect(root.changesName(of: try relative(path)) == changes)
        }
        #expect(try root.nearestTraits(of: relative("a")) == root.traits)
    }

    /// A share sets the time of a file again when the program that wrote to it closes it: so that is done before the time is set.
    @Test func timesAreSetOfWhatIsNotOpenForWriting() throws {
        try directory.write("", to: ".stfolder")
        let disk = PartlyFolding(below: directory.root.path, isOrdinary: false, isShare: true)
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        try root.learnDisk(marker: ".stfolder")
        try directory.write("theirs", to: "f")
        disk.modesAtTimes = []
        let time = FileTime(seconds: 1_000_000_000)
        let staged = try root.stage(relative("f"), resuming: false)
        try staged.write(Array("one".utf8), at: 0)
        let refusal = failure { _ = try staged.commit(replacing: .nothing, permissions: nil, modified: time) }
        #expect(refusal?.code == .exists)
        #expect(disk.modesAtTimes == [O_RDONLY])
        // It goes on.
        try staged.write(Array("two".utf8), at: 3)
        let status = try staged.commit(replacing: .anything, permissions: nil, modified: time)
        #expect(disk.modesAtTimes == [O_RDONLY, O_RDONLY])
        #expect(directory.text("f") == "onetwo")
        #expect(try status == root.status(of: relative("f")) && status.modified == time)
    }

    /// Linux's drivers say that what is renamed to itself in other letters was renamed, and leave it.
    @Test(arguments: [false, true]) func aRenameThatChangesTheCaseOnly(_ leavesLetters: Bool) throws {
        try directory.write("", to: ".stfolder")
        try directory.makeDirectory("p")
        try directory.makeDirectory("p/d")
        try directory.write("one", to: "p/a.txt")
        try directory.write("two", to: "p/d/x")
        let disk = PartlyFolding(below: directory.root.path + "/p")
        disk.leavesLetters = leavesLetters
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        try root.learnDisk(marker: ".stfolder")
        _ = try root.directory(relative("p"))
        try root.rename(
            relative("p/a.txt"), to: relative("p/A.TXT"), expecting: try root.status(of: relative("p/a.txt")))
        try root.rename(relative("p/d"), to: relative("p/D"))
        #expect(directory.names("p") == ["A.TXT", "D"])
        #expect(directory.text("p/A.TXT") == "one")
        #expect(directory.text("p/D/x") == "two")
        // What is in the way of the name between stays, and so does the file.
        try directory.write("mine", to: "p/a.txt (renaming)")
        let refused = failure { try root.rename(relative("p/A.TXT"), to: relative("p/a.txt")) }
        #expect((refused?.code == .exists) == leavesLetters)
        #expect(directory.text(leavesLetters ? "p/A.TXT" : "p/a.txt") == "one")
        #expect(directory.text("p/a.txt (renaming)") == "mine")
    }

    @Test func theNameBetweenHasRoom() {
        for name in [String(repeating: "n", count: 255), String(repeating: "é", count: 127), "a"] {
            #expect(Directory.nameBetween(name).utf8.count <= 255)
        }
    }

    /// As `chattr +F` makes one: what is in it folds, what is beside it does not.
    @Test func aDirectoryThatFoldsByItself() throws {
        try directory.write("", to: ".stfolder")
        try directory.write("one", to: "a")
        try directory.makeDirectory("p")
        try directory.makeDirectory("p/q")
        try directory.write("two", to: "p/q/a")
        let disk = PartlyFolding(below: directory.root.path + "/p")
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        try root.learnDisk(marker: ".stfolder")
        #expect(root.otherDisks.isEmpty)
        #expect(try root.twin(of: relative("p/q/A")) == relative("p/q/a"))
        #expect(try root.twin(of: relative("p/Q/a")) == relative("p/q"))
        #expect(try root.twin(of: relative("p/q/a")) == nil)
        #expect(try root.twin(of: relative("A")) == nil)
        let folding = DiskTraits(foldsCase: true, normalizesNames: true)
        #expect(root.otherDisks == ["p": folding] || root.otherDisks == ["p/q": folding, "p": folding])
        #expect(root.traits(at: "p/q/x") == folding)
        #expect(root.traits(at: "pq") == DiskTraits())
        #expect(try root.nearestTraits(of: relative("p/new/x")) == folding)
        // Of what is put together for two names that are one, the second is refused; beside it, it is not.
        let first = try root.stage(relative("p/b"))
        #expect(failure { _ = try root.stage(relative("p/B")) }?.code == .busy)
        let others = [try root.stage(relative("b")), try root.stage(relative("B"))]
        for staged in others + [first] { try staged.discard() }
        #expect(!(try root.remove(relative("p/q/A"), expecting: nil)))
        #expect(directory.text("p/q/a") == "two")
    }

    /// To the disk `d/a` and `D/a` are one, with one number, size and time: what goes to an archive must be called as it is asked for.
    @Test func whatIsCalledOtherwiseGoesToNoArchive() throws {
        try directory.write("", to: ".stfolder")
        try directory.makeDirectory("p")
        try directory.makeDirectory("p/D")
        try directory.write("one", to: "p/D/a")
        let disk = PartlyFolding(below: directory.root.path + "/p")
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        try root.learnDisk(marker: ".stfolder")
        let status = try #require(try root.status(of: relative("p/D/a")))
        let source = try relative("p/d/a")
        #expect(
            failure { try root.move(source, into: root, as: relative("kept"), expecting: status) }?.code
                == .changedOnDisk)
        #expect(failure { try root.preserve(source, as: relative("kept"), expecting: status) }?.code == .changedOnDisk)
        #expect(directory.text("p/D/a") == "one")
        #expect(directory.names() == [".stfolder", "p"])
        try root.move(relative("p/D/a"), into: root, as: relative("kept"), expecting: status)
        #expect(directory.text("kept") == "one")
    }

    /// Names, permissions and times of a disk that is not known are found out by a file, which goes again.
    @Test func aDiskIsAskedByAFile() throws {
        try directory.write("", to: ".stfolder")
        let disk = PartlyFolding(below: directory.root.path, isOrdinary: false)
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        disk.refusal = EROFS
        try root.learnDisk(marker: ".stfolder")
        #expect(
            root.traits
                == DiskTraits(
                    foldsCase: true, normalizesNames: true, dropsTrailingDots: true, hasCoarseTimes: true, isGuess: true
                ))
        disk.refusal = EIO
        #expect(failure { try root.learnDisk(marker: ".stfolder") }?.code == .io)
        disk.refusal = nil
        try root.learnDisk(marker: ".stfolder")
        #expect(root.traits == DiskTraits(foldsCase: true, normalizesNames: true))
        #expect(directory.names() == [".stfolder"])
    }

    @Test(arguments: [EINVAL, EILSEQ]) func aNameThatTheDiskRefuses(_ number: CInt) {
        for operation in [FileAccessError.Operation.create, .createDirectory, .createSymlink] {
            #expect(FileAccessError.code(of: number, in: operation) == .nameRefused)
        }
        #expect(FileAccessError.code(of: number, in: .open) != .nameRefused)
    }
}

extension DiskTraitsTests {
    /// `mount.exfat-fuse` says so of `a:b`. Where the directory is gone, that is what it says.
    @Test func aNameIsRefusedAsIfNothingWereThere() throws {
        try directory.write("", to: ".stfolder")
        try directory.makeDirectory("d")
        let disk = PartlyFolding(below: directory.root.path, isOrdinary: false)
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        try root.learnDisk(marker: ".stfolder")
        disk.refusal = ENOENT
        #expect(failure { _ = try root.stage(relative("d/a:b"), resuming: false) }?.code == .nameRefused)
        #expect(failure { _ = try root.createDirectories(relative("d/a:b")) }?.code == .nameRefused)
        let held = try root.directory(relative("d"))
        disk.refusal = nil
        try root.removeDirectory(relative("d"))
        #expect(held.descriptor.obstacle(SystemError(number: ENOENT), foldsNames: true).number == ENOENT)
        #expect(root.descriptor.obstacle(SystemError(number: ENOENT), foldsNames: false).number == ENOENT)
    }

    /// A share of Samba says so of a name that its character set makes too long.
    @Test(arguments: [Replacement.nothing, .anything])
    func aNewNameIsRefusedAsIfNothingWereThere(_ replacement: Replacement) throws {
        try directory.write("one", to: "a")
        let disk = PartlyFolding(below: directory.root.path + "/p")
        let root = try RootDirectory(path: directory.root.path, interposer: disk)
        disk.refusalOfRenames = ENOENT
        let source = try relative("a")
        #expect(
            failure { try root.rename(source, to: relative("b"), replacing: replacement) }?.code == .nameRefused)
        #expect(directory.text("a") == "one")
        let top = try root.directory(nil)
        #expect(failure { try top.move("gone", to: "b", in: top, replacing: replacement) }?.code == .notFound)
    }
}

/// A disk that folds names in one directory and below.
private final class PartlyFolding: DiskInterposer {
    private let folded: String
    private let isOrdinary: Bool
    private let isShare: Bool
    private let names = FoldedNames()
    private let refused = Mutex<CInt?>(nil)
    private let refusedRenames = Mutex<CInt?>(nil)
    private let leaves = Mutex(false)
    private let modes = Mutex<[CInt]>([])

    init(below folded: String, isOrdinary: Bool = true, isShare: Bool = false) {
        self.folded = folded
        self.isOrdinary = isOrdinary
        self.isShare = isShare
    }

    /// Whether a rename that changes the case only does nothing and is said to have succeeded.
    var leavesLetters: Bool {
        get { leaves.withLock { $0 } }
        set { leaves.withLock { $0 = newValue } }
    }

    /// How files were open when their times were set.
    var modesAtTimes: [CInt] {
        get { modes.withLock { $0 } }
        set { modes.withLock { $0 = newValue } }
    }

    /// What names are not changed for.
    var refusalOfRenames: CInt? {
        get { refusedRenames.withLock { $0 } }
        set { refusedRenames.withLock { $0 = newValue } }
    }

    /// What files are not made for.
    var refusal: CInt? {
        get { refused.withLock { $0 } }
        set { refused.withLock { $0 = newValue } }
    }

    func verdict(on change: DiskChange) -> DiskVerdict {
        if case .rename = change, let refusalOfRenames { return .fail(refusalOfRenames) }
        if case .setTimes(let file) = change { modes.withLock { $0.append(fcntl(file, F_GETFL) & O_ACCMODE) } }
        return switch change {
        case .create, .makeDirectory: if let refusal { .fail(refusal) } else { .proceed }
        case .rename(_, let name, _, let toName, .replacing):
            leavesLetters && names.areOne(name, toName) ? .pretend : .proceed
        default: .proceed
        }
    }

    func kind(of directory: CInt) -> DirectoryKind? {
        DirectoryKind(
            isOrdinary: isOrdinary, foldsCase: isOrdinary && folds(path(of: directory)), isShare: isShare)
    }

    func spelling(of path: String, in directory: CInt) -> String {
        var here = self.path(of: directory)
        var components: [String] = []
        for component in path.split(separator: "/", omittingEmptySubsequences: false) {
            let name = folds(here) ? names.spelling(of: String(component), in: here) : String(component)
            components.append(name)
            here += "/" + name
        }
        return components.joined(separator: "/")
    }

    private func folds(_ path: String) -> Bool { path == folded || path.hasPrefix(folded + "/") }

    private func path(of descriptor: CInt) -> String {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
        return String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
