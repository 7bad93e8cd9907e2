import BlockExchange
import Foundation
import SyncTestKit
import Testing

@testable import IndexStore

/// An index that came out of a backup gives sequences a second time. So it goes on under another id, and others ask for all of it.
@Suite struct RestoredIndexTests {
    private let directory: TemporaryDirectory
    private let copy: String

    init() throws {
        directory = try TemporaryDirectory()
        copy = directory.path + "/copy"
    }

    private func indexID(closing isClosed: Bool = true) async throws -> IndexID {
        let store = try IndexStore.open(path: directory.index)
        try await store.addFolder(music, newIndexID: IndexID(rawValue: 0xA1))
        let id = try await store.localIndex(of: music).indexID
        if isClosed { try store.close() }
        return id
    }

    private func putBack() throws {
        try IndexStore.erase(path: directory.index)
        try FileManager.default.copyItem(atPath: copy, toPath: directory.index)
    }

    @Test func theFileSystemOfTheTestsKeepsBirths() throws {
        try Data().write(to: URL(fileURLWithPath: copy))
        #expect(FileBirth.of(copy) > 1_700_000_000_000_000_000)
        #expect(FileBirth.of(copy + " is not there") == 0)
    }

    @Test func anIndexThatWasPutBackHasAnotherID() async throws {
        #expect(try await indexID() == IndexID(rawValue: 0xA1))
        #expect(try await indexID() == IndexID(rawValue: 0xA1), "the same file")
        try FileManager.default.copyItem(atPath: directory.index, toPath: copy)
        #expect(try await indexID() == IndexID(rawValue: 0xA1), "what is copied stays")
        try putBack()
        let second = try await indexID()
        #expect(second != IndexID(rawValue: 0xA1) && second != .none)
        #expect(try await indexID() == second)
        // The same backup once more.
        try putBack()
        let third = try await indexID()
        #expect(third != second && third != IndexID(rawValue: 0xA1))
    }

    @Test func changesCountUnderAnotherNameSinceThen() async throws {
        func author() throws -> ShortID? {
            let store = try IndexStore.open(path: directory.index)
            defer { try? store.close() }
            return store.author
        }
        #expect(try author() == nil)
        #expect(try author() == nil, "the same file")
        try FileManager.default.copyItem(atPath: directory.index, toPath: copy)
        try putBack()
        let second = try author()
        #expect(second != nil)
        #expect(try author() == second)
        try putBack()
        let third = try author()
        #expect(third != nil && third != second)
    }

    @Test func anIndexOfBeforeIsTakenAsItIs() async throws {
        let store = try IndexStore.open(path: directory.index)
        try await store.addFolder(music, newIndexID: IndexID(rawValue: 0xA1))
        try await store.pool.write { try $0.execute(sql: "UPDATE state SET birth = 0") }
        try store.close()
        #expect(try await indexID() == IndexID(rawValue: 0xA1))
    }
}
