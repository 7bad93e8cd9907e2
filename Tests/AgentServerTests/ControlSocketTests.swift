import AgentServer
import ControlAPI
import Foundation
import Glibc
import NIOCore
import Testing

@testable import ControlClient
@testable import synctrain

@Suite(.timeLimit(.minutes(1)))
struct ControlSocketTests {
    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func run(_ socket: String) async -> ControlError? {
        await controlError {
            try await AgentServer(agent: ScriptedControl().handlers, socketPath: socket, logger: .quiet).run()
        }
    }

    /// Leaves a socket that nobody listens on.
    private func bindAndLeave(_ path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        try #require(name.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    @Test func onlyItsUserCanReachIt() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let modes = (
                try mode(harness.socketPath), try mode((harness.socketPath as NSString).deletingLastPathComponent)
            )
            #expect(modes == (0o600, 0o700))
        }
    }

    @Test func anOpenDirectoryIsClosedToOthers() async throws {
        try await withTemporaryDirectory { directory in
            let run = directory + "/run"
            try FileManager.default.createDirectory(
                atPath: run, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            try await ServerHarness(socketPath: run + "/s.sock").serve(ScriptedControl()) {
                let found = try mode(run)
                #expect(found == 0o700)
            }
        }
    }

    @Test func theSocketOfADeadAgentIsReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let socket = directory + "/s.sock"
            // Bound and left, as by a process that was killed.
            try bindAndLeave(socket)
            #expect(FileManager.default.fileExists(atPath: socket))
            #expect(
                await controlError { _ = try await ControlClient(socketPath: socket).call(Endpoints.status) }?.code
                    == .noAgent)
            try await ServerHarness(socketPath: socket).serve(ScriptedControl()) {
                let alive = try await ControlClient(socketPath: socket).call(Endpoints.status)
                #expect(alive == .sample)
            }
            #expect(!FileManager.default.fileExists(atPath: socket))
        }
    }

    @Test func aLiveAgentKeepsItsSocket() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let error = await run(harness.socketPath)
            #expect(error?.code == .busy)
            #expect(error?.message.contains(harness.socketPath) == true)
            let alive = try await harness.client.call(Endpoints.status)
            #expect(alive == .sample)
        }
    }

    @Test func whatIsNoSocketIsNotReplaced() async throws {
        try await withTemporaryDirectory { directory in
            let socket = directory + "/s.sock"
            try Data("precious".utf8).write(to: URL(filePath: socket))
            #expect(await run(socket)?.code == .alreadyExists)
            #expect(FileManager.default.contents(atPath: socket) == Data("precious".utf8))
        }
    }

    /// As long as the path of a home may make it.
    @Test func theLongestPathIsServed() async throws {
        try await withTemporaryDirectory { directory in
            let socket =
                directory + "/" + String(repeating: "x", count: 99 - directory.utf8.count - "//s.sock".utf8.count)
                + "/s.sock"
            try #require(socket.utf8.count == 99)
            try await ServerHarness(socketPath: socket).serve(ScriptedControl()) {
                let alive = try await ControlClient(socketPath: socket).call(Endpoints.status)
                #expect(alive == .sample)
            }
        }
    }

    @Test func aPathThatIsTooLongIsRefused() async throws {
        try await withTemporaryDirectory { directory in
            let error = await run(directory + "/" + String(repeating: "x", count: 120) + "/s.sock")
            #expect(error?.code == .failed)
        }
    }

    /// What a client is told whom the system keeps out: whose socket it is, or that nobody can say.
    @Test func whoIsKeptOutIsToldWhy() async throws {
        try await withTemporaryDirectory { directory in
            let socket = directory + "/s.sock"
            #expect(ControlClient.forbidden(socket).message.contains("may not look into the directory"))
            #expect(FileManager.default.createFile(atPath: socket, contents: nil))
            let own = ControlClient.forbidden(socket)
            #expect(own.code == .noPermission && own.message.contains("chmod 600"))
            // Only root can make somebody else's.
            guard chown(socket, 65534, 65534) == 0 else { return }
            #expect(ControlClient.forbidden(socket).message.contains("belongs to another user"))
        }
    }

    @Test func withoutAnAgentTheClientSaysHowToStartOne() async throws {
        let error = await controlError {
            _ = try await ControlClient(socketPath: "/nonexistent/s.sock").call(Endpoints.status)
        }
        #expect(error?.code == .noAgent)
        #expect(error?.exitCode == 3)
        #expect(error?.message.contains("`synctrain agent start`") == true)
    }

    /// Without its home the command would start another agent, or none.
    @Test func theAgentOfAnotherHomeIsStartedWithIt() async throws {
        let environment = CommandEnvironment.live
        let homes: [(String?, String)] = [("/nonexistent/h", "synctrain --home /nonexistent/h"), (nil, "synctrain")]
        for (home, program) in homes {
            let places = try environment.places(home, ["XDG_STATE_HOME": "/nonexistent", "HOME": "/nonexistent"])
            let error = await controlError { _ = try await environment.connect(places).call(Endpoints.status) }
            #expect(
                error?.message.hasSuffix(
                    "Start it with `\(program) agent start`, or in the foreground with `\(program) agent run`.")
                    == true,
                "\(String(describing: error?.message))")
        }
    }
}

