import ControlAPI
import Synchronization
import Testing

@testable import AgentServer

@Suite(.timeLimit(.minutes(1)))
struct JobTests {
    /// Runs `body` while jobs are run, and gives what was announced.
    private func withJobs(
        _ limits: JobRegistry.Limits = .init(),
        _ body: @escaping @Sendable (JobRegistry, AsyncStream<Job>) async throws -> Void
    ) async throws {
        let (changes, announcing) = AsyncStream.makeStream(of: Job.self)
        let jobs = JobRegistry(limits: limits, now: { 7 }, announce: { announcing.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await jobs.run() }
            defer { group.cancelAll() }
            try await body(jobs, changes)
        }
    }

    private func text(_ jobs: JobRegistry, _ id: Int) throws -> String {
        String(decoding: try jobs.json(id), as: UTF8.self)
    }

    @Test func aJobTellsItsWayAndItsEnd() async throws {
        try await withJobs { jobs, changes in
            let job = try jobs.begin("fetch") { progress in
                progress(.plan(files: 1, bytes: 2))
                return Array(#"{"a":1}"#.utf8)
            }
            #expect((job.id, job.state, job.begun) == (1, .running, 7))
            var states: [String] = []
            for await change in changes {
                states.append("\(change.state) \(change.progress != nil)")
                if change.ended != nil { break }
            }
            #expect(states == ["running false", "running true", "done true"])
            #expect(
                try text(jobs, 1)
                    == #"{"begun":7,"ended":7,"id":1,"kind":"fetch","progress":{"bytes":2,"files":1,"type":"plan"},"#
                    + #""state":"done","result":{"a":1}}"#)
            try jobs.end(1)
            #expect(throws: ControlError.self) { try jobs.json(1) }
            #expect(jobs.all().isEmpty)
        }
    }

    @Test func aJobFailsOrIsCancelled() async throws {
        try await withJobs { jobs, changes in
            var changes = changes.makeAsyncIterator()
            _ = try jobs.begin("scan") { _ in throw ControlError(.noHolder, "Nobody.") }
            while let change = await changes.next(), change.ended == nil {}
            #expect(try text(jobs, 1).contains(#""error":{"code":"no-holder""#))
            #expect(try text(jobs, 1).contains(#""state":"failed""#))
            _ = try jobs.begin("scan") { _ in
                let (forever, continuation) = AsyncStream.makeStream(of: Void.self)
                for await _ in forever {}
                withExtendedLifetime(continuation) {}
                try Task.checkCancellation()
                return nil
            }
            try jobs.end(2)
            var last: Job?
            while let change = await changes.next() {
                last = change
                if change.ended != nil { break }
            }
            #expect(last?.state == .cancelled)
            #expect(last?.error == nil)
        }
    }

    @Test func jobsAreBounded() async throws {
        let (held, letting) = AsyncStream.makeStream(of: Void.self)
        try await withJobs(.init(running: 2, ended: 3, resultBytes: 25)) { jobs, changes in
            var changes = changes.makeAsyncIterator()
            let wait: JobRegistry.Work = { _ in
                for await _ in held {}
                return [UInt8](repeating: 0x31, count: 10)
            }
            for _ in 0..<2 { _ = try jobs.begin("scan", wait) }
            let error = #expect(throws: ControlError.self) { try jobs.begin("scan", wait) }
            #expect(error?.code == .busy)
            letting.finish()
            var ended = 0
            while ended < 2, let change = await changes.next() { ended += change.ended == nil ? 0 : 1 }
            for _ in 0..<3 {
                _ = try jobs.begin("scan", wait)
                while let change = await changes.next(), change.ended == nil {}
            }
            // Two of them have results that are kept; a third would be more than there is room for.
            #expect(jobs.all().count == 2)
            #expect(throws: ControlError.self) { try jobs.json(1) }
            #expect(try text(jobs, 5).contains("1111111111"))
        }
    }

    @Test func whatTakesLongIsAskedForAsAJob() async throws {
        let control = ScriptedControl(onFetch: { emit in
            try await emit(.done(files: 1, bytes: 2, failed: 0, seconds: 0.5))
        })
        try await ServerHarness.run(control) { harness in
            let fetch = #"{"paths":[{"text":"docs:a","workingDirectory":"/"}],"force":false}"#
            func post(_ target: String, _ json: String) async throws -> RawResponse {
                try await harness.exchange(
                    "POST \(target) HTTP/1.1\r\nHost: x\r\nPrefer: respond-async\r\n"
                        + "Content-Length: \(json.utf8.count)\r\n\r\n\(json)")
            }
            let begun = try await post("/v1/fetch", fetch)
            #expect(begun.status == 202)
            #expect(begun.headers["location"] == "/v1/jobs/1")
            #expect(begun.text.hasPrefix(#"{"schema":1,"job":{"#))
            while !(try await harness.get("/v1/jobs/1").text.contains(#""state":"done""#)) {}
            #expect(try await harness.get("/v1/jobs/1").text.contains(#""progress":{"bytes":2,"#))
            #expect(try await post("/v1/scan", #"{"paths":[]}"#).headers["location"] == "/v1/jobs/2")
            while !(try await harness.get("/v1/jobs/2").text.contains(#""result":{"#)) {}
            #expect(try await harness.get("/v1/jobs").text.contains(#""kind":"scan""#))
            #expect(try await harness.get("/v1/jobs/2", method: "DELETE").status == 200)
            #expect(try await harness.get("/v1/jobs/2").status == 404)
            #expect(try await harness.get("/v1/jobs/2", method: "DELETE").status == 404)
            // What is wrong with the request is said at once, and what is no job is answered as ever.
            #expect(try await post("/v1/fetch", "{}").status == 400)
            #expect(try await post("/v1/sync", "{}").status == 200)
        }
    }
}

struct RecordRingTests {
    private func add(_ ring: RecordRing, _ message: String, _ level: LogRecord.Level = .info) {
        ring.add(level: level, label: "l", message: message, metadata: [:], time: Sample.time)
    }

    @Test func theNewestAreKept() {
        let ring = RecordRing(countLimit: 40)
        for number in 0..<200 { add(ring, "\(number)", number % 2 == 0 ? .debug : .error) }
        #expect(ring.newest(1000, from: .trace).map(\.id) == Array(161...200))
        #expect(ring.newest(3, from: .info).map(\.message) == ["195", "197", "199"])
        #expect(ring.newest(1000, from: .critical).isEmpty)
    }

    @Test func longOnesAreCutAndBytesAreBounded() {
        let ring = RecordRing(countLimit: 1000, byteLimit: 50_000)
        let long = String(repeating: "ä", count: 100_000)
        for _ in 0..<100 { ring.add(level: .info, label: "l", message: long, metadata: [long: long], time: "") }
        let kept = ring.newest(1000, from: .trace)
        #expect(kept.count > 2 && kept.count < 13)
        #expect(kept.allSatisfy { $0.message.utf8.count < RecordRing.messageLimit + 10 && $0.metadata.count <= 1 })
    }

    @Test func whoFollowsGetsAllOnce() async {
        let ring = RecordRing()
        add(ring, "before")
        let (newest, stream) = ring.follow(10, from: .info)
        add(ring, "behind")
        #expect(newest.map(\.message) == ["before"])
        var following = stream.makeAsyncIterator()
        #expect(await following.next()?.message == "behind")
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RecordServerTests {
    @Test func recordsAndTheCodeAreServed() async throws {
        let ring = RecordRing()
        ring.add(level: .debug, label: "synctrain", message: "small", metadata: [:], time: Sample.time)
        ring.add(level: .warning, label: "synctrain", message: "large", metadata: ["k": "v"], time: Sample.time)
        let surroundings = AgentServer.Surroundings(records: ring, code: { _ in [[true, false], [false, true]] })
        try await ServerHarness.run(ScriptedControl(), surroundings: surroundings) { harness in
            let records = try await harness.get("/v1/records")
            #expect(records.headers["content-type"] == "application/x-ndjson")
            // Between them are the lengths of the chunks.
            let lines = records.text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("{") }
            #expect(lines.count == 1)
            let record = try ControlJSON.decode(LogRecord.self, from: Array(try #require(lines.first).utf8))
            #expect(record.message == "large" && record.metadata == ["k": "v"] && record.level == .warning)
            #expect(try await harness.get("/v1/records?level=debug&limit=9").text.contains("small"))
            let code = try await harness.get("/v1/devices/qr")
            #expect(code.headers["content-type"] == "image/svg+xml")
            #expect(code.text.contains("M4 4h1v1h-1zM5 5h1v1h-1z"))
            #expect(try await harness.get("/v1/devices/qr", method: "HEAD").body.isEmpty)
        }
    }

    @Test func eventsHaveIDsToComeBackWith() async throws {
        let control = ScriptedControl(onEvents: { emit in
            var event = AgentEvent(type: "device-connected", time: Sample.time)
            event.id = "run-1"
            try await emit(event)
        })
        try await ServerHarness.run(control) { harness in
            let headers = "Accept: text/event-stream\r\n"
            let first = try await harness.get("/v1/events", headers: headers)
            #expect(first.text.contains("id: run-0\n\n"))
            #expect(first.text.contains("id: run-1\nevent: device-connected\ndata: {"))
            _ = try await harness.get("/v1/events", headers: headers + "Last-Event-ID: run-1\r\n")
        }
        #expect(control.asked == ["events", "events after run-1"])
    }
}
