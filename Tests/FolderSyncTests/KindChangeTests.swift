import BlockExchange
import SyncTestKit
import Testing

@testable import FolderSync

/// A folder that only received, and sends from now on.
@Suite struct KindChangeTests {
    /// What is on the disk as it was announced.
    private static func adopt(_ name: String, in scene: StepScene) throws {
        try scene.write([(name, "same")])
    }

    @Test(arguments: [true, false]) func whatWasChangedIsAnnounced(isRestarted: Bool) async throws {
        let scene = try await StepScene { $0.kind = .receiveOnly }
        for name in ["edited", "deleted", "same"] { try Self.adopt(name, in: scene) }
        try await scene.announce([("edited", "same"), ("deleted", "same"), ("same", "same")], counter: 1)
        try await scene.scan()
        let theirs = VersionVector([.init(id: StepScene.nas.shortID, value: 1)])
        try scene.tree.write("mine", to: "edited")
        try scene.tree.write("new", to: "new")
        try scene.tree.remove("deleted")
        try await scene.scan()
        for name in ["edited", "deleted", "new"] { #expect(try await scene.own(name)?.isInvalid == true) }

        _ = scene.takeNextScan()
        scene.configure { $0.kind = .sendReceive }
        guard case .at(nil) = scene.takeNextScan() else {
            Issue.record("not all is scanned")
            return
        }
        if isRestarted { scene.forget() }
        try await scene.scan()
        for name in ["edited", "deleted", "new"] {
            let file = try #require(try await scene.own(name))
            #expect(!file.isInvalid && file.isDeleted == (name == "deleted"), "\(name)")
            if name != "new" { #expect(file.version.compare(theirs) == .greater, "no conflict about \(name)") }
        }
        #expect(try await scene.own("same")?.version == theirs)
        let later = try #require(try await scene.own("edited")?.sequence)
        try await scene.scan()
        #expect(try await scene.own("edited")?.sequence == later, "once")
    }

    @Test func aDeletionInASecondSpellOfReceivingIsAnnouncedAsWell() async throws {
        let scene = try await StepScene()
        try Self.adopt("a", in: scene)
        try await scene.announce([("a", "same")], counter: 1)
        try await scene.scan()
        scene.configure { $0.kind = .receiveOnly }
        try scene.tree.remove("a")
        try await scene.scan()
        #expect(try await scene.own("a")?.isInvalid == true)
        scene.configure { $0.kind = .sendReceive }
        try await scene.scan()
        let file = try #require(try await scene.own("a"))
        #expect(file.isDeleted && !file.isInvalid)
    }
}
