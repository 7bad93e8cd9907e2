import ControlAPI
import IndexStore
import Testing

@Suite struct ControlErrorTests {
    /// A folder that was removed while somebody asked for it is not there; nothing is wrong with the index.
    @Test func aFolderThatIsGoneIsNoDamagedIndex() {
        #expect(ControlError(describing: IndexStoreError(.noSuchFolder, path: "/i", folder: nil)).code == .noSuchFolder)
        #expect(ControlError(describing: IndexStoreError(.corrupt, path: "/i")).code == .indexUnusable)
        let busy = ControlError(describing: IndexStoreError(.busy, path: "/i"))
        #expect(busy.code == .indexUnusable && busy.isRetryable)
    }
}
