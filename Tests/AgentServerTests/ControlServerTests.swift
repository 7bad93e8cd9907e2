import AgentServer
import ControlAPI
import ControlClient
import Foundation
import NIOCore
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ControlServerTests {
    let path = PathReference(text: "docs:ä b", workingDirectory: "/tmp")

    @Test func everyVerbArrivesAndItsAnswerComesBack() async throws {
        let control = ScriptedControl(entries: [Sample.directory("d"), Sample.file("d/ä\u{1}")])
        try await ServerHarness.run(control) { harness in
            let client = harness.client
            #expect(try await client.call(Endpoints.status) == .sample)
            try await client.call(Endpoints.addDevice, DeviceSettings(id: "A", addresses: ["dynamic"]))
            try await client.call(Endpoints.renameDevice, DeviceRename(device: "a/b", name: "c d"))
            try await client.call(Endpoints.removeDevice, "a&b")
            #expect(try await client.call(Endpoints.pending).devices.map(\.name) == ["neu"])
            try await client.call(Endpoints.addFolder, FolderSettings(id: "f", path: "/f"))
            try await client.call(Endpoints.setFolderPaused, FolderPause(folder: "f", isPaused: true))
            try await client.call(Endpoints.removeFolder, "f/g")
            #expect(try await client.call(Endpoints.pending).folders.map(\.id) == ["music"])
            try await client.call(Endpoints.resetIndex, IndexReset(folder: nil))
            try await client.call(Endpoints.resetIndex, IndexReset(folder: "f"))
            #expect(try await client.call(Endpoints.stat, path) == Sample.directory("d"))
            #expect(try await client.call(Endpoints.whereis, path).holders.map(\.name) == ["nas", "phone"])
            let listed = Box<[Entry]>([])
            try await client.call(Endpoints.list, ListQuery(path: path, isRecursive: true)) { entry in
                listed.change { $0.append(entry) }
            }
            #expect(listed.current == [Sample.directory("d"), Sample.file("d/ä\u{1}")])
            let found = Box<[Entry]>([])
            try await client.call(Endpoints.search, FindQuery(text: "x y", folder: "docs", limit: 1)) { entry in
                found.change { $0.append(entry) }
            }
            #expect(found.current == [Sample.directory("d")])
            _ = try await client.call(
                Endpoints.setFolderMode, FolderModeChange(folder: "f/g", mode: "full", isDryRun: true))
            try await client.call(Endpoints.setFolderBluetooth, FolderBluetoothChange(folder: "f", use: "off"))
            try await client.call(Endpoints.setDeviceBluetooth, DeviceBluetoothChange(device: "d", use: "all"))
            #expect(
                try await client.call(Endpoints.perform, FolderAction(folder: "f", action: .repair)).action == .repair)
            #expect(
                try await client.call(Endpoints.select, SelectionChange(paths: [path], isSelecting: false))
                    == SelectionAnswer(folders: []))
            #expect(try await client.call(Endpoints.explain, path).reason == .noLine)
            #expect(try await client.call(Endpoints.scan, ScanRequest(paths: [path])).folders.isEmpty)
            try await client.call(Endpoints.extraneous, "docs") { entry in listed.change { $0.append(entry) } }
            try await client.call(Endpoints.needs, nil) { entry in listed.change { $0.append(entry) } }
            #expect(listed.current.count == 6)
            try await client.call(Endpoints.syncNow, SyncRequest(folder: "f"))
            try await client.call(Endpoints.stop)
        }
        #expect(
            control.asked == [
                "status", "addDevice \(DeviceSettings(id: "A", addresses: ["dynamic"]))", "rename a/b to c d",
                "removeDevice a&b", "pendingDevices", "pendingFolders",
                "addFolder \(FolderSettings(id: "f", path: "/f"))", "pause f true", "removeFolder f/g",
                "pendingDevices", "pendingFolders", "reset all", "reset f", "stat docs:ä b in /tmp",
                "whereis docs:ä b", "list docs:ä b in /tmp true name", "search x y in docs 1", "mode f/g full true",
                "\(FolderBluetoothChange(folder: "f", use: "off"))",
                "\(DeviceBluetoothChange(device: "d", use: "all"))",
                "repair f false", "deselect docs:ä b false", "explain docs:ä b in /tmp", "scan [\"docs:ä b\"]",
                "extraneous docs", "needs all", "sync f", "stop",
            ])
    }

    @Test func selectedPathsComeInBatchesAndInOrder() async throws {
        let paths = (0..<5000).map { SelectedPath(folder: "docs", path: "a/\($0)", exists: false) }
        let control = ScriptedControl(folders: FolderScript(selected: paths))
        try await ServerHarness.run(control) { harness in
            let seen = Box<[SelectedPath]>([])
            try await harness.client.call(Endpoints.selection, nil) { path in seen.change { $0.append(path) } }
            #expect(seen.current == paths)
            let raw = try await harness.get("/v1/selection?folder=docs")
            #expect(raw.headers["content-type"] == "application/x-ndjson")
            #expect(raw.text.contains(#"{"exists":false,"folder":"docs","path":"a/0","type":"selected"}"# + "\n"))
        }
    }

    @Test func tooManyPathsAreRefusedByTheServerToo() async throws {
        let paths = Array(repeating: #"{"text":"docs:a","workingDirectory":"/"}"#, count: 10_001)
            .joined(separator: ",")
        let control = ScriptedControl()
        try await ServerHarness.run(control) { harness in
            let answer = try await harness.post(
                "/v1/selection", json: #"{"paths":[\#(paths)],"select":true,"dryRun":false}"#)
            #expect(answer.status == 413)
            #expect(answer.error?.code == .tooLarge)
        }
        #expect(control.asked.isEmpty)
    }

    @Test func listsAreThereForOtherClients() async throws {
        try await ServerHarness.run(ScriptedControl()) { harness in
            let devices = try ControlJSON.decode(DeviceList.self, from: try await harness.get("/v1/devices").body)
            #expect(devices.devices == AgentStatus.sample.devices)
            let folders = try ControlJSON.decode(FolderList.self, from: try await harness.get("/v1/folders").body)
            #expect(folders.folders == AgentStatus.sample.folders)
            let pending = try ControlJSON.decode(PendingList.self, from: try await harness.get("/v1/pending").body)
            #expect(pending.devices.map(\.name) == ["neu"])
            #expect(pending.folders.map(\.id) == ["music"])
            let done = try await harness.post("/v1/folders", json: #"{"folder":"f","paused":true}"#, method: "PATCH")
            #expect(done.text == #"{"schema":1}"#)
        }
    }

    @Test func fetchEventsComeInOrder() async throws {
        let events: [FetchEvent] = [
            .plan(files: 2, bytes: 30),
            .progress(path: "a", bytesDone: 1, bytesTotal: 30, bytesPerSecond: 5, holders: ["nas"]),
            .file(path: "a", output: "/o/a", size: 10, wasPresent: false),
            .failed(path: "b", error: ControlError(.noHolder, "nobody", isRetryable: true, path: "b")),
            .done(files: 1, bytes: 10, failed: 1, seconds: 0.5),
        ]
        let control = ScriptedControl(onFetch: { emit in for event in events { try await emit(event) } })
        try await ServerHarness.run(control) { harness in
            let seen = Box<[FetchEvent]>([])
            try await harness.client.call(Endpoints.fetch, FetchRequest(paths: [path], output: "/o", isForced: true)) {
                event in
                seen.change { $0.append(event) }
            }
            #expect(seen.current == events)
        }
    }

    @Test(arguments: [
        ControlError.Code.failed, .noSuchPath, .noSuchDevice, .alreadyExists, .noHolder, .timeout, .invalidRequest,
        .noSpace, .noPermission, .indexUnusable, .busy, "of-a-later-version",
    ])
    func errorsComeBackAsTheyWere(_ code: ControlError.Code) async throws {
        let error = ControlError(code, "Böse \"Sache\".", isRetryable: true, path: "x/y")
        try await ServerHarness.run(ScriptedControl(failure: error)) { harness in
            let client = harness.client
            #expect(await controlError { _ = try await client.call(Endpoints.status) } == error)
            #expect(await controlError { try await client.call(Endpoints.removeFolder, "f") } == error)
            #expect(
                await controlError {
                    try await client.call(Endpoints.list, ListQuery(path: path, isRecursive: false)) { _ in }
                } == error)
            #expect(
                await controlError { try await client.call(Endpoints.fetch, FetchRequest(paths: [])) { _ in } } == error
            )
            let raw = try await harness.get("/v1/status")
            #expect(raw.status == error.httpStatus)
            #expect(raw.headers["content-type"] == "application/json")
            #expect(raw.error == error)
        }
    }

    @Test func anErrorInMidStreamIsTheLastLine() async throws {
        let error = ControlError(.indexUnusable, "The index broke.")
        let control = ScriptedControl(onList: { emit in
            try await emit(Sample.file("first"))
            for number in 0..<2000 { try await emit(Sample.file("\(number)")) }
            throw error
        })
        try await ServerHarness.run(control) { harness in
            let count = Box(0)
            let thrown = await controlError {
                try await harness.client.call(Endpoints.list, ListQuery(path: path, isRecursive: false)) { _ in
                    count.change { $0 += 1 }
                }
            }
            #expect(thrown == error)
            #expect(count.current == 2001)
        }
    }

    @Test func anErrorBeforeTheFirstEntryIsOneWithItsStatus() async throws {
        let control = ScriptedControl(onList: { _ in throw ControlError(.noSuchPath, "no", path: "p") })
        try await ServerHarness.run(control) { harness in
            let response = try await harness.get("/v1/entries?path=p")
            #expect(response.status == 404)
        }
    }

    @Test func aLongListIsHeldUpByASlowReader() async throws {
        let total = 25_000
        let produced = Box(0)
        let lead = Box(0)
        let control = ScriptedControl(onList: { emit in
            for number in 0..<total {
                produced.change { $0 += 1 }
                try await emit(Sample.file("directory/of/some/depth/and/a/name/\(number).dat"))
            }
        })
        try await ServerHarness.run(control) { harness in
            let consumed = Box(0)
            try await harness.client.call(Endpoints.list, ListQuery(path: path, isRecursive: true)) { entry in
                #expect(entry.path.hasSuffix("/\(consumed.current).dat"))
                // Slower than the producer, whatever the machine.
                for _ in 0..<2 { await Task.yield() }
                consumed.change { $0 += 1 }
                let ahead = produced.current - consumed.current
                lead.change { $0 = max($0, ahead) }
            }
            #expect(consumed.current == total)
        }
        // An entry has about 200 bytes: what waits in the sockets, the batches and the client's parts is far below the
        // whole, which is 5 MB.
        #expect(lead.current < 10_000)
    }

    @Test func aClientThatGoesEndsTheWork() async throws {
        let ended = AsyncStream.makeStream(of: String.self)
        let waitForEnd: @Sendable (String) async throws -> Void = { what in
            do {
                while true { try await Task.sleep(for: .seconds(3600)) }
            } catch {
                ended.continuation.yield(what)
                throw error
            }
        }
        let control = ScriptedControl(
            onList: { emit in
                try await waitForEnd("list")
            },
            onFetch: { emit in
                try await emit(.plan(files: 1, bytes: 1))
                try await waitForEnd("fetch")
            })
        try await ServerHarness.run(control) { harness in
            var ends = ended.stream.makeAsyncIterator()
            let began = AsyncStream.makeStream(of: Void.self)
            let fetch = Task {
                try await harness.client.call(Endpoints.fetch, FetchRequest(paths: [])) { _ in
                    began.continuation.finish()
                }
            }
            for await _ in began.stream {}
            fetch.cancel()
            #expect(await ends.next() == "fetch")
            await #expect(throws: CancellationError.self) { try await fetch.value }
            // One that has not sent its first byte either.
            let list = Task {
                try await harness.client.call(Endpoints.list, ListQuery(path: path, isRecursive: false)) { _ in }
            }
            while !Task.isCancelled, !control.asked.contains(where: { $0.hasPrefix("list") }) { await Task.yield() }
            list.cancel()
            #expect(await ends.next() == "list")
            // The server lives on.
            let alive = try await harness.client.call(Endpoints.status)
            #expect(alive == .sample)
        }
    }

    @Test func whatTheReceiverThrowsComesBackUnchanged() async throws {
        struct Enough: Error {}
        try await ServerHarness.run(ScriptedControl(entries: [Sample.file("a")])) { harness in
            await #expect(throws: Enough.self) {
                try await harness.client.call(Endpoints.list, ListQuery(path: path, isRecursive: false)) { _ in
                    throw Enough()
                }
            }
        }
    }

    @Test func eventsComeAsLinesOrAsAnEventStream() async throws {
        let event = AgentEvent(type: "device-connected", time: Sample.time, device: "A")
        let control = ScriptedControl(onEvents: { emit in try await emit(event) })
        try await ServerHarness.run(control) { harness in
            let seen = Box<[AgentEvent]>([])
            try await harness.client.call(Endpoints.events) { event in seen.change { $0.append(event) } }
            #expect(seen.current == [event])
            let json = String(decoding: try ControlJSON.encode(event), as: UTF8.self)
            let lines = try await harness.get("/v1/events")
            #expect(lines.headers["content-type"] == "application/x-ndjson")
            #expect(lines.text.contains(json + "\n"))
            let stream = try await harness.get("/v1/events", headers: "Accept: text/html, text/event-stream;q=0.9\r\n")
            #expect(stream.headers["content-type"] == "text/event-stream")
            #expect(stream.text.contains("event: device-connected\ndata: \(json)\n\n"))
        }
    }

    /// - Parameter isSilent: what the agent says ends without an error then, as events and lines of the log do.
    @Test(arguments: [false, true])
    func shuttingDownEndsStreamsWithAWordAndTakesTheSocketAway(isSilent: Bool) async throws {
        let control = ScriptedControl(onEvents: { emit in
            try await emit(AgentEvent(type: "first", time: Sample.time))
            guard isSilent else { return try await Task.sleep(for: .seconds(3600)) }
            // A stream ends without an error when its reader is cancelled.
            let (events, continuation) = AsyncStream.makeStream(of: Void.self)
            for await _ in events {}
            continuation.finish()
        })
        try await withTemporaryDirectory { directory in
            let socket = directory + "/s.sock"
            let listening = AsyncStream.makeStream(of: Void.self)
            // On a machine that is busy with other tests a second may not be enough for the word to get through.
            let limits = AgentServer.Limits(shutdownTime: .seconds(120))
            let server = AgentServer(agent: control.handlers, socketPath: socket, limits: limits, logger: .quiet) {
                listening.continuation.finish()
            }
            let services = ServiceGroup(configuration: .init(services: [server], logger: .quiet))
            async let running: Void = services.run()
            for await _ in listening.stream {}
            let error = await controlError {
                try await ControlClient(socketPath: socket).call(Endpoints.events) { _ in
                    await services.triggerGracefulShutdown()
                }
            }
            try await running
            #expect(error?.code == .stopping)
            #expect(!FileManager.default.fileExists(atPath: socket))
            #expect(
                await controlError { _ = try await ControlClient(socketPath: socket).call(Endpoints.status) }?.code
                    == .noAgent)
        }
    }

    @Test func tooManyRequestsAreToldSo() async throws {
        let control = ScriptedControl(onEvents: { emit in
            try await emit(AgentEvent(type: "first", time: Sample.time))
            try await Task.sleep(for: .seconds(3600))
        })
        try await ServerHarness.run(control, limits: .init(requests: 1)) { harness in
            let began = AsyncStream.makeStream(of: Void.self)
            let first = Task { try await harness.client.call(Endpoints.events) { _ in began.continuation.finish() } }
            for await _ in began.stream {}
            #expect(await controlError { _ = try await harness.client.call(Endpoints.status) }?.code == .busy)
            first.cancel()
            _ = await first.result
        }
    }

    /// Silent connections do not count as requests.
    @Test func silentConnectionsDoNotLockTheUserOut() async throws {
        let limits = AgentServer.Limits(requests: 1, requestTime: .minutes(5), connections: 3)
        try await ServerHarness.run(ScriptedControl(), limits: limits) { harness in
            let idle = try await ServerHarness.idle(10) {
                try await $0.connect(unixDomainSocketPath: harness.socketPath).get()
            }
            await ServerHarness.waitForEnds(7, of: idle)
            #expect(idle.count { $0.isActive } == 3)
            #expect(try await harness.client.call(Endpoints.status) == .sample)
            for channel in idle { try? await channel.close() }
        }
    }
}
