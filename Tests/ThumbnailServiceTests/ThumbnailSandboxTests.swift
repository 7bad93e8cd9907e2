import ControlAPI
import Foundation
import NIOPosix
import Synchronization
import Testing
import Thumbnails

@testable import AsyncTools
@testable import ThumbnailService

@Suite(.timeLimit(.minutes(2))) struct ThumbnailSandboxTests {
    /// What a shell finds that stands where the tools do.
    private func inside(_ script: String, input: String) async -> BoundedProgram.Outcome {
        let command = ThumbnailCommand.picture(input, into: .whole)
        let tool = command.arguments.lastIndex(of: "/usr/bin/vips") ?? 0
        return await BoundedProgram(
            path: command.path, arguments: command.arguments.prefix(tool) + ["/usr/bin/bash", "-c", script],
            environment: ["SECRET=1"], timeLimit: .seconds(30), outputLimit: 10_000
        ).run(on: .singleton)
    }

    private func withInput(_ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "thumbnail-\(UUID().uuidString)").path
        try Data("the file".utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await body(file)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "the file")
    }

    @Test func itSeesTheFileAndNothingElse() async throws {
        try await withInput { file in
            let seen = await inside("cat /in; echo; echo $SECRET$UID; ls /; ls /etc", input: file)
            #expect(seen.end == .exited(0))
            let lines = String(decoding: seen.output, as: UTF8.self).split(separator: "\n")
            #expect(lines.first == "the file")
            #expect(
                Set(lines.dropFirst(2)).isSubset(
                    of: ["dev", "etc", "in", "lib", "lib64", "tmp", "usr", "alternatives", "ld.so.cache"]), "\(lines)")
            for script in [
                "cat /etc/passwd", "echo x > /in", "echo x > /usr/x", "echo x > /x", "echo x > /dev/x", "ls /proc/1",
                "ls /home", "ls /sys", "/usr/bin/unshare -U true",
            ] {
                #expect(await inside(script, input: file).end != .exited(0), "\(script)")
            }
        }
    }

    @Test func itReachesNoNetwork() async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = server.localAddress?.port ?? 0
        let script = "exec 3<>/dev/tcp/127.0.0.1/\(port)"
        let outside = await BoundedProgram(
            path: "/usr/bin/bash", arguments: ["-c", script], environment: [], timeLimit: .seconds(30), outputLimit: 100
        ).run(on: .singleton)
        #expect(outside.end == .exited(0))
        try await withInput { file in #expect(await inside(script, input: file).end == .exited(1)) }
        try await server.close()
    }

    @Test func whatItMayUseHasAnEnd() async throws {
        try await withInput { file in
            let limits = await inside("ulimit -v; ulimit -t; ulimit -c; ulimit -u", input: file)
            #expect(String(decoding: limits.output, as: UTF8.self) == "1048576\n10\n0\n32\n")
            // All that it can write to is small.
            #expect(await inside("head -c 70000000 /dev/zero > /tmp/a", input: file).end != .exited(0))
            #expect(await inside("x=$(head -c 2000000000 /dev/zero | tr '\\0' x)", input: file).end != .exited(0))
        }
    }

    @Test func whatIsMissingIsNamedWithItsPackage() async throws {
        for (missing, package) in [("bwrap", "bubblewrap"), ("vips", "libvips-tools"), ("prlimit", "util-linux")] {
            let sandbox = ThumbnailSandbox(now: { .zero }, isProgram: { !$0.hasSuffix(missing) })
            let error = await controlError { try await sandbox.check(.picture) }
            #expect(error?.code == .thumbnailsOff)
            #expect(error?.message.contains("apt install \(package)") == true)
            #expect(sandbox.problems == [error?.message ?? ""])
        }
    }

    /// It is tried again after a while: packages can be installed meanwhile.
    @Test func aProblemIsLookedAtAgain() async throws {
        let time = Mutex(Duration.zero)
        let isThere = Mutex(false)
        let sandbox = ThumbnailSandbox(
            now: { time.withLock { $0 } }, isProgram: { _ in isThere.withLock { $0 } })
        #expect(await controlError { try await sandbox.check(.film) } != nil)
        isThere.withLock { $0 = true }
        #expect(await controlError { try await sandbox.check(.film) } != nil)
        time.withLock { $0 = .seconds(60) }
        #expect(await controlError { try await sandbox.check(.film) } == nil)
        #expect(sandbox.problems.isEmpty)
    }

    private func controlError(_ body: () async throws -> Void) async -> ControlError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? ControlError
        }
    }
}
