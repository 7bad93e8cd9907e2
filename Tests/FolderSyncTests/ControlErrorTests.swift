import ControlAPI
import FileAccess
import IndexStore
import Testing

@testable import FolderScanner
@testable import FolderSync

@Suite struct ControlErrorTests {
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
