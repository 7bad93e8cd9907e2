import Arithmetic
import BlockExchange
import ControlAPI
import Phrases

/// What `setup` makes of what the user types. Pure.
enum SetupDevice {
    enum Choice: Equatable {
        /// A device by its id, whoever runs it.
        case add(String)
        /// Another synctrain, by a code that both show: at an address, or whoever comes.
        case pair(address: String?)
        /// By an invitation's code.
        case join(String)
        case searchAgain
        case goOn
        case problem(String)
    }

    /// - Parameters:
    ///   - line: a number of the list, a device id, an address, an invitation, `p`, `-`, or nothing.
    ///   - nearby: what was listed, from 1 on.
    ///   - own: this device's id.
    static func choose(_ line: String, nearby: [NearbyEntry], own: String) -> Choice {
        let word = line.filter { !$0.isWhitespace }
        switch word.lowercased() {
        case "": return .searchAgain
        case "p", "pair": return .pair(address: nil)
        case "-", "skip": return .goOn
        default: break
        }
        if isInvitation(word) { return .join(word) }
        if let number = Int(word), word.utf8.count < 4 {
            guard nearby.indices.contains(number - 1) else {
                return .problem(translated("\(number) is not in the list."))
            }
            let entry = nearby[number - 1]
            return entry.device.map { .add($0) } ?? .pair(address: entry.address)
        }
        do throws(DeviceIDError) {
            let id = try DeviceID(parsing: word)
            return id.description == own
                ? .problem(translated("That is this device. Type the id of the other one.")) : .add(id.description)
        } catch {
            if word.contains(where: { ".:/".contains($0) }) { return .pair(address: word) }
            return .problem(
                translated("\"\(EscapedName.escape(String(line.prefix(80))))\" is not a device id: \(error.text)"))
        }
    }

    /// Whether it is meant as what `synctrain invite` prints; the agent reads it.
    static func isInvitation(_ text: String) -> Bool { text.lowercased().hasPrefix("synctrain-") }

    static func list(_ nearby: [NearbyEntry], _ style: Style) -> [String] {
        let rows = nearby.enumerated().map { index, entry in
            [
                "\(index + 1)", EscapedName.escape(entry.name ?? "-"), entry.device.map(StatusRendering.short) ?? "",
                EscapedName.escape(entry.address), entry.isKnown ? translated("known") : "",
            ]
        }
        return Table.lines(rows, width: style.width)
    }
}

/// What is said while a device is waited for. Pure.
enum SetupMeeting {
    /// Nil once the device has accepted this one and is connected.
    static func waitingFor(_ status: AgentStatus, device id: String) -> String? {
        guard let device = status.devices.first(where: { $0.id == id }) else {
            return translated("The device is no longer known.")
        }
        let name = device.name.isEmpty ? StatusRendering.short(id) : EscapedName.escape(device.name)
        if device.isConnected, device.acceptance == .given { return nil }
        if device.acceptance == .needed {
            return
                translated(
                    "Waiting for \(name) (\(StatusRendering.short(id))…) to accept this device. There: open its GUI, and in the "
                        + "notice “New Device” choose Add Device.\nThis device is called \(EscapedName.escape(status.name)); its id is\n"
                        + "    \(status.device)")
        }
        if device.isConnected { return translated("Connected to \(name); waiting for what it shares.") }
        return translated("Connecting to \(name): \(EscapedName.escape(StatusRendering.remark(device)))")
    }

    /// What is said while no folder is offered.
    static func waitingForFolders(_ status: AgentStatus) -> String {
        let names = status.devices.filter(\.isConnected).map {
            $0.name.isEmpty ? StatusRendering.short($0.id) : EscapedName.escape($0.name)
        }
        let who =
            names.isEmpty
            ? translated("No device is connected")
            : translated("\(names.joined(separator: ", ")) shares no new folder with this device")
        return
            translated(
                "\(who). In a Syncthing: folder → Edit → Sharing → tick \(EscapedName.escape(status.name)); in a synctrain: "
                    + "`synctrain folder share ID \(EscapedName.escape(ShellWord.quoted(status.name)))`")
    }
}

/// Several of a list, as people write them. Pure.
enum NumberChoice {
    /// Longest text that is read.
    private static let limit = 1000

    /// The numbers of `1 3-5,7`, from 1 on, each once and in order; all for `a`, none for `-` or `n`.
    ///
    /// - Returns: nil for what is none of these, or not in `1...count`.
    static func parse(_ text: String, count: Int) -> [Int]? {
        let text = text.lowercased()
        guard text.utf8.count <= limit, count >= 0 else { return nil }
        switch text.filter({ !$0.isWhitespace }) {
        case "a", "all": return Array(0..<count)
        case "-", "n", "none": return []
        default: break
        }
        var numbers: Set<Int> = []
        let words = text.split { $0 == "," || $0.isWhitespace }
        guard !words.isEmpty else { return nil }
        for word in words {
            let ends = word.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count <= 2, let first = Int(ends[0]), let last = Int(ends[ends.count - 1]), first <= last,
                (1...max(1, count)).contains(first), (1...max(1, count)).contains(last), count > 0
            else { return nil }
            numbers.formUnion(first...last)
        }
        return numbers.sorted().map { $0 - 1 }
    }
}

/// The first choice of what is kept here. Pure.
struct SetupSelection: Equatable {
    /// So many are listed; the rest is selected later.
    static let limit = 40

    /// The largest first.
    let directories: [Entry]
    /// How many more directories there are.
    let hiddenCount: Int
    /// Files beside them.
    let fileCount: Int
    let fileBytes: Int64
    let folder: FolderStatus

    init(folder: FolderStatus, entries: [Entry]) {
        self.folder = folder
        let all = entries.filter { $0.kind == .directory }.sorted { ($1.size, $0.path) < ($0.size, $1.path) }
        directories = Array(all.prefix(Self.limit))
        hiddenCount = all.count - directories.count
        let files = entries.filter { $0.kind != .directory }
        fileCount = files.count
        fileBytes = files.reduce(0) { $0.addingClamped($1.size) }
    }

    /// - Parameter free: bytes that are free on the folder's disk; nil if nobody can say.
    func lines(_ style: Style, free: Int64?) -> [String] {
        let total = "\(Quantity.files(folder.global.files)), \(Quantity.size(folder.global.bytes))"
        let space = free.map { translated("; \(Quantity.size($0)) free on this disk") } ?? ""
        let rows = directories.enumerated().map { index, entry in
            [
                "\(index + 1)", style.name(entry.path) + "/", Quantity.size(entry.size),
                entry.files.map { Quantity.files($0) } ?? "",
            ]
        }
        var lines = ["\(style.name(folder.id)): \(total)\(space)"]
        lines += Table.lines(rows, alignments: [.right, .left, .right, .right], width: style.width)
        if hiddenCount > 0 { lines.append(translated("and \(hiddenCount) more directories")) }
        if fileCount > 0 {
            lines.append(
                translated("and \(Quantity.files(Int64(fileCount))) in no directory, \(Quantity.size(fileBytes))"))
        }
        return lines
    }

    func bytes(_ chosen: [Int]) -> Int64 {
        chosen.reduce(0) { $0.addingClamped(directories[$1].size) }
    }

    func paths(_ chosen: [Int]) -> [String] { chosen.map { "\(folder.id):\(directories[$0].path)" } }
}
