import ArgumentParser
import ControlAPI
import Phrases

struct InviteCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "invite", abstract: translated("Create a code that lets another device join a folder."),
            discussion: translated(
                """
                Prints a code for one device, valid for a day unless --for is given. Send it over a private channel: \
                anyone who has the code can join. On the other device, run `synctrain join CODE`. While an invitation is \
                open, this device answers unknown devices that have a code, over Bluetooth too.
                """))
    }

    enum Role: String, ExpressibleByArgument, CaseIterable { case read, write, admin }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(translated("Role of the device: read, write or admin; see `folder role`.")))
    var role = Role.write

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(translated("Lifetime of the code: 1d, 12h or 30m."), valueName: "time"),
        transform: FreeCommand.age)
    var seconds: Int64 = InvitationRequest.usual

    @Flag(help: ArgumentHelp(translated("List invitations.")))
    var list = false

    @Option(help: ArgumentHelp(translated("Number of the invitation to revoke."), valueName: "number"))
    var revoke: Int64?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard [folder != nil, list, revoke != nil].count(where: { $0 }) == 1 else {
            throw ValidationError(translated("Give exactly one of a folder id, --list or --revoke."))
        }
        guard (1...InvitationRequest.longest).contains(seconds) else {
            throw ValidationError(translated("--for must be between 1s and 30d."))
        }
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        if let revoke {
            try await agent.call(Endpoints.revokeInvitation, revoke)
            try context.confirm(done: translated("Revoked invitation \(revoke)."))
        } else if let folder {
            let invitation = try await agent.call(
                Endpoints.invite,
                InvitationRequest(folder: folder, role: role.rawValue, seconds: seconds))
            if global.json { return try context.output.print(bytes: try ControlJSON.encode(invitation)) }
            try context.output.print(invitation.code ?? "")
            try context.remark(
                translated(
                    "Valid for one device until \(Timestamp.local(invitation.expires)), with role \(Word.shown(invitation.role)). On that device: "
                        + "synctrain join CODE. To revoke it: synctrain invite --revoke \(invitation.number)"))
        } else {
            let list = try await agent.call(Endpoints.invitations)
            if global.json { return try context.output.print(bytes: try ControlJSON.encode(list)) }
            guard !list.invitations.isEmpty else { return try context.remark(translated("No invitations.")) }
            let rows = list.invitations.map { invitation in
                [
                    String(invitation.number), context.style.name(invitation.folder), Word.shown(invitation.role),
                    Word.shown(invitation.state.rawValue), Timestamp.local(invitation.expires),
                    context.style.name(invitation.name ?? invitation.device ?? ""),
                ]
            }
            for line in Table.lines(
                [
                    [
                        translated("number"), translated("folder"), translated("role"), translated("state"),
                        translated("until"), translated("device"),
                    ]
                ] + rows, width: context.outputWidth)
            {
                try context.output.print(line)
            }
        }
    }
}

struct JoinCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "join", abstract: translated("Join a folder with a code printed by `synctrain invite`."),
            discussion: translated(
                """
                Connects to the inviting device and adds that device and the folder here. Nothing is stored if the code \
                has expired. If the connection breaks, the same code can be tried again on this device. If the folder is already \
                here, asks before it is shared with the inviting device, unless its own directory is given.

                Example: synctrain join CODE ~/Photos
                """))
    }

    enum Mode: String, ExpressibleByArgument, CaseIterable { case selective, full }

    @Argument(help: ArgumentHelp(translated("Invitation code.")))
    var code: String

    @Argument(
        help: ArgumentHelp(
            translated("Directory for the folder; by default one with its name in the current directory.")),
        completion: .directory)
    var directory: String?

    @Option(help: ArgumentHelp(translated("Mode: selective (only selected files) or full (everything).")))
    var mode = Mode.selective

    @Option(
        help: ArgumentHelp(
            translated("Address of the inviting device; from the code, or found nearby, if omitted."),
            valueName: "address"))
    var address: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        var request = JoinRequest(
            code: code, directory: directory.map(context.absolute) ?? context.process.workingDirectory,
            isParent: directory == nil, mode: mode.rawValue, address: address, isConfirmed: global.yes)
        let answer: JoinAnswer
        do {
            answer = try await agent.call(Endpoints.join, request)
        } catch let error as ControlError where error.code == .confirmationNeeded && !request.isConfirmed {
            try context.confirm(error.shown)
            request.isConfirmed = true
            answer = try await agent.call(Endpoints.join, request)
        }
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(answer)) }
        let style = context.style
        let name = answer.name.isEmpty ? StatusRendering.short(answer.device) : answer.name
        try context.output.print(
            translated(
                "\(style.name(answer.folder)) is shared with \(style.name(name)), as \(Word.shown(answer.role)), in \(style.name(answer.path))"
            )
        )
    }
}