@Suite(.timeLimit(.minutes(2)))
struct HostileRequestTests {
    @Test(arguments: [
        "garbage\r\n\r\n", "GET /v1/status\r\n\r\n", "GET /v1/status HTTP/9.9\r\n\r\n",
        "GET /v1/status HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET /v1/status HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /v1/fetch HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}",
        "GET /v1/status HTTP/1.1\r\nA\u{0}B: c\r\n\r\n",
        "POST /v1/devices HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{\"a\"",
        "POST /v1/devices HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]",
        "GET /v1/stat?path=%ZZ HTTP/1.1\r\nHost: x\r\n\r\n",
    ])
    func badRequestsAreRefusedAndTheServerLives(_ request: String) async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let response = try await harness.exchange(request)
            #expect(response.status == 400)
            #expect(response.error?.code == .invalidRequest)
            let alive = try await harness.client.call(Endpoints.status)
            #expect(alive == .sample)
        }
    }

    @Test func aRequestThatDoesNotBecomeWholeIsCutOff() async throws {
        try await ServerHarness.run(ScriptedControl(), limits: .init(requestTime: .milliseconds(500))) { harness in
            // The second one finds a server that has lived on.
            for _ in 0..<2 {
                let response = try await harness.exchange("POST /v1/stop HTTP/1.1\r\nContent-Length: 10\r\n\r\n123")
                #expect(response.status == 0)
            }
        }
    }

    @Test func unknownPlacesAndMethodsAreTold() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            #expect(try await harness.get("/v2/status").status == 404)
            let wrong = try await harness.post("/v1/status", json: "{}")
            #expect(wrong.status == 405)
            #expect(wrong.headers["allow"] != nil)
        }
    }

    @Test func aBodyBeyondTheLimitIsRefused() async throws {
        let control = ScriptedControl()
        try await ServerHarness.run(control) { harness in
            let large = "{\"id\":\"" + String(repeating: "x", count: ControlLimits.requestBody) + "\"}"
            let announced = try await harness.post("/v1/devices", json: large)
            #expect(announced.status == 413)
            #expect(announced.error?.code == .tooLarge)
            let chunk = String(repeating: "x", count: 0x8000)
            let chunked =
                "POST /v1/devices HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "8000\r\n\(chunk)\r\n", count: ControlLimits.requestBody / 0x8000 + 1) + "0\r\n\r\n"
            #expect(try await harness.exchange(chunked).status == 413)
            let alive = try await harness.client.call(Endpoints.status)
            #expect(alive == .sample)
        }
        #expect(control.asked == ["status"])
    }

    @Test func aBodyOfTheLimitIsTaken() async throws {
        let control = ScriptedControl()
        try await ServerHarness.run(control) { harness in
            let frame = "{\"id\":\"\"}"
            let json =
                "{\"id\":\"" + String(repeating: "x", count: ControlLimits.requestBody - frame.utf8.count) + "\"}"
            let response = try await harness.post("/v1/devices", json: json)
            #expect(response.status == 200)
        }
        #expect(control.asked.count == 1)
    }

    @Test(arguments: ["target", "header", "headers"])
    func longHeadsAreRefused(_ what: String) async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let long = String(repeating: "a", count: 2 << 20)
            let request =
                switch what {
                case "target": "GET /v1/stat?path=\(long) HTTP/1.1\r\nHost: x\r\n\r\n"
                case "header": "GET /v1/status HTTP/1.1\r\nX: \(long)\r\n\r\n"
                default:
                    "GET /v1/status HTTP/1.1\r\n"
                        + (0..<20_000).map { "X-\($0): \($0)\r\n" }.joined() + "\r\n"
                }
            let response = try await harness.exchange(request)
            #expect(response.status == 413)
            let alive = try await harness.client.call(Endpoints.status)
            #expect(alive == .sample)
        }
    }
}
