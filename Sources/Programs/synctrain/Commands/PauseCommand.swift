import ArgumentParser
import ControlAPI
import Phrases

/// What rests, for `pause` and `resume`.
struct PauseSubject: ParsableArguments {
    @Argument(help: ArgumentHelp(translated("Folder ids.")))
    var folder: [String] = []

    @Option(help: ArgumentHelp(translated("Device id or name; repeatable."), valueName: "device"))
    var device: [String] = []

    @Flag(help: ArgumentHelp(translated("All folders and all devices.")))
    var all = false

    func change(isPaused: Bool, seconds: Int64? = nil) -> PauseChange {
        PauseChange(folders: folder, devices: device, isAll: all, isPaused: isPaused, seconds: seconds)
    }

    func validate() throws {
        guard all || !folder.isEmpty || !device.isEmpty else {
            throw ValidationError(translated("Give folder ids, --device or --all."))
        }
        guard !all || folder.isEmpty && device.isEmpty else {
            throw ValidationError(translated("--all cannot be combined with folders or --device."))
        }
    }
}

struct PauseCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "pause", abstract: translated("Pause folders or devices."),
            discussion: translated(
                """
                A paused folder is not scanned or transferred; its selection can still be changed. A paused device is \
                not dialled, and its connections are refused. Both stay paused across restarts, until `synctrain resume` \
                or until the time given by --for has passed.
                """))
    }

    @OptionGroup var subject: PauseSubject

    @Option(
        name: .customLong("for"), help: ArgumentHelp(translated("Duration: 30m, 2h or 1d."), valueName: "time"),
        transform: PauseCommand.duration)
    var seconds: Int64?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(.setPaused(subject.change(isPaused: true, seconds: seconds)))
    }

    static func duration(_ text: String) throws -> Int64 {
        guard let seconds = TimeSpan.seconds(text), (1...Double(PauseChange.longest)).contains(seconds) else {
            throw ValidationError(translated("\(text) is not a duration. Use 30m, 2h or 1d, at most a year."))
        }
        return Int64(seconds)
    }
}

struct ResumeCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "resume", abstract: translated("Resume folders or devices."))
    }

    @OptionGroup var subject: PauseSubject

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try await context.perform(.setPaused(subject.change(isPaused: false)))
    }
}

/// Times as people write them: `30`, `1.5`, `30s`, `5m`, `2h`, `1d`, `4w`; a bare number is seconds.
enum TimeSpan {
    static func seconds(_ text: String) -> Double? {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let number = Double(String(digits)), number.isFinite
        else { return nil }
        return number * (unit ?? 1)
    }
}
