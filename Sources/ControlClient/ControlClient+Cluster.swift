public import ControlAPI

extension ControlClient {
    public func setPaused(_ change: PauseChange) async throws { try await perform(.cluster(.setPaused(change))) }

    public func needs(
        ofDevice device: String, folder: String?, emit: @Sendable (Entry) async throws -> Void
    ) async throws {
        try await entries(.cluster(.remoteNeeds(device: device, folder: folder)), emit: emit)
    }

    public func completion(folder: String?, device: String?) async throws -> CompletionAnswer {
        try await document(.cluster(.completion(folder: folder, device: device)))
    }

    public func changes(_ query: ChangeQuery, emit: @Sendable (ChangeEntry) async throws -> Void) async throws {
        try await documents(.cluster(.changes(query)), emit: emit)
    }

    public func reload(_ request: ReloadRequest) async throws -> ReloadAnswer {
        try await document(.cluster(.reload(request)))
    }

    public func setPolicies(_ change: PolicyChange) async throws { try await perform(.cluster(.setPolicies(change))) }

    public func transferList() async throws -> TransferList { try await document(.cluster(.transfers)) }

    public func wait(_ request: WaitRequest) async throws { try await perform(.cluster(.wait(request))) }
}
