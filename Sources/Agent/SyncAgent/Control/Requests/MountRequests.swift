import AgentConfiguration
import AgentContext
import BlockExchange
import ControlAPI
import FolderSync
import MountRules

/// Mounts folders, unmounts them and says where they are mounted.
struct MountRequests: RequestGroup {
    let finder: FolderFinder
    let configuration: RunningConfiguration
    let changes: ConfigurationChanges
    let keeper: MountKeeper
    let places: AgentPlaces

    func add(to table: inout EndpointHandlers) {
        table.on(Endpoints.mounts) { MountList(mounts: await keeper.statuses) }
        table.on(Endpoints.setMounted) { change in
            try await change.isMounted ? mount(change) : unmount(change)
            return MountList(mounts: await keeper.statuses)
        }
    }

    private func mount(_ change: MountSwitch) async throws {
        let folder = try finder.folder(change.folder).configuration
        guard let directory = try change.directory.map({ try clean($0) }) ?? folder.mount.directory else {
            throw ControlError(
                .invalidRequest, "\(change.folder) has no directory to be mounted on. Choose one.", path: change.folder)
        }
        let isReadOnly = change.isReadOnly ?? (directory == folder.mount.directory && folder.mount.isReadOnly)
        let edit = edit(folder.id, FolderMount(directory: directory, isReadOnly: isReadOnly))
        // What would clash with another folder is refused before anything is mounted.
        if change.isConfigured == true { _ = try edit.applied(to: configuration.current) }
        let mount = WantedMount(
            folder: change.folder, directory: keeper.resolved(directory), isReadOnly: isReadOnly)
        if await !keeper.isMounted(mount) { try await keeper.mount(mount) }
        if change.isConfigured == true { try await changes.edit { _ in [edit] } }
    }

    private func unmount(_ change: MountSwitch) async throws {
        let folder = try finder.folder(change.folder).configuration
        let directory = try change.directory.map { keeper.resolved(try clean($0)) }
        let isMounted = await keeper.statuses.contains {
            $0.folder == change.folder && $0.state != MountStanding.unmounted.rawValue
                && (directory == nil || $0.directory == directory)
        }
        // One that is not mounted any more can be forgotten all the same.
        if isMounted || change.isConfigured != false {
            try await keeper.unmount(change.folder, at: directory, isLazy: change.isLazy ?? false)
        }
        let configured = folder.mount.directory.map { keeper.resolved($0) }
        guard change.isConfigured == false, directory == nil || directory == configured else { return }
        try await changes.edit { _ in [edit(folder.id, FolderMount())] }
    }

    /// As the configuration would have it.
    private func clean(_ directory: String) throws -> String {
        let text = SettingText("mount", text: directory)
        let read = try configuration.current.assignments(.folder, [text], userHome: places.userHome)
        guard case .text(let path)? = read.first?.value else {
            throw ControlError(.invalidRequest, "Give a directory to mount the folder on.", path: directory)
        }
        return path
    }

    private func edit(_ folder: FolderID, _ mount: FolderMount) -> ConfigurationEdit {
        .set(
            .folder(folder),
            [
                SettingAssignment("mount", mount.directory.map { .text($0) }),
                SettingAssignment("mount-read-only", mount.isReadOnly ? .flag(true) : nil),
            ])
    }
}
