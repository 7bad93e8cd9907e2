import BlockExchange
import ControlAPI

/// Roles of devices, and what is refused because of them.
extension Agent {
    public func setFolderRole(_ change: FolderRoleChange) async throws {
        try await reconfigure { try configuration.withLock { $0 }.edits(applying: change) }
    }

    public func refused(
        folder: String?, emit: @Sendable (RefusedChange) async throws -> Void
    ) async throws {
        try await eachFolder(folder) { try await RefusedReading(folder: try $0.runner.reading()).list(emit: emit) }
    }

    public func settleRefused(_ request: RefusalRequest) async throws -> RefusalAnswer {
        try await answering {
            let devices = try request.device.map { [try device($0)] as Set<DeviceID> }
            let parts = try parts(of: request.paths.map(namingFolders))
            func settle(_ part: FolderPart, isDryRun: Bool) async throws -> RefusalOutcome {
                try await part.folder.runner.perform(
                    SettleRefusedStep(
                        paths: part.paths, action: request.action, devices: devices, isDryRun: isDryRun))
            }
            // What one folder refuses must not be half done in others.
            if !request.isDryRun, parts.count > 1 {
                for part in parts { _ = try await settle(part, isDryRun: true) }
            }
            var outcomes: [RefusalOutcome] = []
            for part in parts {
                outcomes.append(
                    try await refusing(in: part.folder) {
                        try await settle(part, isDryRun: request.isDryRun)
                    })
            }
            return RefusalAnswer(folders: outcomes)
        }
    }
}
