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

    public func wait(_ request: WaitRequest) async throws { try await perform(.cluster(.wait(request))) }
}
