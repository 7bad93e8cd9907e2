import ArgumentParser
import ControlAPI
import Glibc

/// What a process has around it. Tests give their own.
struct ProcessSurroundings: Sendable {
    var environment: CommandEnvironment
    /// The environment variables.
    var variables: [String: String]
    /// Absolute.
    var workingDirectory: String
    var output: Output
    var errors: Output
    var terminal: Terminal
    /// Whether the signals of `Interrupts` are for this run to act on.
    var isInterruptible: Bool
}

extension ProcessSurroundings {
    static var live: ProcessSurroundings {
        ProcessSurroundings(
            environment: .live, variables: Terminal.liveVariables, workingDirectory: Terminal.liveWorkingDirectory,
            output: Output(descriptor: STDOUT_FILENO, isBuffered: true),
            errors: Output(descriptor: STDERR_FILENO, isBuffered: false), terminal: .live,
            isInterruptible: true)
    }
}

/// What a command works with.
struct CommandContext: Sendable {
    let process: ProcessSurroundings
    let options: GlobalOptions

    var environment: CommandEnvironment { process.environment }
    var output: Output { process.output }
    var terminal: Terminal { process.terminal }

    func places() throws -> CommandEnvironment.Places {
        try environment.places(options.home, process.variables)
    }

    func agent() throws -> any AgentControl { environment.connect(try places()) }

    /// How this program is called in commands that are proposed.
    var program: String { CommandEnvironment.Places.program(home: options.home) }

    func path(_ text: String) -> PathReference {
        PathReference(text: text, workingDirectory: process.workingDirectory)
    }

    /// Columns that lines on standard output have; nil where it is no terminal.
    var outputWidth: Int? { terminal.isOutputTTY ? terminal.width : nil }

    /// Whether a person is there to answer what loses nothing.
    var asks: Bool { terminal.isInputTTY && terminal.isErrorTTY && !options.yes && !options.json }

    /// Returns if the user agrees, or nobody is there to be asked. For what loses nothing: without a terminal it goes on.
    ///
    /// - Throws: `confirmationNeeded` if the answer is no.
    func agree(_ question: String) throws {
        if asks { try confirm(question) }
    }

    /// A file's name as an absolute path.
    func absolute(_ text: String) -> String {
        text.utf8.first == UInt8(ascii: "/")
            ? text : process.workingDirectory + (process.workingDirectory == "/" ? "" : "/") + text
    }

    /// The same of a folder's directory; `~`, which the shell leaves alone in quotes, is the agent's to read.
    func folderPath(_ text: String) -> String {
        text == "~" || text.utf8.starts(with: "~/".utf8) ? text : absolute(text)
    }

    /// How names and words are shown on standard output.
    var style: Style {
        Style(
            hasColor: terminal.hasColor(options.color, variables: process.variables),
            escapesNames: terminal.isOutputTTY,
            width: outputWidth)
    }

    /// A word on standard error, unless `--quiet`.
    func remark(_ text: String) throws {
        if !options.quiet { try process.errors.print(text) }
    }

    /// Returns if the user agrees. Throws `confirmationNeeded` if nobody can be asked or the answer is no.
    func confirm(_ question: String) throws {
        if options.yes { return }
        guard terminal.isInputTTY, terminal.isErrorTTY else {
            throw ControlError(.confirmationNeeded, "\(question) Use --yes to confirm.")
        }
        try process.errors.write(question + translated(" [y/N] "))
        guard let answer = terminal.readLine(), Word.isYes(answer) else {
            throw ControlError(.confirmationNeeded, "Nothing was changed.")
        }
    }

    /// Has the running agent make a change, or changes the configuration if none runs.
    func edit(_ edit: ConfigurationEdit) async throws {
        let places = try places()
        do {
            try await edit.perform(on: environment.connect(places))
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            try await environment.edit(places, edit)
        }
    }

    /// Removes a device, through the agent if one runs, and gives what brings it back.
    func removeDevice(_ device: String) async throws -> DeviceSettings? {
        let places = try places()
        do {
            return try await environment.connect(places).call(Endpoints.removeDevice, device)
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            let restoration = try environment.restoration(places, device)
            try await environment.edit(places, .removeDevice(device))
            return restoration
        }
    }

    /// As `edit`, and says so.
    func perform(_ edit: ConfigurationEdit) async throws {
        try await self.edit(edit)
        try confirm(done: EditRendering(style: style).line(edit))
    }

    /// Says what was done, in one line.
    func confirm(done text: String) throws {
        if options.json {
            try output.print(bytes: try ControlJSON.encode(Confirmation(message: text)))
        } else {
            try output.print(text)
        }
    }

    /// The same of what runs from then on, not of a setting: without `--json` on standard error, and not with `--quiet`.
    func remark(done text: String) throws {
        if options.json { try confirm(done: text) } else { try remark(text) }
    }

    /// Prints a path, which is all that the command says.
    func print(path: String) throws {
        if options.json {
            try output.print(bytes: try ControlJSON.encode(PrintedPath(path: path)))
        } else {
            try output.print(path)
        }
    }

    /// The devices and folders that there are, as the agent shows them, or as configured if none runs.
    func known() async throws -> (devices: [DeviceStatus], folders: [FolderStatus], isFromAgent: Bool) {
        do {
            let status = try await agent().call(Endpoints.status)
            return (status.devices, status.folders, true)
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            let configured = try environment.configured(try places())
            return (
                configured.devices.map {
                    DeviceStatus(id: $0.id, name: $0.name ?? "", isConnected: false, addresses: $0.addresses ?? [])
                }, configured.folders.map { FolderStatus(stopped: $0) }, false
            )
        }
    }

    /// Throws `code` with the command to run if nothing of a device was made here yet.
    func checkSetUp(_ code: ControlError.Code) throws {
        guard try !environment.isSetUp(try places()) else { return }
        throw ControlError(code, "This device is not set up. Run `\(program) init` first.")
    }
}
