import AgentConfiguration
import BlockExchange
import ControlAPI
import Fetching
import FileAccess
import IndexStore
import Testing

@testable import FolderScanner
@testable import FolderSync

@Suite struct ControlErrorTests {
    /// Sizes are for people, in the units that are used everywhere.
    @Test func sizesAreForPeople() {
        let full = ControlError(
            FetchError.noSpace(path: "big.bin", needed: 5_000_000, free: 1 << 20, floor: 0, reserved: 0), path: nil)
        #expect(
            full.message == "big.bin needs 4.8 MiB more and its disk has 1.0 MiB free; free some space and fetch again")
        let floor = ControlError(
            FetchError.noSpace(path: "big.bin", needed: 5_000_000, free: 3 << 30, floor: 1 << 30, reserved: 0),
            path: nil)
        #expect(
            floor.message
                == "big.bin needs 4.8 MiB more and its disk has 3.0 GiB free and must keep 1.0 GiB; "
                + "free some space and fetch again")
        let taken = ControlError(
            FetchError.noSpace(path: "big.bin", needed: 5_000_000, free: 3 << 30, floor: 1 << 30, reserved: 2 << 30),
            path: nil)
        #expect(
            taken.message
                == "big.bin needs 4.8 MiB more and its disk has 3.0 GiB free, needs 2.0 GiB for files that are arriving "
                + "and must keep 1.0 GiB; free some space and fetch again")
        let folder = FolderConfiguration(id: FolderID("f"), path: "/f")
        let replaced = ControlError(
            FolderError.wouldReplace("a", size: 12_345_678, archived: "then", isArchiving: true), folder: folder)
        #expect(replaced.message.contains("with 12 MiB;"))
        #expect(
            replaced.message.hasSuffix(
                "the version archived on then replaces it, and the current one is archived. Go on?"))
    }

    /// On a full disk `.stignore` cannot be written, and what a person deletes by hand instead may go everywhere.
    @Test func aSelectionThatCannotBeWrittenNamesWhatHelps() {
        let folder = FolderConfiguration(id: FolderID("my f"), path: "/f")
        let error = ControlError(FolderError.noSpace(".stignore"), folder: folder)
        #expect(error.code == .noSpace && error.message.contains("`synctrain extraneous list 'my f'`"))
        #expect(error.message.hasSuffix("Selected files that you delete yourself are deleted on all devices."))
    }

    /// A folder that was removed while somebody asked for it is not there; nothing is wrong with the index.
    @Test func aFolderThatIsGoneIsNoDamagedIndex() {
        #expect(ControlError(describing: IndexStoreError(.noSuchFolder, path: "/i", folder: nil)).code == .noSuchFolder)
        #expect(ControlError(describing: IndexStoreError(.corrupt, path: "/i")).code == .indexUnusable)
        let busy = ControlError(describing: IndexStoreError(.busy, path: "/i"))
        #expect(busy.code == .indexUnusable && busy.isRetryable)
    }

    /// A root that has gone while its files are listed is the folder's halt, though the folder has not noticed yet.
    @Test func aRootThatHasGoneHaltsTheFolder() {
        let gone = ControlError(describing: ScanError(.rootNotInPlace, path: "/f"), path: "f:")
        #expect(gone.code == .folderHalted && gone.path == "f:" && gone.message.contains("put it back"))
        #expect(ControlError(describing: ScanError(.rootUnreadable, path: "/f")).code == .folderHalted)
        let threads = ControlError(describing: ScanError(.noThread, path: "/f"))
        #expect(threads.code == .failed && threads.isRetryable)
    }
}
