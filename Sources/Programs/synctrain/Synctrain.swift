import ArgumentParser
import Glibc

/// The command line: what is asked of the agent and how the answer is shown.
@main
struct Synctrain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "synctrain",
        abstract: "Sync the files you select; fetch any other file on demand.",
        discussion: """
            Works with Syncthing devices. `synctrain init` creates this device's identity, `synctrain agent start` \
            starts the agent, `synctrain pair` pairs two devices, `synctrain device add` and `synctrain folder add` \
            join a cluster.

            Global options (--home DIR, --color WHEN, --quiet, --json, --yes) go before or after the command.

            Exit codes: 0 done, 1 failed, 2 some files failed, 3 no agent, 4 no such path or device, 5 no reachable \
            device has it, 6 confirmation needed, 7 timeout, 64 usage, 130 interrupted.
            """,
        version: ProgramVersion.text,
        subcommands: [
            SetupCommand.self, InitCommand.self, IDCommand.self, AgentCommandGroup.self, PairCommand.self, UnpairCommand.self,
            DeviceCommandGroup.self, FolderCommandGroup.self, ConfigCommandGroup.self, ListCommand.self,
            TreeCommand.self, StatCommand.self,
            SearchCommand.self,
            WhereisCommand.self, SelectCommand.self, DeselectCommand.self, ExplainCommand.self, FetchCommand.self,
            CatCommand.self, MountCommand.self, UnmountCommand.self, ThumbnailCommand.self, ZipCommandGroup.self,
            ServeCommand.self, URLCommand.self,
            OpenCommand.self, UICommand.self,
            DropCommandGroup.self, NeedCommand.self,
            ExtraneousCommandGroup.self,
            ConflictsCommandGroup.self, VersionsCommandGroup.self, ScanCommand.self, ScrubCommand.self,
            RemoveCommand.self,
            FreeCommand.self, RefusedCommandGroup.self, InviteCommand.self, JoinCommand.self,
            NoteCommand.self,
            StatusCommand.self,
            CompletionCommand.self, ReadyCommand.self, LogCommand.self, NetworkCommand.self, ReachCommand.self,
            PauseCommand.self,
            PolicyCommandGroup.self,
            ReloadCommand.self,
            ResumeCommand.self,
            WaitCommand.self, ResetCommandGroup.self, LogsCommand.self, CompletionsCommand.self, ManualCommand.self,
            DemoCommand.self, VirtualAirCommand.self, OverviewCommand.self,
        ])

    static func main() async {
        // A reader that has gone is found by the write that fails.
        signal(SIGPIPE, SIG_IGN)
        let code = await CommandRun.run(arguments: Array(CommandLine.arguments.dropFirst()), process: .live)
        Glibc.exit(code)
    }
}

/// What `--version` and the agent's status say.
enum ProgramVersion {
    static let text = "0.1.0"
}
