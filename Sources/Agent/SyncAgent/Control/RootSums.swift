import FolderSync
import IndexStore

/// What of a folder's own content is selected, and what of that is present: without what it holds for synctrain itself.
struct RootSums {
    var selected: Aggregate
    var present: Aggregate

    init(of folder: Folder, in index: IndexStore) async throws {
        let root = try await index.global(folder.id, "")
        // Without its root, a folder has no selection; `status` reports why.
        let selection = try? folder.boards.places.current.get().selection
        let hidden = try await InternalContent.sums(in: folder.id, index, selection)
        selected = root?.selected ?? .zero
        present = root?.present ?? .zero
        selected -= hidden.selected
        present -= hidden.present
    }
}
