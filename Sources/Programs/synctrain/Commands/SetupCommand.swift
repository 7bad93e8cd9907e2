import ArgumentParser
import ControlAPI
import Phrases

struct SetupCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "setup", abstract: translated("Set up this device step by step."),
            discussion: translated(
                """
                Asks for the name of this device, starts the agent, finds another device, waits until that one has accepted \
                this one, takes folders that it offers, and selects the first directories. Everything has a default, and \
                `setup` can be run again: what was done is not asked for again.

                With --yes nothing is asked: the options say what is added and selected.

                An invitation, which `synctrain invite` prints on another device, brings that device and its folder at once.

                Example: synctrain setup
                Example: synctrain setup CODE
                Example: synctrain setup --yes --name laptop --device DEVICE-ID --address 192.168.1.5 --into ~/Library
                """))
    }

    @Argument(help: ArgumentHelp(translated("Invitation of another device."), valueName: "code"))
    var invitation: String?

    @OptionGroup var options: InitOptions

    @Option(help: ArgumentHelp(translated("Id of a device to add; repeatable."), valueName: "id"))
    var device: [String] = []

    @Option(
        help: ArgumentHelp(
            translated("Address of the first --device, for example 192.168.1.5; repeatable."), valueName: "address"))
    var address: [String] = []

    @Option(
        help: ArgumentHelp(translated("Directory that each offered folder gets a directory in."), valueName: "dir"),
        completion: .directory)
    var into: String?

    @Option(
        help: ArgumentHelp(
            translated("With --yes: path to select in each folder that is added; repeatable."), valueName: "path"))
    var select: [String] = []

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if global.json {
            throw ValidationError(translated("Use the single commands with --json; setup asks a person."))
        }
        if let invitation, !SetupDevice.isInvitation(invitation) {
            throw ValidationError(
                translated(
                    "\"\(EscapedName.escape(String(invitation.prefix(80))))\" is not an invitation. `synctrain invite FOLDER` prints one on another device."
                ))
        }
        if !address.isEmpty, device.isEmpty { throw ValidationError(translated("--address needs --device.")) }
        if !select.isEmpty, !global.yes { throw ValidationError(translated("--select needs --yes.")) }
    }

    func execute(in context: CommandContext) async throws {
        guard context.asks || global.yes else {
            throw ControlError(
                .confirmationNeeded,
                "Run setup in a terminal, because it asks questions, or use --yes with --device and --into.")
        }
        let given = SetupRun.Given(
            initialisation: options.initialisation, invitation: invitation, devices: device, addresses: address,
            parent: into,
            selected: select)
        try await SetupRun(context: context, given: given).run()
    }
}
