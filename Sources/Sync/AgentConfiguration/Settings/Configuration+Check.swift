import BlockExchange
import Phrases

extension Configuration {
    /// Where in a configuration a value stands.
    enum Position: Equatable {
        case setting([String])
        case device(Int, key: String)
        case folder(Int, key: String)

        var key: String {
            switch self {
            case .setting(let keys): keys.joined(separator: ".")
            case .device(_, let key), .folder(_, let key): key
            }
        }
    }

    /// The first rule that is broken, and where; nil if the configuration is sound.
    func firstProblem() -> (position: Position, problem: SettingProblem)? {
        settingProblem() ?? deviceProblem() ?? folderProblem()
    }

    private func settingProblem() -> (Position, SettingProblem)? {
        if let problem = Self.problem(name: name) { return (.setting(["name"]), problem) }
        for address in listen {
            if let text = AddressSyntax.problem(listenAddress: address) {
                return (.setting(["listen"]), SettingProblem(.invalidValue, text))
            }
        }
        if Set(listen).count < listen.count {
            return (.setting(["listen"]), SettingProblem(.duplicate, "an address is listed twice; remove one"))
        }
        if let (key, problem) = discovery.problem() { return (.setting(["discovery", key]), problem) }
        if let (key, problem) = relays.problem() { return (.setting(["relays", key]), problem) }
        if let (key, problem) = network.problem() { return (.setting(["network", key]), problem) }
        if let (key, problem) = ignored.problem() { return (.setting(["ignored", key]), problem) }
        if let (key, problem) = bluetooth.problem() { return (.setting(["bluetooth", key]), problem) }
        if let (key, problem) = thumbnails.problem() { return (.setting(["thumbnails", key]), problem) }
        if let (key, problem) = mounting.problem() { return (.setting(["mount", key]), problem) }
        if let (key, problem) = http.problem() { return (.setting(["http", key]), problem) }
        if let problem = limits.problem() { return (.setting(["limits"]), problem) }
        if let (key, problem) = policies.problem() { return (.setting(["policies", key]), problem) }
        // A window smaller than the largest block of BEP (16 MiB) could never ask for it.
        for (key, byteCount) in [
            ("window", fetch.windowByteCount), ("window-per-device", fetch.deviceWindowByteCount),
        ] where !(16 << 20...1 << 30).contains(byteCount) {
            return (
                .setting(["fetch", key]),
                SettingProblem(.invalidValue, "the window must be from 16 MiB, the largest block, to 1 GiB; change it")
            )
        }
        return nil
    }

    private func deviceProblem() -> (Position, SettingProblem)? {
        var seen: Set<DeviceID> = []
        for (index, device) in devices.enumerated() {
            if let (key, problem) = device.problem() { return (.device(index, key: key), problem) }
            guard seen.insert(device.id).inserted else {
                return (
                    .device(index, key: "id"),
                    SettingProblem(
                        .duplicate, "the device \(device.id) is listed twice; remove one of the two blocks")
                )
            }
        }
        return nil
    }

    private func folderProblem() -> (Position, SettingProblem)? {
        let known = Set(devices.map(\.id))
        for (index, folder) in folders.enumerated() {
            if let (key, problem) = folder.problem() { return (.folder(index, key: key), problem) }
            var sharedWith: Set<DeviceID> = []
            for device in folder.devices {
                guard known.contains(device) else {
                    return (
                        .folder(index, key: "devices"),
                        SettingProblem(
                            .noSuchDevice,
                            "the folder `\(folder.id)` is shared with the unknown device \(device); "
                                + "add it with `synctrain device add`, or remove it here")
                    )
                }
                guard sharedWith.insert(device).inserted else {
                    return (
                        .folder(index, key: "devices"),
                        SettingProblem(.duplicate, "the device \(device) is listed twice; remove one")
                    )
                }
            }
            if let (key, problem) = folder.rolesProblem() ?? folder.introductionsProblem() {
                return (.folder(index, key: key), problem)
            }
            for other in folders.prefix(index) {
                if let (key, problem) = Self.clash(of: folder, with: other) {
                    return (.folder(index, key: key), problem)
                }
            }
        }
        return nil
    }

    /// Why `folder` cannot be shared beside `other`.
    static func clash(
        of folder: FolderConfiguration, with other: FolderConfiguration
    ) -> (key: String, problem: SettingProblem)? {
        if folder.id == other.id {
            return ("id", SettingProblem(.duplicate, "there is already a folder `\(folder.id)`; choose another id"))
        }
        if folder.path.utf8.elementsEqual(other.path.utf8) {
            return (
                "path",
                SettingProblem(
                    .duplicate, "\(folder.path) is already the folder `\(other.id)`; choose another directory")
            )
        }
        if FolderPath.isSameOrInside(folder.path, other.path) || FolderPath.isSameOrInside(other.path, folder.path) {
            return (
                "path",
                SettingProblem(
                    .nestedFolder,
                    "the folders `\(folder.id)` (\(folder.path)) and `\(other.id)` (\(other.path)) are nested; "
                        + "choose directories side by side")
            )
        }
        if let (mount, another) = folder.mount.directory.flatMap({ own in other.mount.directory.map { (own, $0) } }),
            FolderPath.isSameOrInside(mount, another) || FolderPath.isSameOrInside(another, mount)
        {
            return (
                "mount",
                SettingProblem(
                    .duplicate,
                    "the mounts of `\(folder.id)` (\(mount)) and `\(other.id)` (\(another)) are nested; choose directories "
                        + "side by side")
            )
        }
        for (folder, other) in [(folder, other), (other, folder)] {
            if let mount = folder.mount.directory, let found = FolderMount.clash(mount, with: other.path) {
                return found
            }
            guard let archive = folder.versions.path else { continue }
            let paths = [other.path] + (other.versions.path.map { [$0] } ?? [])
            for path in paths
            where FolderPath.isSameOrInside(archive, path) || FolderPath.isSameOrInside(path, archive) {
                return (
                    "versions-path",
                    SettingProblem(
                        .nestedFolder,
                        "the archive \(archive) and \(path) of the folder `\(other.id)` are nested; choose "
                            + "directories side by side")
                )
            }
        }
        return nil
    }
}
