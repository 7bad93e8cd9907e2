import ControlAPI
import Phrases

/// Entries as `ls`, `stat` and `search` show them.
struct EntryRendering: Sendable {
    var style: Style
    var isLong = false
    /// The directory that names are shown relative to; nil shows the last component alone.
    var base: String?

    /// Columns of a state with its share: more where words are longer than the English ones.
    private static var stateWidth: Int { Swift.max(16, Word.width(of: Entry.State.allCases.map(\.rawValue)) + 5) }

    private static var selectedWidth: Int {
        Swift.max(8, DisplayWidth.of(translated("selected")), Word.width(of: ["explicit", "implicit", "no"]))
    }

    /// What stands above the lines of `isLong`.
    var heading: String {
        style.heading(
            [
                Table.pad(translated("state"), to: Self.stateWidth),
                Table.pad(translated("selected"), to: Self.selectedWidth),
                Table.pad(translated("dev", context: "number of devices"), to: 3),
                Table.pad(translated("size"), to: 8, .right), Table.pad(translated("modified"), to: 16),
                translated("name"),
            ].joined(separator: "  "))
    }

    /// The line of an entry, without its end.
    func line(_ entry: Entry) -> String {
        let name = displayName(entry)
        guard isLong else { return name }
        let size = Table.pad(Quantity.size(entry.size), to: 8, .right)
        let holders = Table.pad(entry.kind == .directory ? "-" : String(entry.holders.count), to: 3, .right)
        let modified = Table.pad(Timestamp.local(entry.modified), to: 16)
        let remarks = [Self.presence(entry), Self.waiting(entry).map { style.name($0) }].compactMap { $0 }
        let remark = remarks.isEmpty ? "" : "  (\(remarks.joined(separator: "; ")))"
        let selected = Table.pad(Word.shown(entry.selected.rawValue), to: Self.selectedWidth)
        return "\(state(entry, padded: Self.stateWidth))  \(selected)  \(holders)  "
            + "\(size)  \(modified)  \(name)\(remark)"
    }

    /// The state with the share that is here: `downloading 24 %`.
    private func state(_ entry: Entry, padded width: Int = 0) -> String {
        guard [.partial, .downloading].contains(entry.state), let selected = entry.selectedBytes, selected > 0 else {
            return style.state(entry.state, padded: width)
        }
        let share = " \(Quantity.percent(entry.presentBytes ?? 0, of: selected)) %"
        return style.state(entry.state)
            + Table.pad(share, to: max(0, width - DisplayWidth.of(Word.shown(entry.state.rawValue))))
    }

    /// Why it does not come.
    private static func waiting(_ entry: Entry) -> String? {
        switch (entry.waiting, entry.waitsFor) {
        case (nil, _): nil
        case (_, .paused): translated("the folder is paused")
        case (_, .halted): translated("the folder is halted; `synctrain status` shows why")
        case (_, .device): translated("no device that has it is connected")
        case (let text, .space):
            entry.short.map { translated("does not fit: \(Quantity.size($0)) short") } ?? text
        case (let text, _): entry.waitingText?.shown ?? text
        }
    }

    /// How much of what is selected of it is here, where that is not all.
    private static func presence(_ entry: Entry) -> String? {
        switch entry.state {
        case .queued where entry.kind == .directory, .partial, .downloading: return counts(entry)
        case .downloaded: return translated("not selected")
        case .absent:
            return entry.isAvailable == false ? translated("not available: no device that has it is connected") : nil
        default: return nil
        }
    }

    /// "3 of 67 MiB here", or in files where these have no bytes; nil for what has no counts.
    private static func counts(_ entry: Entry) -> String? {
        guard let selected = entry.selectedBytes, let present = entry.presentBytes else { return nil }
        let files = entry.selectedFiles ?? 1
        guard files > 0 else { return nil }
        guard selected > 0 else {
            return translated("\(entry.presentFiles ?? 0) of \(Quantity.files(files)) here")
        }
        return translated("\(present == 0 ? "0" : Quantity.size(present)) of \(Quantity.size(selected)) here")
    }

    /// The name as shown, a directory's with `/`.
    func displayName(_ entry: Entry) -> String {
        let name = style.name(plainName(entry))
        return entry.kind == .directory ? style.directory(name + "/") : name
    }

    /// The name with nothing escaped, added or coloured.
    func plainName(_ entry: Entry) -> String {
        // By bytes: a combining character behind a slash would make one character of the two.
        let path = entry.path.utf8
        if path.isEmpty { return "." }
        let slash = UInt8(ascii: "/")
        guard let base else {
            guard let last = path.lastIndex(of: slash) else { return entry.path }
            return String(entry.path[path.index(after: last)...])
        }
        if base.isEmpty { return entry.path }
        let rest = path.dropFirst(base.utf8.count)
        guard path.starts(with: base.utf8), rest.first == slash, let name = String(rest.dropFirst()) else {
            return EntryRendering(style: style).plainName(entry)
        }
        return name
    }

    /// `stat`: a line for each fact.
    func facts(_ entry: Entry, deviceNames: [String: String]) -> [String] {
        var rows = [
            [translated("path"), style.name("\(entry.folder):\(entry.path)")],
            [translated("type"), Word.shown(entry.kind.rawValue)],
            [
                translated("size"),
                entry.size < 1000 ? Quantity.size(entry.size) : "\(Quantity.size(entry.size)) (\(entry.size) B)",
            ],
            [translated("modified"), Timestamp.local(entry.modified)],
            [translated("state"), state(entry) + (entry.state == .downloaded ? translated(" (not selected)") : "")],
            [translated("selected"), Word.shown(entry.selected.rawValue)],
        ]
        if let waiting = Self.waiting(entry) { rows.append([translated("why not here"), style.name(waiting)]) }
        if let files = entry.files, let directories = entry.directories {
            rows.append(
                [
                    translated("holds"),
                    "\(Quantity.files(files)) \(Quantity.inDirectories(directories))",
                ])
        }
        if let selected = entry.selectedFiles, let counts = Self.counts(entry) {
            rows.append(
                [
                    translated("selected below"),
                    translated("\(counts), \(entry.presentFiles ?? 0) of \(Quantity.files(selected))"),
                ])
        }
        if entry.kind != .directory {
            let names = entry.holders.map { deviceNames[$0] ?? $0 }
            let remark = entry.isAvailable == false && !names.isEmpty ? translated(" (not connected)") : ""
            rows.append([
                translated("holders"),
                names.isEmpty ? translated("nobody") : style.name(names.joined(separator: ", ")) + remark,
            ])
        }
        if let details = entry.details {
            rows.append([translated("permissions"), details.permissions])
            rows.append([translated("version"), details.version])
            rows.append([
                translated("modified by"), deviceNames[details.modifiedBy].map(style.name) ?? details.modifiedBy,
            ])
            if let blocks = details.blocks, let size = details.blockSize {
                rows.append([translated("blocks"), translated("\(blocks) of \(Quantity.size(Int64(size)))")])
            }
            if let target = details.symlinkTarget { rows.append([translated("target"), style.name(target)]) }
            if let path = details.localPath { rows.append([translated("on disk"), style.name(path)]) }
        }
        return Table.lines(rows)
    }
}
