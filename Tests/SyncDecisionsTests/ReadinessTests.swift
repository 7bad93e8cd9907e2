import ControlAPI
import Testing

@testable import SyncDecisions

/// Whether folders are ready to go offline.
@Suite struct ReadinessTests {
    private static func folder(
        _ id: String = "f", selected: Int64 = 100, present: Int64 = 0, stored: Int64 = 0, free: UInt64 = 1000,
        disk: UInt64 = 1, rate: Int64? = nil, isPaused: Bool = false, isUncertain: Bool = false,
        waits: [FolderWait] = []
    ) -> Readiness.Folder {
        var folder = Readiness.Folder(
            id: id, label: "", selected: .init(files: selected, directories: 1, bytes: selected),
            present: .init(files: present, directories: 1, bytes: present))
        folder.storedBytes = stored
        folder.space = (disk, free)
        folder.bytesPerSecond = rate
        folder.isPaused = isPaused
        folder.isUncertain = isUncertain
        folder.waits = waits
        return folder
    }

    private static func answer(_ folder: Readiness.Folder) -> ReadyAnswer.Folder? {
        Readiness.answer([folder]).folders.first
    }

    @Test func allThatIsSelectedIsHere() throws {
        let ready = try #require(Self.answer(Self.folder(present: 100, free: 0)))
        #expect(ready.isReady && ready.etaSeconds == 0 && ready.short == 0)
        #expect(ready.missing == .init(files: 0, bytes: 0) && ready.presentBytes == 100)
        #expect(ready.isReady(inSeconds: 0) == true)
        // Nothing is selected: nothing is missing.
        #expect(try #require(Self.answer(Self.folder(selected: 0))).isReady)
    }

    @Test func theRestTakesAsLongAsTheRateSays() throws {
        let under = try #require(Self.answer(Self.folder(present: 20, stored: 9, rate: 10)))
        #expect(!under.isReady && under.presentBytes == 29 && under.missing == .init(files: 80, bytes: 71))
        #expect(under.etaSeconds == 8)
        #expect(under.isReady(inSeconds: 8) == true && under.isReady(inSeconds: 7) == false)
        let still = try #require(Self.answer(Self.folder(present: 20)))
        #expect(still.etaSeconds == nil && still.isReady(inSeconds: .max) == nil)
    }

    @Test(arguments: [Int64(0), 20, 100]) func whatIsMissingSinceWhenIsSaidOfWhatWasComplete(present: Int64) throws {
        var folder = Self.folder(present: present)
        folder.completeUntil = "2026-11-21T14:03:05Z"
        folder.missingNames = ["a", "b"]
        let answer = try #require(Self.answer(folder))
        #expect(answer.completeUntil == (present == 20 ? "2026-11-21T14:03:05Z" : nil), "of what had something")
        #expect(answer.missingNames == (present == 100 ? [] : ["a", "b"]))
    }

    @Test func whatDoesNotFitIsNeverReady() throws {
        let full = try #require(Self.answer(Self.folder(present: 20, free: 33, rate: 10)))
        #expect(full.short == 47 && full.etaSeconds == nil && full.isReady(inSeconds: .max) == false)
        let paused = try #require(Self.answer(Self.folder(rate: 10, isPaused: true)))
        #expect(paused.etaSeconds == nil && paused.isReady(inSeconds: .max) == false)
        #expect(full.bytesPerSecond == 10 && paused.bytesPerSecond == nil)
    }

    @Test func whatWaitsForADeviceDoesNotComeAtTheRateOfBefore() throws {
        for (reason, seconds) in [(FolderWait.Reason.holder, nil), (.policy, nil), (.unsharedThere, 8)] as [(_, Int64?)]
        {
            let wait = FolderWait(reason: reason, message: "nas is not connected", remedy: "switch it on")
            let folder = try #require(Self.answer(Self.folder(present: 20, rate: 10, waits: [wait])))
            #expect(folder.etaSeconds == seconds && folder.waits == [wait])
            #expect(folder.isReady(inSeconds: 9) == (seconds == nil ? nil : true))
        }
    }

    @Test func foldersOfADiskShareItsSpace() {
        let answer = Readiness.answer([
            Self.folder("a", free: 150), Self.folder("b", free: 150), Self.folder("c", free: 150),
            Self.folder("d", free: 150, disk: 2), Self.folder("e", present: 100, free: 0),
        ])
        #expect(answer.folders.map(\.short) == [0, 50, 100, 0, 0])
        #expect(!answer.isReady)
    }

    @Test func whatIsNotKnownIsNotReady() throws {
        let wait = FolderWait(reason: .index, message: "nas has not sent its index yet", remedy: "switch it on")
        let unknown = try #require(Self.answer(Self.folder(present: 100, isUncertain: true, waits: [wait])))
        #expect(!unknown.isReady && unknown.etaSeconds == nil && unknown.waits == [wait])
        #expect(unknown.isReady(inSeconds: 9) == nil)
        #expect(try #require(Self.answer(Self.folder(present: 100, waits: [wait]))).waits == [])
    }

    @Test func theDocumentIsTheOneThatScriptsRelyOn() throws {
        let json = String(
            decoding: try ControlJSON.encode(Readiness.answer([Self.folder(present: 20, free: 33)])), as: UTF8.self)
        #expect(
            json == """
                {"folders":[{"etaSeconds":null,"id":"f","label":"","missing":{"bytes":80,"files":80},"missingNames":[],"paused":false,\
                "presentBytes":20,"presentFiles":20,"ready":false,"selectedBytes":100,"selectedFiles":100,"short":47,\
                "waits":[]}],"schema":1}
                """)
    }

    @Test func hugeNumbersFromOutsideDoNotTrap() {
        for selected in [Int64.min, -1, 0, .max] {
            for present in [Int64.min, -1, 0, .max] {
                _ = Readiness.answer([
                    Self.folder(selected: selected, present: present, stored: .max, free: .max, rate: 1),
                    Self.folder(selected: selected, present: present, free: 0, rate: .max),
                ])
            }
        }
    }
}
