extension TOMLDraft {
    /// Sets what `assignments` change from `old` to `new`, and what follows from it.
    mutating func set(
        _ assignments: [SettingAssignment], of target: SettingTarget, from old: Configuration, to new: Configuration
    ) {
        switch target {
        case .agent:
            SettingsSchema.write(assignments, SettingsSchema.agent, from: old, to: new) { key, _, value in
                set(key, to: value, new)
            }
        case .folder(let id):
            guard let index = old.folders.firstIndex(where: { $0.id == id }), new.folders.indices.contains(index)
            else { return }
            SettingsSchema.write(
                assignments, SettingsSchema.folder, from: old.folders[index], to: new.folders[index]
            ) { key, before, value in set(key, of: "folder", at: index, from: before, to: value) }
        case .device(let id):
            guard let index = old.devices.firstIndex(where: { $0.id == id }), new.devices.indices.contains(index)
            else { return }
            SettingsSchema.write(
                assignments, SettingsSchema.device, from: old.devices[index], to: new.devices[index]
            ) { key, before, value in set(key, of: "device", at: index, from: before, to: value) }
        }
    }

    private mutating func set(_ key: String, to value: SettingValue?, _ new: Configuration) {
        let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
        let (table, name) = parts.count == 2 ? (parts[0], parts[1]) : ("", key)
        var literal = value?.literal
        if key == "limits.schedule" {
            removeBlocks(parts)
            literal = value.map { _ in "[" + new.limits.windows.map(\.literal).joined(separator: ", ") + "]" }
        }
        guard let literal else { return remove(name, ofTable: table) }
        if table.isEmpty { set(top: name, to: literal) } else { set(name, ofTable: table, to: literal) }
    }

    private mutating func set(
        _ key: String, of block: String, at index: Int, from old: SettingValue, to value: SettingValue?
    ) {
        guard let value, let literal = value.literal else { return take(key, of: block, at: index) }
        if case .list(let new) = value, case .list(let old) = old {
            setList(key, of: block, at: index, from: old, to: new, quoting: { $0 })
        } else {
            set(key, of: block, at: index, to: literal)
        }
    }
}
