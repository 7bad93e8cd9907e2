import AsyncTools
import BlockExchange
import FileAccess
import IndexStore
import SyncDecisions

/// Renames files and directories of a folder for devices that do not have them on their disks.
package struct FolderRenaming: Sendable {
    private let boards: FolderBoards
    private let runner: FolderRunner

    package init(_ folder: Folder) { (boards, runner) = (folder.boards, folder.runner) }

    /// Answers a request of a device that the folder is shared with. With `done`, disk and index have the new name.
    package func answer(_ request: RenameRequest, from device: DeviceID) async -> RenameAnswer {
        let tools = runner.tools
        let now = tools.time.monotonic()
        let configuration = boards.places.configuration
        guard configuration.role(of: device) != .read, configuration.kind == .sendReceive, !configuration.isPaused
        else { return RenameAnswer(.notAllowed) }
        guard boards.renames.take(device, at: now) else {
            return RenameAnswer(.tooSoon)
        }
        guard let from = RelativePath(request.from), let to = RelativePath(request.to) else {
            return RenameAnswer(.badName)
        }
        let status = boards.status.snapshot
        guard status.hasScanned, status.halt == nil else { return RenameAnswer(.busy) }
        let step = RenameForDeviceStep(
            request: request, from: from, to: to, deadline: now + RenameRule.patience)
        do {
            let outcome = try await runner.perform(step)
            let name = tools.name(of: device)
            if outcome == .done {
                tools.logger.notice("renamed \(from) to \(to) for \(name)", metadata: ["folder": "\(request.folder)"])
            } else {
                tools.logger.debug("not renamed for \(name): \(from) to \(to): \(outcome)")
            }
            return RenameAnswer(outcome)
        } catch {
            tools.logger.warning("\(from) cannot be renamed to \(to) for another device: \(error)")
            return RenameAnswer(.failed)
        }
    }
}
