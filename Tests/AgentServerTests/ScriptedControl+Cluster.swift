import ControlAPI

extension ScriptedControl {
    func setPaused(_ change: PauseChange) async throws {
        try note(
            "pause \(change.folders) \(change.devices) \(change.isAll) \(change.isPaused) \(change.seconds ?? 0)")
    }

    func needs(
        ofDevice device: String, folder: String?, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        try note("needs of \(device) in \(folder ?? "all")")
        try await emit(Sample.file("far/away.txt"))
    }

    func completion(folder: String?, device: String?) async throws -> CompletionAnswer {
        try note("completion \(folder ?? "all") \(device ?? "all")")
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
                        id: "CCCCCCC-D", name: "", isThis: false, isConnected: false, hasIndex: false, held: .init(),
                        missing: .init(files: 3, bytes: 3000), notKept: .init()),
                ])
        ])
    }

    func wait(_ request: WaitRequest) async throws {
        guard !request.paths.contains(where: { $0.text == "unknown" }) else {
            throw ControlError(.noSuchPath, "unknown lies in no folder")
        }
        try note("wait \(request.paths.map(\.text)) \(request.seconds.map { $0 > 0 } ?? false)")
    }
}

extension ScriptedControl {
    func transferList() async throws -> TransferList {
        try note("transfers")
        return TransferList(
            transfers: [
                TransferEntry(
                    folder: "docs", path: "a/b.bin", device: "AAAAAAA-B", transport: "tcp", direction: .outgoing,
                    bytesDone: 50, size: 200, bytesPerSecond: 25, secondsLeft: 6)
            ], total: 1)
    }

    func changes(_ query: ChangeQuery, emit: @Sendable (ChangeEntry) async throws -> Void) async throws {
        try note("changes \(query.path?.text ?? "all") \(query.since ?? 0) \(query.limit) \(query.isFollowing)")
        try await emit(
            ChangeEntry(
                folder: "docs", path: "b", from: "a", time: Sample.time, what: "renamed", device: "AAAAAAA",
                name: "nas"))
        try await emit(ChangeEntry(folder: "docs", path: "", time: Sample.time, what: "many", count: 1234))
    }
}

extension ScriptedControl {
    func setPolicies(_ change: PolicyChange) async throws {
        try note("policies ignored \(change.isIgnored) \(change.seconds ?? 0)")
    }

    func reload(_ request: ReloadRequest) async throws -> ReloadAnswer {
        try note("reload \(request.isConfirmed)")
        if folders.reloadNeedsConfirmation, !request.isConfirmed {
            throw ControlError(.confirmationNeeded, "Remove the 2 devices that there are?")
        }
        return ReloadAnswer(restart: ["listen", "log"])
    }
}
