import BlockExchange
import Testing

@testable import FolderSync
@testable import IndexStore

/// Changes by devices that may only read.
struct RefusedStepTests {
    private static let phone = DeviceID(certificateDER: Array("phone".utf8))

    /// A folder that refuses what these devices announce.
    private static func scene(_ announced: [(device: DeviceID, names: [String])]) async throws -> StepScene {
        let scene = try await StepScene { $0.devices.append(phone) }
        // One after the other: so the index lists their announcements.
        for reader in [StepScene.nas, phone] {
            try await scene.index.setReaders(of: StepScene.id, to: [reader], writers: []) { _ in false }
        }
        for (device, names) in announced {
            let files = names.enumerated().map { position, name in
                FileInfo(
                    name: name, kind: .directory, modifiedSeconds: 1_700_000_000,
                    version: VersionVector([.init(id: device.shortID, value: 1)]), sequence: Int64(position + 1),
                    modifiedBy: device.shortID)
            }
            try await scene.index.applyIndex(
                of: StepScene.id, device: device, files: files, replacesAll: false, isIgnored: { _ in false })
        }
        return scene
    }

    /// However much other devices changed, or was changed elsewhere.
    @Test func whatIsMeantIsFoundBehindTheLimit() async throws {
        let many = (0...RefusedReading.limit).map { "many/\($0)" }
        let scene = try await Self.scene([(StepScene.nas, many), (Self.phone, ["z"])])
        let ofOne = SettleRefusedStep(paths: [""], action: .accept, devices: [Self.phone], isDryRun: true)
        #expect(try await scene.run(ofOne).output.names == ["z"])
        let atOne = SettleRefusedStep(paths: ["z"], action: .accept)
        #expect(try await scene.run(atOne).output.names == ["z"])
        await #expect(throws: FolderError.nothingRefused("z")) { try await scene.run(atOne) }
    }

    /// To a disk, two names that look alike are two files.
    @Test func eachOfTwoNamesThatLookAlikeIsReverted() async throws {
        let names = ["\u{e9}", "e\u{301}"]
        let scene = try await Self.scene([(StepScene.nas, names), (Self.phone, names)])
        let reverted = try await scene.run(SettleRefusedStep(paths: [""], action: .revert))
        #expect(reverted.output.count == 2)
        for name in names { #expect(try await scene.own(name)?.isDeleted == true) }
        #expect(try await RefusedReading(folder: scene.reading()).versions().isEmpty)
    }
}
