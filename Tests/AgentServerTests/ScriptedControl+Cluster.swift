import ControlAPI

extension ScriptedControl {
    func addCluster(to table: inout EndpointHandlers) {
        table.on(Endpoints.setPaused) { change in
            try self.note(
                "pause \(change.folders) \(change.devices) \(change.isAll) \(change.isPaused) \(change.seconds ?? 0)")
        }
        table.on(Endpoints.setPolicies) { change in
            try self.note("policies ignored \(change.isIgnored) \(change.seconds ?? 0)")
        }
        table.on(Endpoints.reload) { request in
            try self.note("reload \(request.isConfirmed)")
            if self.folders.reloadNeedsConfirmation, !request.isConfirmed {
                throw ControlError(.confirmationNeeded, "Remove the 2 devices that there are?")
            }
            return ReloadAnswer(restart: ["listen", "log"])
        }
        table.on(Endpoints.remoteNeeds) { query, emit in
            try self.note("needs of \(query.device) in \(query.folder ?? "all")")
            try await emit(Sample.file("far/away.txt"))
        }
        table.on(Endpoints.completion) { query in
            try self.note("completion \(query.folder ?? "all") \(query.device ?? "all")")
            return CompletionAnswer(folders: [
                CompletionAnswer.Folder(
                    folder: "docs", global: .init(files: 3, bytes: 3000),
                    devices: [
                        .init(
                            id: "XXXXXXX-Y", name: "laptop", isThis: true, isConnected: true, hasIndex: true,
                            held: .init(files: 1, bytes: 1000), missing: .init(), notKept: .init(files: 2, bytes: 2000)),
                        .init(
                            id: "AAAAAAA-B", name: "nas", isThis: false, isConnected: true, hasIndex: true,
                            held: .init(files: 2, bytes: 2999), missing: .init(files: 1, bytes: 1), notKept: .init()),
                        .init(
                            id: "CCCCCCC-D", name: "", isThis: false, isConnected: false, hasIndex: false,
                            held: .init(),
                            missing: .init(files: 3, bytes: 3000), notKept: .init()),
                    ])
            ])
        }
        table.on(Endpoints.space) {
            SpaceReport(disks: [
                .init(
                    folders: ["docs", "films"], total: 500 << 30, free: 20 << 30, here: 8 << 30, selected: 30 << 30,
                    present: 7 << 30, short: 3 << 30, cache: 1 << 30)
            ])
        }
        table.on(Endpoints.ready) { query in
            try self.note("ready \(query.folder ?? "all")")
            let wait = FolderWait(
                reason: .holder, message: "3 of the needed files are on nas, not connected",
                remedy: "switch one of them on")
            let folders = [
                ReadyAnswer.Folder(
                    id: "docs", label: "", isReady: true, selectedFiles: 3, selectedBytes: 3000, presentFiles: 3,
                    presentBytes: 3000, missing: .init(), etaSeconds: 0),
                ReadyAnswer.Folder(
                    id: "films", label: "", isReady: false, selectedFiles: 4, selectedBytes: 67 << 20, presentFiles: 1,
                    presentBytes: 16 << 20, missing: .init(files: 3, bytes: 51 << 20),
                    missingNames: ["a.mp4", "b/c.mp4"], completeUntil: Sample.time, etaSeconds: 700,
                    bytesPerSecond: 76_400),
                ReadyAnswer.Folder(
                    id: "photos", label: "", isReady: false, selectedFiles: 4, selectedBytes: 67 << 20, presentFiles: 1,
                    presentBytes: 16 << 20, missing: .init(files: 3, bytes: 51 << 20), short: 47 << 20, waits: [wait]),
            ]
            return ReadyAnswer(folders: folders.filter { query.folder == nil || $0.id == query.folder })
        }
        table.on(Endpoints.wait) { request -> Void in
            guard !request.paths.contains(where: { $0.text == "unknown" }) else {
                throw ControlError(.noSuchPath, "unknown lies in no folder")
            }
            try self.note("wait \(request.paths.map(\.text)) \(request.seconds.map { $0 > 0 } ?? false)")
        }
        table.on(Endpoints.transfers) {
            try self.note("transfers")
            return TransferList(
                transfers: [
                    TransferEntry(
                        folder: "docs", path: "a/b.bin", device: "AAAAAAA-B", transport: "tcp", direction: .outgoing,
                        bytesDone: 50, size: 200, bytesPerSecond: 25, secondsLeft: 6)
                ], total: 1)
        }
        table.on(Endpoints.changes) { query, emit in
            let range = "\(query.since ?? 0) \(query.limit) \(query.isFollowing)"
            try self.note("changes \(query.path?.text ?? "all") \(range)")
            try await emit(
                ChangeEntry(
                    folder: "docs", path: "b", from: "a", time: Sample.time, what: "renamed", device: "AAAAAAA",
                    name: "nas"))
            try await emit(ChangeEntry(folder: "docs", path: "", time: Sample.time, what: "many", count: 1234))
        }
    }
}
