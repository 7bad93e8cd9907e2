import AgentConfiguration
import BlockExchange
import ControlAPI
import Cryptography
import FileAccess
import IndexStore
import Logging
import NIOPosix
import SessionTestKit
import SyncTestKit
import Synchronization
import Testing

@testable import AgentContext
@testable import FolderSync
@testable import SyncAgent

/// Uploads to a folder on a real disk: what is there in the end, and what is not.
struct UploadTests {
    private static let id = FolderID("docs")
    private static let big = (0..<(2 << 20) + 77).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    private final class Setting: Sendable {
        let tree: TemporaryTree
        let home: TemporaryDirectory
        let index: IndexStore
        let folder: FolderSync.Folder
        let now = Mutex<Int64>(1_000_000)

        init(_ patterns: String?, changing: (inout FolderConfiguration) -> Void = { _ in }) async throws {
            tree = try TemporaryTree()
            home = try TemporaryDirectory()
            try tree.makeDirectory(".stfolder")
            try tree.write("here\n", to: "there.txt")
            if let patterns { try tree.write(patterns, to: ".stignore") }
            index = try IndexStore.open(path: home.path + "/index.sqlite")
            try await index.addFolder(id, newIndexID: IndexID(rawValue: 1))
            var configuration = FolderConfiguration(
                id: id, path: tree.root.path, mode: patterns == nil ? .full : .selective, minimumFree: .byteCount(0))
            changing(&configuration)
            folder = FolderSync.Folder(idle: configuration, of: DeviceID(certificateDER: [9]), index: index)
            _ = try await folder.runner.perform(ScanStep(isRequested: true))
        }

        /// As it is when the agent is started again.
        func registry() -> UploadRegistry {
            var time = AgentTime.system
            time.wall = { [self] in WallTime(seconds: now.withLock { $0 }) }
            return UploadRegistry(
                file: UploadFile(path: home.path + "/uploads.json"), find: { [folder] in $0 == id ? folder : nil },
                threads: NIOThreadPool.singleton, time: time,
                logger: Logger(label: "uploads", factory: { _ in SwiftLogNoOpLogHandler() }))
        }

        func announced(_ name: String) async throws -> FileInfo? { try await index.file(id, name) }
    }

    private static func request(
        _ path: String, _ size: Int, _ existing: UploadClash = .refuse, session: String? = "s"
    ) -> UploadRequest {
        UploadRequest(
            path: PathReference(text: "docs:" + path, workingDirectory: "/"), size: Int64(size),
            modified: 1_700_000_000_500, existing: existing, session: session)
    }

    private func bytes(at setting: Setting, _ path: String) throws -> [UInt8] {
        try AtomicFile.read(path: setting.tree.path(path), byteCountLimit: 8 << 20)
    }

    private static func digest(_ bytes: [UInt8]) -> SHA256Digest {
        SHA256.digest(
            stride(from: 0, to: bytes.count, by: 1 << 20).flatMap {
                SHA256.digest(Array(bytes[$0..<min($0 + 1 << 20, bytes.count)])).bytes
            })
    }

    private static func send(_ bytes: [UInt8], to upload: Upload, _ registry: UploadRegistry) async throws -> Upload {
        var upload = upload
        while upload.offset < bytes.count {
            let start = Int(upload.offset)
            upload = try await registry.add(
                UploadPart(
                    upload: upload.id, offset: upload.offset,
                    bytes: Array(bytes[start..<min(start + 700_000, bytes.count)]), session: "s"))
        }
        return upload
    }

    private static func code(_ body: () async throws -> Void) async -> ControlError.Code? {
        do {
            try await body()
            return nil
        } catch let error as FolderError {
            return ControlError(error, folder: FolderConfiguration(id: id, path: "/")).code
        } catch {
            return ControlError(describing: error).code
        }
    }

