import ArgumentParser
import Glibc
import Phrases
import Threads

/// The command line: what is asked of the agent and how the answer is shown.
@main
struct Synctrain: ParsableCommand {
    // Computed, as that of all commands: a constant would keep the language of the task that asked first.
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "synctrain",
            abstract: translated("Sync the files you select; fetch any other file on demand."),
            discussion: translated(
                """
                Works with Syncthing devices. `synctrain setup` sets up this device step by step; `synctrain` alone shows on a \
                terminal how things are and what to do next.

                Global options (--home DIR, --color WHEN, --quiet, --json, --yes) go before or after the command.

                Exit codes: 0 done, 1 failed, 2 some files failed, 3 no agent, 4 no such path or device, 5 no reachable \
                device has it, 6 confirmation needed, 7 timeout, 64 usage, 130 interrupted.
                """),
            version: ProgramVersion.description,
            groupedSubcommands: [
                CommandGroup(
                    name: translated("Start"),
                    subcommands: [
                        SetupCommand.self, InitCommand.self, IDCommand.self, AgentCommandGroup.self, StatusCommand.self,
                        ReadyCommand.self, WaitCommand.self, UICommand.self,
                    ]),
                CommandGroup(
                    name: translated("Files"),
                    subcommands: [
                        ListCommand.self, TreeCommand.self, StatCommand.self, SearchCommand.self, WhereisCommand.self,
                        FetchCommand.self, CatCommand.self, OpenCommand.self, URLCommand.self, MountCommand.self,
                        UnmountCommand.self, ServeCommand.self, ZipCommandGroup.self, ThumbnailCommand.self,
                        NoteCommand.self, LogCommand.self,
                    ]),
                CommandGroup(
                    name: translated("Keeping"),
                    subcommands: [
                        SelectCommand.self, DeselectCommand.self, ExplainCommand.self, NeedCommand.self,
                        FreeCommand.self,
                        RemoveCommand.self, ExtraneousCommandGroup.self, ConflictsCommandGroup.self,
                        VersionsCommandGroup.self,
                    ]),
                CommandGroup(
                    name: translated("Devices and folders"),
                    subcommands: [
                        PairCommand.self, UnpairCommand.self, DeviceCommandGroup.self, FolderCommandGroup.self,
                        InviteCommand.self, JoinCommand.self, DropCommandGroup.self, CompletionCommand.self,
                        PauseCommand.self, ResumeCommand.self, PolicyCommandGroup.self, NetworkCommand.self,
                        ConfigCommandGroup.self, ReloadCommand.self,
                    ]),
                CommandGroup(
                    name: translated("Trouble"),
                    subcommands: [
                        DoctorCommand.self, ReachCommand.self, ScanCommand.self, ScrubCommand.self,
                        RefusedCommandGroup.self, LogsCommand.self, ResetCommandGroup.self, CompletionsCommand.self,
                        ManualCommand.self,
                        // Not displayed.
                        DemoCommand.self, VirtualAirCommand.self, OverviewCommand.self, CompleteCommand.self,
                    ]),
            ])
    }

    static func main() async {
        // Who started this may have closed its streams, and have it ignore the end of children: then nobody could wait for one.
        StandardStreams.occupy()
        signal(SIGCHLD, SIG_DFL)
        // A reader that has gone is found by the write that fails.
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        // Of each process whose user may not raise the priority of threads, libdispatch says so in the system's log. Not sooner: a program
        // that Swift is linked into finds its arguments by the place of the environment, which setenv(3) moves.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        let code = await CommandRun.run(arguments: arguments, process: .live)
        Glibc.exit(code)
    }
}
