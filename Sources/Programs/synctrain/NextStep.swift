import ControlAPI
import Phrases

/// What is to be done next on this device. Pure: one rule, from what is known of the device.
enum NextStep: Equatable {
    /// There is no identity yet.
    case setUp
    case startAgent
    /// No device is known.
    case addDevice
    /// A device that nobody knows here has tried to connect.
    case acceptDevice(PendingDevice)
    /// No device has accepted this one: it is to be let in there.
    case acceptThere(DeviceStatus, ownID: String)
    /// No device is connected, for another reason.
    case connect(DeviceStatus)
    /// A folder that is offered, and the devices that are known.
    case addFolder(PendingFolder, known: [DeviceStatus])
    /// Devices are connected and offer nothing.
    case shareThere(DeviceStatus, ownID: String)
    /// A folder has stopped; its message says what to do.
    case mend(FolderStatus)
    case resume(String)
    case select(FolderStatus)
    /// Files that are selected are still to come.
    case wait
    /// Everything that is selected is here.
    case ready

    /// What is known of the device.
    struct Facts: Equatable {
        var isSetUp = true
        /// Nil while no agent runs.
        var status: AgentStatus?
        var pending = PendingList(devices: [], folders: [])
        /// Ids of the folders in which something is selected.
        var selectedFolders: Set<String> = []
        /// Ids of the folders of which `ready` says that something selected is still to come.
        var unreadyFolders: Set<String> = []
    }

    init(_ facts: Facts) {
        guard facts.isSetUp else { self = .setUp; return }
        guard let status = facts.status else { self = .startAgent; return }
        self = Self.stopped(status) ?? Self.meeting(status, facts.pending) ?? Self.choosing(status, facts)
    }

    /// What stands still until somebody does something.
    private static func stopped(_ status: AgentStatus) -> NextStep? {
        status.folders.first { $0.condition.isFailure }.map { .mend($0) }
    }

    /// The way to a device that shares a folder.
    private static func meeting(_ status: AgentStatus, _ pending: PendingList) -> NextStep? {
        if let device = pending.devices.first { return .acceptDevice(device) }
        guard !status.devices.isEmpty else { return .addDevice }
        if let device = status.devices.first(where: { $0.acceptance == .needed }) {
            return .acceptThere(device, ownID: status.device)
        }
        if let folder = pending.folders.first { return .addFolder(folder, known: status.devices) }
        guard status.folders.isEmpty else { return nil }
        if let device = status.devices.first(where: { $0.isConnected }) {
            return .shareThere(device, ownID: status.device)
        }
        if status.devices.allSatisfy({ $0.isPaused }) { return .resume("--device \(reference(status.devices[0]))") }
        return status.devices.first { !$0.isPaused }.map { .connect($0) }
    }

    private static func choosing(_ status: AgentStatus, _ facts: Facts) -> NextStep {
        let active = status.folders.filter { $0.condition != .paused }
        guard !active.isEmpty else { return .resume(status.folders.first.map { ShellWord.quoted($0.id) } ?? "--all") }
        let bare = active.first {
            $0.mode == "selective" && $0.global.files > 0 && !facts.selectedFolders.contains($0.id)
        }
        if active.allSatisfy({ $0.mode == "selective" && !facts.selectedFolders.contains($0.id) }), let bare {
            return .select(bare)
        }
        return active.contains { facts.unreadyFolders.contains($0.id) } ? .wait : .ready
    }

    fileprivate static func reference(_ device: DeviceStatus) -> String {
        ShellWord.quoted(device.name.isEmpty ? device.id : device.name)
    }
}

extension NextStep {
    /// One or two lines for people: what to do and the command for it.
    ///
    /// - Parameter home: as given with `--home`; nil for the usual place.
    func lines(_ style: Style, home: String? = nil) -> [String] {
        let program = "synctrain" + (home.map { " --home \(ShellWord.quoted($0))" } ?? "")
        func name(_ device: DeviceStatus) -> String {
            style.name(device.name.isEmpty ? StatusRendering.short(device.id) : device.name)
        }
        switch self {
        case .setUp:
            return [
                translated("This device is not set up. Step by step: `\(program) setup`"),
                translated("Or by single commands, beginning with: `\(program) init`"),
            ]
        case .startAgent: return [translated("The agent is not running. Start it: `\(program) agent start`")]
        case .addDevice:
            return [
                translated("No device is known yet. Pair with another synctrain: `\(program) pair`"),
                translated("Or add a Syncthing by its id: `\(program) device add DEVICE-ID`"),
            ]
        case .acceptDevice(let device):
            return [
                PendingRendering(style, program: program, known: []).line(device),
                translated("Or never list it again: `\(program) device ignore \(device.id)`"),
            ]
        case .acceptThere(let device, let ownID):
            return [
                translated(
                    "\(name(device)) has not accepted this device, or has paused it. There, open the GUI and choose Add Device,"
                ),
                translated("or run there: `synctrain device add \(ownID)`"),
            ]
        case .connect(let device): return ["\(name(device)): \(style.name(StatusRendering.remark(device)))"]
        case .addFolder(let folder, let known):
            return [
                PendingRendering(style, program: program, known: known).line(folder),
                translated("Its size is known then; files are downloaded once they are selected."),
            ]
        case .shareThere(let device, let ownID):
            return [
                translated("\(name(device)) is connected and shares no folder with this device. Share one there with ")
                    + StatusRendering.short(ownID) + ",",
                translated(
                    "or share one of this device: `\(program) folder add ID PATH --device \(Self.reference(device))`"),
            ]
        case .mend(let folder):
            return [
                "\(style.name(folder.id)): \(style.name(folder.message ?? translated("it has stopped; see `\(program) status`")))"
            ]
        case .resume(let what): return [translated("Everything is paused. Resume it: `\(program) resume \(what)`")]
        case .select(let folder):
            let size = "\(Quantity.files(folder.global.files)), \(Quantity.size(folder.global.bytes))"
            let id = style.name(ShellWord.quoted(folder.id + ":"))
            return [
                translated("Nothing of \(style.name(folder.id)) (\(size)) is selected. Look: `\(program) ls -l \(id)`"),
                translated(
                    "Keep a part of it here: `\(program) select \(style.name(ShellWord.quoted(folder.id + ":PATH")))`"),
            ]
        case .wait: return [translated("Selected files are still to come. See what is missing: `\(program) ready`")]
        case .ready: return [translated("Everything selected is here. Check before going offline: `\(program) ready`")]
        }
    }
}

/// Where a folder goes if the user says nothing else. Pure.
enum TargetPath {
    /// `~/Library/LABEL`, the label without what a directory's name cannot hold or a person would not type.
    static func proposal(label: String, id: String) -> String {
        let name = directoryName(label) ?? directoryName(id) ?? "folder"
        return "~/Library/\(name)"
    }

    /// - Returns: nil if nothing is left of the text.
    private static func directoryName(_ text: String) -> String? {
        var name = ""
        for scalar in text.unicodeScalars where name.utf8.count < 200 {
            let isPlain = scalar.properties.generalCategory != .control && scalar != "/" && scalar != "\\"
            name.unicodeScalars.append(isPlain ? scalar : "-")
        }
        while let first = name.first, first.isWhitespace || first == "." { name.removeFirst() }
        while let last = name.last, last.isWhitespace { name.removeLast() }
        return name.isEmpty ? nil : name
    }
}