    @Test func aFileArrivesWholeWithItsTimeAndIsAnnounced() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        let begun = try await registry.begin(
            Self.request("new/big.bin", Self.big.count), in: setting.folder, at: "new/big.bin")
        #expect(begun.offset == 0 && begun.added.isEmpty)
        _ = try await Self.send(Self.big, to: begun, registry)
        #expect(setting.tree.names("new").allSatisfy { $0.hasPrefix(".syncthing.") })
        let placed = try await registry.end(
            UploadEnd(upload: begun.id, digest: "", session: "s"), Self.digest(Self.big))
        #expect(placed.path == "new/big.bin" && placed.added.isEmpty)
        #expect(try bytes(at: setting, "new/big.bin") == Self.big)
        #expect(setting.tree.names("new") == ["big.bin"])
        let file = try #require(try await setting.announced("new/big.bin"))
        #expect(file.size == Int64(Self.big.count) && !file.isDeleted)
        #expect(file.modifiedSeconds == 1_700_000_000 && file.modifiedNanoseconds == 500_000_000)
        #expect(registry.list(nil, of: "s").isEmpty)
        #expect(
            await Self.code {
                _ = try await registry.add(UploadPart(upload: begun.id, offset: 0, bytes: [1], session: "s"))
            } == .notFound)
    }

    @Test func anEmptyFileHasNoParts() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        let begun = try await registry.begin(Self.request("empty", 0), in: setting.folder, at: "empty")
        _ = try await registry.end(UploadEnd(upload: begun.id, digest: "", session: "s"), Self.digest([]))
        #expect(try bytes(at: setting, "empty") == [])
    }

    @Test func afterARestartItGoesOnWhereItWas() async throws {
        let setting = try await Setting(nil)
        var begun = try await setting.registry().begin(
            Self.request("big.bin", Self.big.count), in: setting.folder, at: "big.bin")
        begun = try await setting.registry().add(
            UploadPart(upload: begun.id, offset: 0, bytes: Array(Self.big.prefix(1000)), session: "s"))
        #expect(begun.offset == 1000)
        let registry = setting.registry()
        #expect(registry.list(nil, of: "s").map(\.wanted) == ["big.bin"] && registry.list(nil, of: "t").isEmpty)
        let again = try await registry.begin(Self.request("big.bin", Self.big.count), in: setting.folder, at: "big.bin")
        #expect(again.id == begun.id && again.offset == 1000)
        // What was sent and not heard of is not taken twice.
        #expect(
            await Self.code {
                _ = try await registry.add(UploadPart(upload: again.id, offset: 0, bytes: [1], session: "s"))
            } == .rangeNotSatisfiable)
        _ = try await Self.send(Self.big, to: again, registry)
        _ = try await registry.end(UploadEnd(upload: again.id, digest: "", session: "s"), Self.digest(Self.big))
        #expect(try bytes(at: setting, "big.bin") == Self.big)
    }

    @Test func nobodyElseCanSeeOrChangeIt() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        let begun = try await registry.begin(Self.request("a", 3), in: setting.folder, at: "a")
        for session in ["t", nil] {
            let part = UploadPart(upload: begun.id, offset: 0, bytes: [1], session: session)
            #expect(await Self.code { _ = try await registry.add(part) } == .notFound)
            #expect(
                await Self.code { try await registry.cancel(UploadCancel(upload: begun.id, session: session)) }
                    == .notFound)
        }
        #expect(registry.list(nil, of: "s").map(\.offset) == [0])
    }

    @Test func otherBytesThanThoseAnnouncedAreNotPlaced() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        let begun = try await registry.begin(Self.request("a", 3), in: setting.folder, at: "a")
        let tooMany = UploadPart(upload: begun.id, offset: 0, bytes: [1, 2, 3, 4], session: "s")
        #expect(await Self.code { _ = try await registry.add(tooMany) } == .tooLarge)
        _ = try await registry.add(UploadPart(upload: begun.id, offset: 0, bytes: [1, 2], session: "s"))
        let end = UploadEnd(upload: begun.id, digest: "", session: "s")
        #expect(await Self.code { _ = try await registry.end(end, Self.digest([1, 2, 3])) } == .rangeNotSatisfiable)
        _ = try await registry.add(UploadPart(upload: begun.id, offset: 2, bytes: [4], session: "s"))
        #expect(await Self.code { _ = try await registry.end(end, Self.digest([1, 2, 3])) } == .digestDiffers)
        #expect(setting.tree.names() == [".stfolder", "there.txt"] && registry.list(nil, of: "s").isEmpty)
    }

    @Test func aNameThatIsTakenIsRefusedOrGetsANumber() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        for path in ["there.txt", "there.txt/below"] {
            #expect(
                await Self.code { _ = try await registry.begin(Self.request(path, 1), in: setting.folder, at: path) }
                    == .alreadyExists)
        }
        let begun = try await registry.begin(Self.request("there.txt", 1, .rename), in: setting.folder, at: "there.txt")
        #expect(begun.path == "there (2).txt" && begun.wanted == "there.txt")
        _ = try await registry.add(UploadPart(upload: begun.id, offset: 0, bytes: [7], session: "s"))
        // It is taken while the bytes come.
        try setting.tree.write("mine", to: "there (2).txt")
        let placed = try await registry.end(UploadEnd(upload: begun.id, digest: "", session: "s"), Self.digest([7]))
        #expect(placed.path == "there (3).txt")
        #expect(try bytes(at: setting, "there (3).txt") == [7])
        #expect(setting.tree.text("there (2).txt") == "mine" && setting.tree.text("there.txt") == "here\n")
    }

    @Test func aNameThatCameMeanwhileIsNotOverwritten() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        let begun = try await registry.begin(Self.request("a.txt", 1), in: setting.folder, at: "a.txt")
        _ = try await registry.add(UploadPart(upload: begun.id, offset: 0, bytes: [7], session: "s"))
        try setting.tree.write("mine", to: "a.txt")
        let end = UploadEnd(upload: begun.id, digest: "", session: "s")
        #expect(await Self.code { _ = try await registry.end(end, Self.digest([7])) } == .alreadyExists)
        #expect(setting.tree.text("a.txt") == "mine")
        let renamed = UploadEnd(upload: begun.id, digest: "", existing: .rename, session: "s")
        #expect(try await registry.end(renamed, Self.digest([7])).path == "a (2).txt")
    }

    @Test(arguments: [
        ".stignore", ".stfolder/x", ".STFOLDER/x", ".stversions/a", ".syncthing.a.tmp", "d/~syncthing~a.tmp",
        ".synctrain/notes", "e\u{301}", "", "a\u{0}b",
    ])
    func namesThatAreNotForFilesAreRefused(_ path: String) async throws {
        let setting = try await Setting(nil)
        let code = await Self.code {
            _ = try await setting.registry().begin(Self.request("x", 1), in: setting.folder, at: path)
        }
        #expect(code == .invalidRequest)
        #expect(setting.tree.names() == [".stfolder", "there.txt"])
    }

    @Test func whatIsNotSelectedGetsALineOfItsOwn() async throws {
        let setting = try await Setting("!/there.txt\n*\n")
        let registry = setting.registry()
        let begun = try await registry.begin(Self.request("d/a.txt", 1), in: setting.folder, at: "d/a.txt")
        #expect(begun.added == ["!/d/a.txt"])
        #expect(setting.tree.text(".stignore") == "!/there.txt\n*\n")
        _ = try await registry.add(UploadPart(upload: begun.id, offset: 0, bytes: [7], session: "s"))
        let placed = try await registry.end(UploadEnd(upload: begun.id, digest: "", session: "s"), Self.digest([7]))
        #expect(placed.added == ["!/d/a.txt"])
        #expect(setting.tree.text(".stignore")?.contains("!/d/a.txt\n") == true)
        #expect(try await setting.announced("d/a.txt")?.size == 1)
    }

    @Test func aFolderThatSendsNothingOrIsPausedTakesNothing() async throws {
        for (changing, expected): (@Sendable (inout FolderConfiguration) -> Void, ControlError.Code) in [
            ({ $0.kind = .receiveOnly }, .noPermission), ({ $0.isPaused = true }, .folderHalted),
        ] {
            let setting = try await Setting(nil, changing: changing)
            let registry = setting.registry()
            #expect(
                await Self.code { _ = try await registry.begin(Self.request("a", 1), in: setting.folder, at: "a") }
                    == expected)
        }
        let setting = try await Setting(nil)
        let peer = DeviceID(certificateDER: [5])
        var configuration = setting.folder.configuration
        configuration.devices = [peer]
        setting.folder.configure(configuration)
        _ = setting.folder.boards.peers.note(peer, refusesChanges: true)
        #expect(
            await Self.code {
                _ = try await setting.registry().begin(Self.request("a", 1), in: setting.folder, at: "a")
            }
                == .noPermission)
    }

    @Test func whatDoesNotFitIsSaidBeforeAnythingIsSent() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        #expect(
            await Self.code { _ = try await registry.begin(Self.request("a", .max), in: setting.folder, at: "a") }
                == .noSpace)
        #expect(setting.tree.names() == [".stfolder", "there.txt"])
        // The floor that pulls leave is left here as well.
        let full = try await Setting(nil) { $0.minimumFree = .basisPoints(10_000) }
        #expect(
            await Self.code { _ = try await full.registry().begin(Self.request("a", 1), in: full.folder, at: "a") }
                == .noSpace)
    }

    @Test func cancelledAndExpiredOnesLeaveNothing() async throws {
        let setting = try await Setting(nil)
        let registry = setting.registry()
        for name in ["a", "b"] {
            let begun = try await registry.begin(Self.request(name, 9), in: setting.folder, at: name)
            _ = try await registry.add(UploadPart(upload: begun.id, offset: 0, bytes: [1, 2], session: "s"))
            if name == "a" { try await registry.cancel(UploadCancel(upload: begun.id, session: "s")) }
        }
        #expect(setting.tree.names().count == 3)
        setting.now.withLock { $0 += 86_400 }
        // Whoever begins one finds them; so does the hour.
        _ = await Self.code {
            _ = try await setting.registry().begin(Self.request(".stignore", 1), in: setting.folder, at: ".stignore")
        }
        #expect(setting.tree.names() == [".stfolder", "there.txt"])
        #expect(setting.registry().list(nil, of: "s").isEmpty)
    }
}
