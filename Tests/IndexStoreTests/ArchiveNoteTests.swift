import BlockExchange
import GRDB
import Testing

@testable import IndexStore

@Suite struct ArchiveNoteTests {
    @Test func itOutlivesARestartAndGoesWithItsFolder() async throws {
        let index = try await TestIndex()
        #expect(try await index.store.archive(of: music) == nil)
        try await index.store.setArchive("/a", of: music)
        try await index.store.setArchive("/b", of: music)
        try index.store.close()
        let reopened = try IndexStore.open(path: index.directory.index)
        #expect(try await reopened.archive(of: music) == .made("/b"))
        try await reopened.removeFolder(music)
        try await reopened.addFolder(music, newIndexID: IndexID(rawValue: 7))
        #expect(try await reopened.archive(of: music) == nil)
    }

    @Test func foldersFromBeforeMayHaveAnArchive() async throws {
        let index = try await TestIndex()
        try await index.store.write { database in
            try database.execute(
                sql: "DROP TABLE archive; DELETE FROM grdb_migrations WHERE identifier = 'v17-archives'")
        }
        try index.store.close()
        let reopened = try IndexStore.open(path: index.directory.index)
        #expect(try await reopened.archive(of: music) == .unknown)
        try await reopened.setArchive(nil, of: music)
        #expect(try await reopened.archive(of: music) == nil)
    }
}
