import ControlAPI
import Foundation
import Testing

@testable import AgentServer
@testable import synctrain

@Suite(.timeLimit(.minutes(1))) struct ThumbnailTests {
    @Test func isAnsweredAsAPictureAndNothingElse() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let answer = try await harness.get("/v1/thumbnail?path=docs%3Aa%20b.jpg")
            #expect(answer.status == 200)
            #expect(answer.body == [0xFF, 0xD8, 0xFF, 0xD9])
            #expect(answer.headers["content-type"] == "image/jpeg")
            #expect(answer.headers["content-length"] == "4")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["content-security-policy"]?.contains("sandbox") == true)
            #expect(try await harness.get("/v1/thumbnail").status == 400)
        }
        for (code, status) in [(ControlError.Code.noThumbnail, 404), (.thumbnailsOff, 503), (.noHolder, 503)] {
            try await ServerHarness.run(ScriptedControl(failure: ControlError(code, "No."))) { harness in
                let answer = try await harness.get("/v1/thumbnail?path=a")
                #expect(answer.status == status)
            }
        }
    }

    @Test func theCommandWritesIt() async throws {
        let scene = Scene()
        #expect(await scene.run("thumbnail", "docs:a b").code == 0)
        #expect(scene.control?.asked == ["thumbnail docs:a b"])
        let out = FileManager.default.temporaryDirectory.appending(path: "thumbnail-\(UUID().uuidString).jpg").path
        defer { try? FileManager.default.removeItem(atPath: out) }
        #expect(await scene.run("thumbnail", "docs:a b", "-o", out).code == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: out)) == Data([0xFF, 0xD8, 0xFF, 0xD9]))
        #expect(await scene.run("thumbnail", "docs:a b", "-o", out).code == 1)
        #expect(await scene.run("thumbnail", "docs:a b", "-o", out, "--force").code == 0)
        var none = Scene()
        none.control = ScriptedControl(failure: ControlError(.noThumbnail, "There is none."))
        let result = await none.run("thumbnail", "docs:a")
        #expect(result.code == 1)
        #expect(result.output.isEmpty)
    }
}
