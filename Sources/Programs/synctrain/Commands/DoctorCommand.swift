import ArgumentParser
import ControlAPI
import Diagnosis
import Phrases

struct DoctorCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor", abstract: translated("Check this device and show what helps."),
            discussion: translated(
                """
                Checks the configuration, keys and their permissions, the index, the clock, listening and reachability, every \
                device and every address tried, whether each folder is shared on both sides, watching, free space, Bluetooth, \
                thumbnails, mounting and the service. Each finding says why it matters and what helps, as a command where \
                there is one. Works without an agent, too.

                With --bundle, writes what was found, the status, the configuration and the end of the log for support: \
                names, paths, device ids, addresses and secrets are replaced by pseudonyms.

                Example: synctrain doctor --bundle support.tar.gz

                Exits with 0 if there is no problem, else with 1; warnings and notes are not problems. With --bundle it exits with 0 once \
                the file is written.
                """))
    }

    @Flag(
        name: [.short, .long], help: ArgumentHelp(translated("Show everything that was checked, one finding a line.")))
    var verbose = false

    @Option(
        help: ArgumentHelp(
            translated("Write a support file without names, addresses and keys (.tar.gz)."), valueName: "file"),
        completion: .file())
    var bundle: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        if let bundle { return try await write(bundle, in: context) }
        let report = try await Examination(context: context).report()
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(report))
        } else {
            for line in DoctorRendering(style: context.style, isVerbose: verbose).lines(report) {
                try context.output.print(line)
            }
        }
        guard !report.hasProblem else { throw ExitCode(1) }
    }

    private func write(_ file: String, in context: CommandContext) async throws {
        let path = context.absolute(file)
        let members = try await SupportBundleWriter(context: context).write(to: path)
        if global.json {
            let sizes = members.map { BundleAnswer.Member(name: $0.name, bytes: $0.bytes.count) }
            return try context.output.print(bytes: try ControlJSON.encode(BundleAnswer(file: path, members: sizes)))
        }
        for member in members {
            try context.output.print(
                "\(Table.pad(Quantity.size(Int64(member.bytes.count)), to: 9, .right))  \(member.name)")
        }
        try context.remark(
            translated(
                "In \(context.style.name(path)), names, paths, device ids, addresses and keys are replaced. Read it before you send it."
            )
        )
    }
}

/// What is in a support file, with `--json`.
struct BundleAnswer: Codable, Equatable, Sendable {
    struct Member: Codable, Equatable, Sendable {
        var name: String
        var bytes: Int
    }

    var schema = 1
    var file: String
    var members: [Member]
}

/// What the agent finds, and what is found without it.
struct Examination {
    /// How long the agent is waited for. What it examines may take longer, once it answers.
    private static let patience: Duration = .seconds(10)

    let context: CommandContext

    func report() async throws -> DoctorReport {
        let facts = try context.environment.examine(try context.places())
        // The agent does not know of mounts that it has not seen, and without one nobody else looks.
        let silent = context.environment.silentMounts().map {
            AgentFacts.unanswered(folder: $0.folder, directory: $0.directory, program: facts.program)
        }
        let own = facts.findings + silent
        do {
            let agent = try context.agent()
            guard try await isAnswering(agent) else { return DoctorReport(findings: [try silentAgent(facts)] + own) }
            var report = try await agent.call(Endpoints.doctor)
            // Mounts are made by this program, with the programs that it finds; how those that there are stand, the agent knows.
            report.findings.removeAll { $0.area == .mount && !AgentFacts.mountCodes.contains($0.code) }
            return report.adding(own)
        } catch let error as ControlError where error.code == .noAgent {
            // What hinders the start is said already.
            guard !own.contains(where: { $0.code == "identity" }) else { return DoctorReport(findings: own) }
            let hindrances = await context.environment.startHindrances(try context.places())
            return DoctorReport(findings: facts.stopped(hindrances: hindrances) + own)
        } catch let error as ControlError where error.code == .notFound {
            let old = DoctorFinding(
                .agent, "agent", .warning, Phrase("The agent is of an older version than this program."),
                why: Phrase("It cannot be asked what it finds."), remedy: Phrase("Restart it."),
                command: "\(facts.program) agent restart")
            return DoctorReport(findings: [old] + own)
        } catch let error as ControlError {
            let failed = DoctorFinding(
                .agent, "agent", .problem, Phrase("The agent could not say what it finds: \(error.text)"),
                why: Phrase("It may be stuck."),
                remedy: Phrase("See its log; if it does not answer at all, restart it."),
                command: "\(facts.program) logs")
            return DoctorReport(findings: [failed] + own)
        }
    }

    /// Whether the agent answers anything in time. One that is stopped or hangs takes a question and never answers it.
    private func isAnswering(_ agent: any AgentControl) async throws -> Bool {
        do {
            return try await AgentProcess.limited(until: .now + Self.patience, Overdue()) {
                _ = try await agent.call(Endpoints.status)
                return true
            }
        } catch is Overdue {
            return false
        }
    }

    private struct Overdue: Error {}

    private func silentAgent(_ facts: MachineFacts) throws -> DoctorFinding {
        let process = (try? context.environment.agentProcess(try context.places())).flatMap { $0 == 0 ? nil : $0 }
        return AgentFacts.silent(
            process: process, isStopped: process.map(context.environment.isStopped) ?? false, program: facts.program
        )
    }
}
