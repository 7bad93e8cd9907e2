import ControlAPI
import Foundation
import Testing

@testable import synctrain

@Suite(.timeLimit(.minutes(1)))
struct ArchiveTests {
    static let target = "/v1/archive/member?path=docs:a.zip&member="

    @Test(arguments: [
        ("", 200, 0..<100_000), ("Range: bytes=5-9\r\n", 206, 5..<10), ("Range: bytes=-3\r\n", 206, 99_997..<100_000),
        ("Range: bytes=0-1,5-6\r\n", 200, 0..<100_000), ("Range: bytes=5-9\r\nIf-Range: \"x\"\r\n", 200, 0..<100_000),
    ])
    func aStoredMemberIsAnsweredLikeAFile(_ headers: String, _ status: Int, _ bytes: Range<Int>) async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let answer = try await harness.get(Self.target + "dir/side.html", headers: headers)
            #expect(answer.status == status)
            #expect(answer.body == Array(ScriptedControl.memberContent[bytes]))
            #expect(answer.headers["content-length"] == String(bytes.count))
            #expect(answer.headers["accept-ranges"] == "bytes")
            #expect(
                answer.headers["content-range"]
                    == (status == 206 ? "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/100000" : nil))
            // Nothing in it runs.
            #expect(answer.headers["content-security-policy"]?.contains("sandbox") == true)
            #expect(answer.headers["content-disposition"]?.hasPrefix("attachment; filename=\"side.html\"") == true)
        }
    }

    @Test func aPackedMemberComesWhole() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let answer = try await harness.get(Self.target + "packed", headers: "Range: bytes=5-9\r\n")
            #expect(answer.status == 200)
            #expect(answer.headers["accept-ranges"] == "none")
            #expect(answer.body == ScriptedControl.memberContent)
            let head = try await harness.get(Self.target + "packed", method: "HEAD")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.headers["content-length"] == "100000")
        }
    }

    @Test func whatGoesWrongIsSeen() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let beyond = try await harness.get(Self.target + "x", headers: "Range: bytes=100000-\r\n")
            #expect(beyond.status == 416)
            #expect(beyond.headers["content-range"] == "bytes */100000")
            let damaged = try await harness.get(Self.target + "damaged")
            #expect(damaged.body.count == 99_990)
            #expect(damaged.headers["content-length"] == "100000")
            #expect(try await harness.get("/v1/archive/member?path=docs:a.zip").status == 400)
            #expect(try await harness.get("/v1/archive?path=docs:a.zip&limit=1001").status == 400)
            #expect(try await harness.get("/v1/archive?path=docs:a.zip&limit=0").status == 400)
            #expect(try await harness.get("/v1/archive?path=docs:a.zip&offset=-1").status == 400)
            #expect(try await harness.post("/v1/archive?path=docs:a.zip", json: "").status == 405)
            let long = String(repeating: "x", count: 4097)
            #expect(try await harness.get(Self.target + long).status == 413)
        }
    }

    @Test func theClientReadsWhatTheServerSays() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let archive = PathReference(text: "docs:a.zip", workingDirectory: "/")
            let listing = try await harness.client.call(
                Endpoints.archive, ArchiveQuery(archive: archive, offset: 1, limit: 1))
            #expect(listing.members.map(\.path) == ["dir/side.html"])
            #expect(listing.offset == 1 && listing.total == 3)
            for (name, range, expected) in [
                ("a", ByteRange.bytes(from: 7, through: 50_000), 7...50_000), ("packed", .suffix(5), 0...99_999),
                ("a", .suffix(5), 99_995...99_999),
            ] {
                let content = Box<[UInt8]>([])
                let member = MemberReference(archive: archive, member: name)
                try await harness.client.readMember(member, range: range) { facts, part in
                    #expect(facts == MemberFacts(size: 100_000, isSeekable: name != "packed"))
                    #expect(part == Int64(expected.lowerBound)...Int64(expected.upperBound))
                } emit: { bytes in
                    content.change { $0 += bytes }
                }
                #expect(content.current == Array(ScriptedControl.memberContent[expected]))
                #expect(try await harness.client.memberFacts(member).isSeekable == (name != "packed"))
            }
            let damaged = MemberReference(archive: archive, member: "damaged")
            let error = await controlError {
                try await harness.client.readMember(damaged, range: nil) { _, _ in
                } emit: { _ in
                }
            }
            #expect(error?.code == .interrupted)
        }
    }

    @Test func zipListsAllPages() async throws {
        let scene = Scene()
        #expect(await scene.run("zip", "ls", "docs:a.zip").output == "dir/\ndir/side.html\n../packed\u{1B}\n")
        #expect(scene.control?.asked == ["archive docs:a.zip 0 1000", "archive docs:a.zip 2 1000"])
        let long = await scene.run("zip", "ls", "-l", "docs:a.zip").output
        #expect(long.contains("98 KiB") && long.contains("(encrypted)"))
        let lines = await scene.run("zip", "ls", "docs:a.zip", "--json").output.split(separator: "\n")
        #expect(lines.count == 3)
        let last = try ControlJSON.decode(ArchiveEntry.self, from: Array((lines.last ?? "").utf8))
        #expect(last == ArchiveEntry(path: "../packed\u{1B}", kind: .file, size: 100_000, encrypted: true))
    }

    @Test func zipCatWritesAFileWholeOrNotAtAll() async throws {
        try await withTemporaryDirectory { directory in
            let scene = Scene()
            let path = directory + "/out"
            #expect(await scene.run("zip", "cat", "docs:a.zip", "damaged", "-o", path).code == 1)
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left.isEmpty)
            #expect(await scene.run("zip", "cat", "docs:a.zip", "dir/side.html", "-o", path).code == 0)
            #expect(FileManager.default.contents(atPath: path).map { Array($0) } == ScriptedControl.memberContent)
            #expect(await scene.run("zip", "cat", "docs:a.zip", "packed", "-o", path).code == 1)
            #expect(await scene.run("zip", "cat", "docs:a.zip", "packed", "-o", path, "--force").code == 0)
            #expect(await scene.run("zip", "cat", "docs:a.zip", "packed", "--force").code == 64)
        }
    }
}
